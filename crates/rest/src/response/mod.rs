//! Status, headers and body of responses (rest contract §2.1, §3).

mod applied;
mod builder;
mod error;
mod guc;
mod location;
mod page;

pub(crate) use builder::{POSTGREST_VERSION, ResponseBuilder};
pub(crate) use error::error_response;

use bytes::Bytes;
use http::{
    StatusCode,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CONTENT_LOCATION, CONTENT_RANGE, LOCATION},
};

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

/// Node.js rejects responses with more than 16 KB of headers, which the query of a request with a
/// few thousand ids would exceed.
const MAX_CONTENT_LOCATION_BYTES: usize = 8 * 1024;

/// The response to a request that ran.
pub(crate) fn from_outcome(
    plan: &Plan<'_>,
    outcome: Outcome,
    request: &ApiRequest,
    config: &RestConfig,
) -> Result<ResponseBuilder, RestError> {
    let page = match outcome {
        Outcome::Rows(page) => page,
        Outcome::Plan(text) => return Ok(explained(plan, text, request)),
    };
    let settings = (page.response_status.clone(), page.response_headers.clone());
    let mut response = match plan {
        Plan::Read(plan) => read(plan, page, request, config),
        Plan::Mutate(plan) => mutated(plan, page, request),
        Plan::Call(plan) => called(plan, page, request, config),
        Plan::OpenApi { .. } | Plan::RelationInfo(_) | Plan::FunctionInfo(_) | Plan::SchemaInfo => {
            return Err(RestError::UnexpectedResult(
                "rows for a plan that returns none".to_owned(),
            ));
        }
    };
    guc::apply(&mut response, settings.0.as_deref(), settings.1.as_deref())?;
    Ok(response)
}

fn explained(plan: &Plan<'_>, text: String, request: &ApiRequest) -> ResponseBuilder {
    let mut response = ResponseBuilder::new(StatusCode::OK);
    if let Some(output) = output_of(plan) {
        response.content_type(&output.media_type, request);
    }
    response.body(text.into());
    response
}

fn output_of<'p, 'a>(plan: &'p Plan<'a>) -> Option<&'p Output<'a>> {
    match plan {
        Plan::Read(plan) => Some(&plan.output),
        Plan::Mutate(plan) => Some(&plan.output),
        Plan::Call(plan) => Some(&plan.output),
        _ => None,
    }
}

fn read(
    plan: &ReadPlan<'_>,
    page: Page,
    request: &ApiRequest,
    config: &RestConfig,
) -> ResponseBuilder {
    let status = PageStatus::new(request.root_range, page.rows, page.total);
    let mut response = ResponseBuilder::new(status.code());
    response.header(CONTENT_RANGE, status.content_range());
    let separator = if request.query.canonical.is_empty() {
        ""
    } else {
        "?"
    };
    let place = format!(
        "/{}{separator}{}",
        plan.table.name.name, request.query.canonical
    );
    if place.len() <= MAX_CONTENT_LOCATION_BYTES {
        response.header(CONTENT_LOCATION, place);
    }
    if !plan.is_head {
        response.body(body_of(status, page.body, config));
    }
    response.content_type(&plan.output.media_type, request);
    response.applied(applied::of_read(request));
    response
}

/// The rows, or the error body if the offset is past the last row.
fn body_of(status: PageStatus, rows: Bytes, config: &RestConfig) -> Bytes {
    match status.range_problem() {
        Some(problem) => out_of_bounds(problem, config),
        None => rows,
    }
}

fn out_of_bounds(problem: RangeProblem, config: &RestConfig) -> Bytes {
    let rendered = RestError::InvalidRange(problem).render();
    rendered.body(config.errors_are_verbose).into()
}

fn mutated(plan: &MutatePlan<'_>, page: Page, request: &ApiRequest) -> ResponseBuilder {
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
    let mut response = ResponseBuilder::new(status);
    match plan.mutation {
        Mutation::Insert | Mutation::Delete => {
            response.header(CONTENT_RANGE, content_range(1, 0, total));
        }
        Mutation::Update => {
            response.header(CONTENT_RANGE, content_range(0, page.rows - 1, total));
        }
        Mutation::Upsert => {}
    }
    if let Some(row) = &page.location
        && let Some(query) = location::of_row(row, &plan.table.primary_key)
    {
        response.header(LOCATION, format!("/{}?{query}", plan.table.name.name));
    }
    if is_full {
        response
            .body(page.body)
            .content_type(&plan.output.media_type, request);
    } else if plan.mutation == Mutation::Insert {
        response.body(Bytes::new());
    }
    response.applied(applied::of_mutation(request, plan));
    response
}

fn called(
    plan: &CallPlan<'_>,
    page: Page,
    request: &ApiRequest,
    config: &RestConfig,
) -> ResponseBuilder {
    let status = PageStatus::new(request.root_range, page.rows, page.total);
    let is_void = plan.routine.returns_void();
    let mut response = ResponseBuilder::new(if is_void {
        StatusCode::NO_CONTENT
    } else {
        status.code()
    });
    response.header(CONTENT_RANGE, status.content_range());
    if !is_void {
        if plan.method != CallMethod::Head {
            response.body(body_of(status, page.body, config));
        }
        response.content_type(&plan.output.media_type, request);
    }
    response.applied(applied::of_call(request));
    response
}

/// The OpenAPI document.
pub(crate) fn openapi_document(document: Option<String>, request: &ApiRequest) -> ResponseBuilder {
    let mut response = ResponseBuilder::new(StatusCode::OK);
    if let Some(document) = document {
        response.body(document.into());
    }
    response.content_type(&MediaType::OpenApi, request);
    response
}

/// OPTIONS: the methods of a relation, a function, or the root.
pub(crate) fn options(plan: &Plan<'_>) -> ResponseBuilder {
    let methods = match plan {
        Plan::RelationInfo(table) => methods_of(table),
        Plan::FunctionInfo(routine) if routine.volatility == Volatility::Volatile => {
            "OPTIONS,POST".to_owned()
        }
        Plan::FunctionInfo(_) => "OPTIONS,GET,HEAD,POST".to_owned(),
        _ => "OPTIONS,GET,HEAD".to_owned(),
    };
    let mut response = ResponseBuilder::new(StatusCode::OK);
    response
        .body(Bytes::new())
        .header(ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        .header(ALLOW, methods);
    response
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
