//! The handler of all requests: authenticate, parse, plan, execute, respond.

mod body;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{body::Body, extract::State};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, request::Parts};
use plinth_project::{Caller, Cors, Project};

use crate::{
    RestConfig, RestError, RestService,
    auth::Identity,
    config::OpenApiMode,
    execute::{Execution, RequestInfo},
    openapi::{ServerAddress, load_document},
    plan::{Change, Plan, Planned},
    request::{Action, ApiRequest, RequestParts, RequestRules, RootMode},
    response::{self, ResponseBuilder},
    snapshot::{MissingName, Snapshot, SnapshotCache},
    timing::Timing,
};
use body::read_body;

pub(crate) async fn serve(
    State(service): State<RestService>,
    project: Project,
    request: Request<Body>,
) -> Response<Body> {
    let base = service.base_config(&project);
    let snapshots = service.snapshots(&project, &base);
    let (parts, body) = request.into_parts();
    if Cors::is_preflight(&parts.method, &parts.headers) {
        let latest = snapshots.latest();
        let config = latest.as_ref().map_or(&*base, |latest| &latest.config);
        return service.cors(config).preflight(&parts.headers);
    }
    let is_head = parts.method == Method::HEAD;
    let mut context = RequestContext {
        service: &service,
        project: &project,
        base: &base,
        snapshots: &snapshots,
        timing: Timing::start(),
        snapshot: None,
        caller: None,
        executed: Mutex::default(),
    };
    let result = context.handle(&parts, body).await;
    let snapshot = context.snapshot.clone();
    let config = snapshot.as_ref().map_or(&*base, |used| &used.config);
    let mut response = match result {
        Ok(response) => response,
        Err(error) => response::error_response(&error, Some(config), is_head),
    };
    context.log_statements(response.status());
    // For the access log.
    if let Some(caller) = context.caller.take() {
        response.extensions_mut().insert(caller);
    }
    if let Some(name) = &config.trace_header {
        let value = parts.headers.get(name).cloned();
        let value = value.unwrap_or(http::HeaderValue::from_static(""));
        response.headers_mut().insert(name.clone(), value);
    }
    let cors = service.cors(config);
    cors.decorate(&parts.headers, response.headers_mut());
    response
}

/// What one request carries through the service.
struct RequestContext<'a> {
    service: &'a RestService,
    project: &'a Project,
    base: &'a Arc<RestConfig>,
    snapshots: &'a SnapshotCache,
    timing: Timing,
    /// Set as soon as it is available; replaced when a missing name led to a reload.
    snapshot: Option<Arc<Snapshot>>,
    caller: Option<Caller>,
    /// Statements for `log-query`.
    executed: Mutex<Vec<String>>,
}

