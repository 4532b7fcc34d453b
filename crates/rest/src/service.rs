//! The service: one value for all projects, and the way of every request through it.

use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use axum::{body::Body, extract::State};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, request::Parts};
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use plinth_project::{BodyLimit, Caller, Cors, Project};
use tokio::sync::Notify;

use crate::{
    RestConfig, RestError,
    auth::Identity,
    describe,
    execute::{Execution, Origin},
    plan::{Plan, Planned},
    request::{Action, ApiRequest, RequestParts, RequestRules, RootMode},
    response,
    snapshot::{Keeper, Missed, SettingsRole, Snapshot},
    timing::Timing,
};

/// Largest body where no gateway sets a limit.
const MAX_BODY_BYTES: usize = 50 << 20;

/// The REST service. Cheap to clone.
#[derive(Clone)]
pub struct RestService(Arc<Source>);

/// Where a project's settings come from.
enum Source {
    /// Its part of the settings tree.
    Settings,
    /// One set of settings for the only project there is.
    Alone {
        config: ArcSwap<RestConfig>,
        config_asked: Arc<Notify>,
        listens_at: (String, u16),
    },
}

impl RestService {
    /// For the full server.
    pub fn new() -> Self {
        Self(Arc::new(Source::Settings))
    }

    /// In place of PostgREST, listening at this host and port.
    pub fn alone(config: RestConfig, listens_at: (String, u16)) -> Self {
        Self(Arc::new(Source::Alone {
            config: ArcSwap::from_pointee(config),
            config_asked: Arc::default(),
            listens_at,
        }))
    }

    /// Looks at the database again, and waits until that is done.
    pub async fn reload_schema(&self, project: &Project) {
        let base = self.base(project);
        self.keeper(project, &base).load(base).await;
    }

    /// Takes other settings from here on; for a service alone.
    pub async fn reload_config(&self, project: &Project, config: RestConfig) {
        if let Source::Alone {
            config: current, ..
        } = &*self.0
        {
            current.store(Arc::new(config));
        }
        self.reload_schema(project).await;
    }

    /// Waits until the database asks a service alone to take its settings anew.
    pub async fn config_asked(&self) {
        match &*self.0 {
            Source::Settings => std::future::pending().await,
            Source::Alone { config_asked, .. } => config_asked.notified().await,
        }
    }

    /// Whether the schema is known, so that requests can be served while the database is there.
    pub fn is_ready(&self, project: &Project) -> bool {
        let base = self.base(project);
        self.keeper(project, &base).current().is_some()
    }

    /// What is known of the database, as JSON.
    pub fn schema_dump(&self, project: &Project) -> Option<String> {
        let base = self.base(project);
        let snapshot = self.keeper(project, &base).current()?;
        Some(describe::schema_dump(&snapshot))
    }

    fn base(&self, project: &Project) -> Arc<RestConfig> {
        match &*self.0 {
            Source::Settings => project.config::<RestConfig>(),
            Source::Alone { config, .. } => config.load_full(),
        }
    }

    fn keeper(&self, project: &Project, base: &Arc<RestConfig>) -> Arc<Keeper> {
        project.attached(|| {
            let (settings_of, config_asked) = match &*self.0 {
                Source::Settings => (SettingsRole::Authenticator, Arc::default()),
                Source::Alone { config_asked, .. } => (SettingsRole::Login, config_asked.clone()),
            };
            Keeper::start(project, base.clone(), settings_of, config_asked)
        })
    }

    pub(crate) fn listens_at(&self) -> Option<(&str, u16)> {
        match &*self.0 {
            Source::Settings => None,
            Source::Alone { listens_at, .. } => Some((&listens_at.0, listens_at.1)),
        }
    }
}

impl Default for RestService {
    fn default() -> Self {
        Self::new()
    }
}

/// What scripts of other origins may read: as upstream has it.
const EXPOSED_ALONE: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, \
     Date, Location, Server, Transfer-Encoding, Range-Unit";
/// The same and what else tells a script something; without Retry-After it cannot retry well.
const EXPOSED: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, \
     Location, Server, Transfer-Encoding, Range-Unit, Preference-Applied, Proxy-Status, \
     Retry-After, Server-Timing, Content-Profile";

fn cors(service: &RestService, config: &RestConfig) -> Cors {
    let exposed = match &*service.0 {
        Source::Settings => EXPOSED,
        Source::Alone { .. } => EXPOSED_ALONE,
    };
    Cors::any()
        .origins(config.cors_allowed_origins.iter().cloned())
        .methods("GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD")
        .allow("Authorization")
        .allow_if_asked("Accept, Accept-Language, Content-Language")
        .expose(exposed)
        .max_age(86_400)
}

