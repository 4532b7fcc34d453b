//! What the client gets: status, headers and body (rest contract §2.1, §3).

mod applied;
mod guc;
mod location;
mod page;
mod refusal;

pub(crate) use refusal::refuse;

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_RANGE,
        CONTENT_TYPE, LOCATION, VARY, WARNING,
    },
};

use http_body::Frame;

use crate::{
    RangeProblem, RestConfig, RestError,
    execute::{Outcome, Page},
    plan::{CallPlan, MutatePlan, Output, Plan, ReadPlan},
    request::{
        ApiRequest, CallMethod, Mutation,
        media_type::MediaType,
        preferences::{Count, Representation, Resolution},
    },
    schema_cache::{Table, Volatility},
};
use page::{PageStatus, content_range};

/// The release whose wire behaviour this is.
pub(crate) const POSTGREST_VERSION: &str = "16.2";

const CONTENT_PROFILE: HeaderName = HeaderName::from_static("content-profile");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Node.js refuses answers with more than 16 KB of headers; a list of a few thousand ids in the
/// query must not make them unreadable.
const LONGEST_CONTENT_LOCATION: usize = 8 * 1024;

/// A response in the making.
pub(crate) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::with_capacity(8),
            body: Bytes::new(),
        }
    }

    /// A header whose value may hold what a client or the database wrote. One that cannot be a
    /// header is left out.
    fn header(&mut self, name: HeaderName, value: impl AsRef<[u8]>) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_ref()) {
            self.headers.insert(name, value);
        }
        self
    }

    fn body(&mut self, body: Bytes) -> &mut Self {
        self.headers
            .insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        self.body = body;
        self
    }

    /// Which kind of body it is, and of which schema.
    fn content_type(&mut self, media_type: &MediaType, request: &ApiRequest) -> &mut Self {
        self.header(CONTENT_TYPE, media_type.content_type());
        if request.is_profile_negotiated {
            self.header(CONTENT_PROFILE, &request.schema);
        }
        self
    }

    pub(crate) fn into_response(mut self) -> Response<Body> {
        if !self.headers.contains_key(VARY) {
            self.headers
                .insert(VARY, HeaderValue::from_static("Accept, Prefer, Range"));
        }
        let body = match self.headers.contains_key(CONTENT_LENGTH) {
            true => Body::from(self.body),
            false => Body::new(NoBody),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    /// Says that names in the query string will cease to work.
    pub(crate) fn warn(&mut self, old_names: &[(&str, &str)]) {
        if old_names.is_empty() {
            return;
        }
        let updates: Vec<String> = old_names
            .iter()
            .map(|(name, alias)| format!("`{name}` to `{alias}`"))
            .collect();
        let warning = format!(
            "299 PostgRESTv{POSTGREST_VERSION} \"Embedded resource was referenced by relation name \
             even though it has an alias. This is deprecated and will stop working in a future \
             release. Update {} in query string filters, orders or limits.\"",
            updates.join(", ")
        );
        self.header(WARNING, warning);
    }

    pub(crate) fn server_timing(&mut self, value: &str) {
        self.header(HeaderName::from_static("server-timing"), value);
    }
}

/// Nothing, of unknown length: an answer to HEAD does not say how long that to GET would be.
struct NoBody;

impl http_body::Body for NoBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

/// Gives the answer to what the database said.
pub(crate) fn answer(
    plan: &Plan<'_>,
    outcome: Outcome,
    request: &ApiRequest,
    config: &RestConfig,
) -> Result<Answer, RestError> {
    let page = match outcome {
        Outcome::Rows(page) => page,
        Outcome::Plan(text) => return Ok(explained(plan, text, request)),
    };
    let settings = (page.response_status.clone(), page.response_headers.clone());
    let mut answer = match plan {
        Plan::Read(plan) => read(plan, page, request, config),
        Plan::Mutate(plan) => mutated(plan, page, request),
        Plan::Call(plan) => called(plan, page, request, config),
        Plan::Describe { .. }
        | Plan::RelationInfo(_)
        | Plan::FunctionInfo(_)
        | Plan::SchemaInfo => {
            return Err(RestError::UnexpectedResult(
                "rows that nobody asked for".to_owned(),
            ));
        }
    };
    guc::apply(&mut answer, settings.0.as_deref(), settings.1.as_deref())?;
    Ok(answer)
}

fn explained(plan: &Plan<'_>, text: String, request: &ApiRequest) -> Answer {
    let mut answer = Answer::new(StatusCode::OK);
    if let Some(output) = output_of(plan) {
        answer.content_type(&output.media_type, request);
    }
    answer.body(text.into());
    answer
}

fn output_of<'p, 'a>(plan: &'p Plan<'a>) -> Option<&'p Output<'a>> {
    match plan {
        Plan::Read(plan) => Some(&plan.output),
        Plan::Mutate(plan) => Some(&plan.output),
        Plan::Call(plan) => Some(&plan.output),
        _ => None,
    }
}

fn read(plan: &ReadPlan<'_>, page: Page, request: &ApiRequest, config: &RestConfig) -> Answer {
    let status = PageStatus::of(request.root_range, page.rows, page.total);
    let mut answer = Answer::new(status.code());
    answer.header(CONTENT_RANGE, status.content_range());
    let separator = if request.query.canonical.is_empty() {
        ""
    } else {
        "?"
    };
    let place = format!(
        "/{}{separator}{}",
        plan.table.name.name, request.query.canonical
    );
    if place.len() <= LONGEST_CONTENT_LOCATION {
        answer.header(CONTENT_LOCATION, place);
    }
    if !plan.is_head {
        answer.body(body_of(status, page.body, config));
    }
    answer.content_type(&plan.output.media_type, request);
    answer.applied(applied::of_read(request));
    answer
}

/// The rows, unless the page lies behind them.
fn body_of(status: PageStatus, rows: Bytes, config: &RestConfig) -> Bytes {
    match status.problem() {
        Some(problem) => out_of_bounds(problem, config),
        None => rows,
    }
}

fn out_of_bounds(problem: RangeProblem, config: &RestConfig) -> Bytes {
    let rendered = RestError::InvalidRange(problem).render();
    rendered.body(config.errors_are_verbose).into()
}

fn mutated(plan: &MutatePlan<'_>, page: Page, request: &ApiRequest) -> Answer {
    let preferences = &request.preferences;
    let is_full = preferences.representation == Some(Representation::Full);
    let counted = matches!(preferences.count, Some(Count::Exact | Count::Estimated));
    let total = counted.then_some(page.rows);
    let status = match (plan.mutation, is_full) {
        (Mutation::Insert, _) => match (preferences.resolution, page.inserted) {
            (Some(Resolution::MergeDuplicates), inserted) if inserted.unwrap_or(0) <= 0 => {
                StatusCode::OK
            }
            _ => StatusCode::CREATED,
        },
        (_, false) => StatusCode::NO_CONTENT,
        (Mutation::Upsert, true) if page.inserted.unwrap_or(0) > 0 => StatusCode::CREATED,
        (_, true) => StatusCode::OK,
    };
    let mut answer = Answer::new(status);
    match plan.mutation {
        Mutation::Insert | Mutation::Delete => {
            answer.header(CONTENT_RANGE, content_range(1, 0, total));
        }
        Mutation::Update => {
            answer.header(CONTENT_RANGE, content_range(0, page.rows - 1, total));
        }
        Mutation::Upsert => {}
    }
    if let Some(row) = &page.location
        && let Some(query) = location::of_row(row, &plan.table.primary_key)
    {
        answer.header(LOCATION, format!("/{}?{query}", plan.table.name.name));
    }
    if is_full {
        answer
            .body(page.body)
            .content_type(&plan.output.media_type, request);
    } else if plan.mutation == Mutation::Insert {
        answer.body(Bytes::new());
    }
    answer.applied(applied::of_mutation(request, plan));
    answer
}

fn called(plan: &CallPlan<'_>, page: Page, request: &ApiRequest, config: &RestConfig) -> Answer {
    let status = PageStatus::of(request.root_range, page.rows, page.total);
    let is_void = plan.routine.returns_void();
    let mut answer = Answer::new(match is_void {
        true => StatusCode::NO_CONTENT,
        false => status.code(),
    });
    answer.header(CONTENT_RANGE, status.content_range());
    if !is_void {
        if plan.method != CallMethod::Head {
            answer.body(body_of(status, page.body, config));
        }
        answer.content_type(&plan.output.media_type, request);
    }
    answer.applied(applied::of_call(request));
    answer
}

/// The OpenAPI document.
pub(crate) fn described(document: Option<String>, request: &ApiRequest) -> Answer {
    let mut answer = Answer::new(StatusCode::OK);
    if let Some(document) = document {
        answer.body(document.into());
    }
    answer.content_type(&MediaType::OpenApi, request);
    answer
}

/// What can be done with a relation, a function, or the root.
pub(crate) fn allowed(plan: &Plan<'_>) -> Answer {
    let methods = match plan {
        Plan::RelationInfo(table) => methods_of(table),
        Plan::FunctionInfo(routine) if routine.volatility == Volatility::Volatile => {
            "OPTIONS,POST".to_owned()
        }
        Plan::FunctionInfo(_) => "OPTIONS,GET,HEAD,POST".to_owned(),
        _ => "OPTIONS,GET,HEAD".to_owned(),
    };
    let mut answer = Answer::new(StatusCode::OK);
    answer
        .body(Bytes::new())
        .header(ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        .header(ALLOW, methods);
    answer
}

fn methods_of(table: &Table) -> String {
    let has_key = !table.primary_key.is_empty();
    let optional = [
        (",POST", table.is_insertable),
        (",PUT", table.is_insertable && table.is_updatable && has_key),
        (",PATCH", table.is_updatable),
        (",DELETE", table.is_deletable),
    ];
    let offered = optional.into_iter().filter(|(_, is_possible)| *is_possible);
    let mut methods = "OPTIONS,GET,HEAD".to_owned();
    methods.extend(offered.map(|(method, _)| method));
    methods
}