impl RequestContext<'_> {
    async fn handle(&mut self, parts: &Parts, body: Body) -> Result<Response<Body>, RestError> {
        let snapshot = self.snapshots.snapshot(self.base).await;
        self.snapshot = snapshot.as_ref().ok().cloned();
        let config = self
            .snapshot
            .as_ref()
            .map_or(&**self.base, |snapshot| &snapshot.config);
        let identity = Identity::from_request(parts, config, now())?;
        self.caller = Some(identity.caller.clone());
        self.timing.lap("jwt");
        let snapshot = snapshot?;
        let request = self.parse(parts, body, &snapshot.config).await?;
        self.timing.lap("parse");
        let result = self.execute(parts, &identity, &request, &snapshot).await;
        let missing = match &result {
            Ok(_) => None,
            Err(error) => missing_name(error, &request),
        };
        let Some(missing) = missing else {
            return result;
        };
        // The name may be newer than the schema cache. Boxed, because this is rare, and the future
        // of every request would grow by it.
        match Box::pin(self.snapshots.refresh_after_miss(&snapshot, missing)).await {
            Some(newer) => {
                self.snapshot = Some(newer.clone());
                Box::pin(self.execute(parts, &identity, &request, &newer)).await
            }
            None => result,
        }
    }

    /// `log-query`, for requests that `log-level` logs.
    fn log_statements(&self, status: StatusCode) {
        let config = self.snapshot.as_ref().map(|snapshot| &snapshot.config);
        let level = config.and_then(|config| config.query_log);
        if level.is_some_and(|level| level.logs(status)) {
            for sql in &*self.executed.lock().unwrap_or_else(PoisonError::into_inner) {
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
        let body = if ApiRequest::reads_body(&parts.method, path) {
            read_body(parts, body).await?
        } else {
            Bytes::new()
        };
        let rules = RequestRules {
            schemas: &config.schemas,
            root: match (config.openapi_mode, &config.root_spec) {
                (OpenApiMode::Disabled, _) => RootMode::Disabled,
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

    /// Plans the request, runs its transaction and makes the response.
    async fn execute(
        &mut self,
        parts: &Parts,
        identity: &Identity,
        request: &ApiRequest,
        snapshot: &Arc<Snapshot>,
    ) -> Result<Response<Body>, RestError> {
        let config = &snapshot.config;
        let Planned {
            plan,
            deprecated_names,
        } = Plan::build(request, &snapshot.cache, config)?;
        check_safe_update(&plan, config)?;
        self.timing.lap("plan");
        let execution = Execution {
            db: &self.project.db,
            snapshot,
            identity,
            request,
            http: RequestInfo {
                method: &parts.method,
                path: parts.uri.path(),
                headers: &parts.headers,
            },
            metrics: self.snapshots.metrics(),
            executed: &self.executed,
        };
        let outcome = match &plan {
            Plan::Read(plan) => execution.read(plan).await?,
            Plan::Mutate(plan) => execution.mutate(plan).await?,
            Plan::Call(plan) => execution.call(plan).await?,
            Plan::OpenApi { is_head } => {
                let address = ServerAddress::new(parts, self.service.listen_address());
                let document = load_document(&execution, &address, *is_head);
                let document = Box::pin(document).await?;
                self.timing.lap("transaction");
                return Ok(self.finish(response::openapi_document(document, request), config));
            }
            Plan::RelationInfo(_) | Plan::FunctionInfo(_) | Plan::SchemaInfo => {
                self.timing.lap("transaction");
                return Ok(self.finish(response::options(&plan), config));
            }
        };
        self.timing.lap("transaction");
        let mut response = response::from_outcome(&plan, outcome, request, config)?;
        response.warn_deprecated(&deprecated_names);
        Ok(self.finish(response, config))
    }

    fn finish(&mut self, mut response: ResponseBuilder, config: &RestConfig) -> Response<Body> {
        self.timing.lap("response");
        if config.server_timing {
            response.server_timing(&self.timing.to_string());
        }
        response.build()
    }
}

/// What was not found, if the error may come from an outdated schema cache.
fn missing_name<'a>(error: &RestError, request: &'a ApiRequest) -> Option<MissingName<'a>> {
    let name = match (error, &request.action) {
        (RestError::NoColumn { .. } | RestError::NoRelationship { .. }, _) => {
            return Some(MissingName::ColumnOrRelationship);
        }
        (RestError::NoTable { .. }, Action::Read { relation, .. })
        | (RestError::NoTable { .. }, Action::Mutate { relation, .. })
        | (RestError::NoTable { .. }, Action::RelationInfo { relation }) => relation,
        (RestError::NoFunction { .. }, Action::Call { function, .. })
        | (RestError::NoFunction { .. }, Action::FunctionInfo { function }) => function,
        _ => return None,
    };
    Some(MissingName::Object {
        schema: &request.schema,
        name,
    })
}

/// Rejects an UPDATE or DELETE without a filter (rest contract §2.4).
fn check_safe_update(plan: &Plan<'_>, config: &RestConfig) -> Result<(), RestError> {
    let Plan::Mutate(plan) = plan else {
        return Ok(());
    };
    match &plan.change {
        _ if !config.safe_update => Ok(()),
        Change::Update { conditions, body }
            if conditions.is_empty() && !body.columns.is_empty() =>
        {
            Err(RestError::unfiltered("UPDATE"))
        }
        Change::Delete { conditions } if conditions.is_empty() => {
            Err(RestError::unfiltered("DELETE"))
        }
        Change::Update { .. } | Change::Delete { .. } | Change::Insert { .. } => Ok(()),
    }
}

/// In seconds since 1970.
fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |elapsed| elapsed.as_secs() as i64)
}