/// Every request of every project.
pub(crate) async fn serve(
    State(service): State<RestService>,
    project: Project,
    request: Request<Body>,
) -> Response<Body> {
    let base = service.base(&project);
    let keeper = service.keeper(&project, &base);
    let (parts, body) = request.into_parts();
    if Cors::is_preflight(&parts.method, &parts.headers) {
        let known = keeper.current();
        let config = known.as_ref().map_or(&*base, |known| &known.config);
        return cors(&service, config).preflight(&parts.headers);
    }
    let is_head = parts.method == Method::HEAD;
    let mut handling = Handling {
        service: &service,
        project: &project,
        base: &base,
        keeper: &keeper,
        timing: Timing::start(),
        snapshot: None,
        caller: None,
        sent: Mutex::default(),
    };
    let answered = handling.respond(&parts, body).await;
    let known = handling.snapshot.clone();
    let config = known.as_ref().map_or(&*base, |known| &known.config);
    let mut response = match answered {
        Ok(response) => response,
        Err(error) => response::refuse(&error, Some(config), is_head),
    };
    handling.log_statements(response.status());
    // For the access log.
    if let Some(caller) = handling.caller.take() {
        response.extensions_mut().insert(caller);
    }
    if let Some(name) = &config.trace_header {
        let value = parts.headers.get(name).cloned();
        let value = value.unwrap_or(http::HeaderValue::from_static(""));
        response.headers_mut().insert(name.clone(), value);
    }
    cors(&service, config).decorate(&parts.headers, response.headers_mut());
    response
}

/// One request on its way.
struct Handling<'a> {
    service: &'a RestService,
    project: &'a Project,
    base: &'a Arc<RestConfig>,
    keeper: &'a Keeper,
    timing: Timing,
    /// As soon as it is known.
    snapshot: Option<Arc<Snapshot>>,
    caller: Option<Caller>,
    sent: Mutex<Vec<String>>,
}

impl Handling<'_> {
    async fn respond(&mut self, parts: &Parts, body: Body) -> Result<Response<Body>, RestError> {
        let snapshot = self.keeper.snapshot(self.base).await;
        self.snapshot = snapshot.as_ref().ok().cloned();
        let config = self
            .snapshot
            .as_ref()
            .map_or(&**self.base, |snapshot| &snapshot.config);
        let identity = Identity::of(parts, config, now())?;
        self.caller = Some(identity.caller.clone());
        self.timing.lap("jwt");
        let snapshot = snapshot?;
        let request = self.parse(parts, body, &snapshot.config).await?;
        self.timing.lap("parse");
        let answered = self.answer(parts, &identity, &request, &snapshot).await;
        let missed = answered
            .as_ref()
            .err()
            .and_then(|error| missed(error, &request));
        let Some(missed) = missed else {
            return answered;
        };
        // A name that we do not know may be younger than our knowledge.
        // Boxed, as everything rare: a request's future is copied on its way to where it runs.
        match Box::pin(self.keeper.look_again(&snapshot, missed)).await {
            Some(newer) => {
                self.snapshot = Some(newer.clone());
                Box::pin(self.answer(parts, &identity, &request, &newer)).await
            }
            None => answered,
        }
    }

    /// `log-query`: at the levels at which the request itself is logged.
    fn log_statements(&self, status: StatusCode) {
        let config = self.snapshot.as_ref().map(|snapshot| &snapshot.config);
        let level = config.and_then(|config| config.query_log);
        if level.is_some_and(|level| level.logs(status)) {
            for sql in &*self.sent.lock().unwrap_or_else(PoisonError::into_inner) {
                tracing::info!("{sql}");
            }
        }
    }

    async fn parse(
        &self,
        parts: &Parts,
        body: Body,
        config: &RestConfig,
    ) -> Result<ApiRequest, RestError> {
        let path = parts.uri.path();
        let body = match ApiRequest::reads_body(&parts.method, path) {
            true => read_body(parts, body).await?,
            false => Bytes::new(),
        };
        let rules = RequestRules {
            schemas: &config.schemas,
            root: match (config.openapi_mode, &config.root_spec) {
                (crate::config::OpenApiMode::Disabled, _) => RootMode::Disabled,
                (_, Some(function)) => RootMode::Function(&function.name),
                (_, None) => RootMode::Document,
            },
            allows_tx_override: config.tx_end.allows_override,
        };
        let parts = RequestParts {
            method: &parts.method,
            path,
            query: parts.uri.query().unwrap_or(""),
            headers: &parts.headers,
        };
        ApiRequest::parse(&parts, body, &rules)
    }

    async fn answer(
        &mut self,
        parts: &Parts,
        identity: &Identity,
        request: &ApiRequest,
        snapshot: &Arc<Snapshot>,
    ) -> Result<Response<Body>, RestError> {
        let config = &snapshot.config;
        let Planned { plan, old_names } = Plan::build(request, &snapshot.cache, config)?;
        guard(&plan, config)?;
        self.timing.lap("plan");
        let execution = Execution {
            db: &self.project.db,
            snapshot,
            identity,
            request,
            origin: Origin {
                method: &parts.method,
                path: parts.uri.path(),
                headers: &parts.headers,
            },
            numbers: self.keeper.numbers(),
            sent: &self.sent,
        };
        let outcome = match &plan {
            Plan::Read(plan) => execution.read(plan).await?,
            Plan::Mutate(plan) => execution.mutate(plan).await?,
            Plan::Call(plan) => execution.call(plan).await?,
            Plan::Describe { is_head } => {
                let public = describe::Address::of(parts, self.service);
                let document = describe::document(&execution, &public, *is_head);
                let document = Box::pin(document).await?;
                self.timing.lap("transaction");
                return Ok(self.finish(response::described(document, request), config));
            }
            Plan::RelationInfo(_) | Plan::FunctionInfo(_) | Plan::SchemaInfo => {
                self.timing.lap("transaction");
                return Ok(self.finish(response::allowed(&plan), config));
            }
        };
        self.timing.lap("transaction");
        let mut answer = response::answer(&plan, outcome, request, config)?;
        answer.warn(&old_names);
        Ok(self.finish(answer, config))
    }

    fn finish(&mut self, mut answer: response::Answer, config: &RestConfig) -> Response<Body> {
        self.timing.lap("response");
        if config.server_timing {
            answer.server_timing(&self.timing.to_string());
        }
        answer.into_response()
    }
}

/// What was not found, if the error may come from a schema that has changed since we looked.
fn missed<'a>(error: &RestError, request: &'a ApiRequest) -> Option<Missed<'a>> {
    let name = match (error, &request.action) {
        (RestError::NoColumn { .. } | RestError::NoRelationship { .. }, _) => {
            return Some(Missed::Part);
        }
        (RestError::NoTable { .. }, Action::Read { relation, .. })
        | (RestError::NoTable { .. }, Action::Mutate { relation, .. })
        | (RestError::NoTable { .. }, Action::RelationInfo { relation }) => relation,
        (RestError::NoFunction { .. }, Action::Call { function, .. })
        | (RestError::NoFunction { .. }, Action::FunctionInfo { function }) => function,
        _ => return None,
    };
    Some(Missed::Object {
        schema: &request.schema,
        name,
    })
}

/// The safe-update guard (§2.4).
fn guard(plan: &Plan<'_>, config: &RestConfig) -> Result<(), RestError> {
    use crate::plan::Change;
    let Plan::Mutate(plan) = plan else {
        return Ok(());
    };
    match &plan.change {
        _ if !config.safe_update => Ok(()),
        Change::Update { conditions, body }
            if conditions.is_empty() && !body.columns.is_empty() =>
        {
            Err(RestError::Unfiltered("UPDATE"))
        }
        Change::Delete { conditions } if conditions.is_empty() => {
            Err(RestError::Unfiltered("DELETE"))
        }
        Change::Update { .. } | Change::Delete { .. } | Change::Insert { .. } => Ok(()),
    }
}

/// The gateway watches the size of bodies; where there is none, this does.
async fn read_body(parts: &Parts, body: Body) -> Result<Bytes, RestError> {
    let Some(limit) = parts.extensions.get::<BodyLimit>() else {
        let limited = Limited::new(body, MAX_BODY_BYTES).collect().await;
        return limited.map(Collected::to_bytes).map_err(|error| {
            match error.is::<LengthLimitError>() {
                true => too_large(MAX_BODY_BYTES as u64),
                false => unreadable(&*error),
            }
        });
    };
    let collected = body.collect().await;
    collected
        .map(Collected::to_bytes)
        .map_err(|error| match limit.is_exceeded() {
            true => too_large(limit.max_bytes()),
            false => unreadable(&error),
        })
}

fn too_large(max_bytes: u64) -> RestError {
    RestError::Body {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        message: format!("The body is larger than {max_bytes} bytes"),
    }
}

fn unreadable(error: &dyn Error) -> RestError {
    RestError::Body {
        status: StatusCode::BAD_REQUEST,
        message: format!("The body could not be read: {error}"),
    }
}

fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |elapsed| elapsed.as_secs() as i64)
}
