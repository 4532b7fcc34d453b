//! `GET …/overview`: the numbers of a project's home (console contract N40).
//!
//! What cannot be read, because the database does not respond or the project is paused, is null, and
//! the rest is there.

use axum::{Json, extract::State};
use plinth_log::{Level, Query, TrafficBy, TrafficSeries};
use plinth_project::ProjectRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    changes::{ChangeBody, list_changes},
    queries::{SlowQueryBody, slowest},
    state::{StateBody, read_state},
    traffic::{Range, now},
};
use crate::{
    Platform, PlatformError,
    api::{
        Operator,
        body::{Params, Segments},
        logs,
    },
};

const RECENT_ERRORS: usize = 5;
const TOP_ROUTES: usize = 10;

#[derive(Deserialize, JsonSchema)]
pub(in crate::api) struct OverviewParams {
    /// `1h`, `24h` or `7d`, or one of the other ranges of `metrics/query`; `24h` when absent.
    #[serde(default)]
    range: Option<String>,
}

/// A project at a glance.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct OverviewBody {
    since: String,
    until: String,
    /// Requests in equal steps, oldest first.
    series: Vec<StepBody>,
    /// By service.
    services: Vec<TrafficBody>,
    /// The most frequent ones.
    routes: Vec<TrafficBody>,
    #[serde(flatten)]
    state: StateBody,
    /// The latest changes by operators, newest first.
    changes: Vec<ChangeBody>,
    /// The latest records of the level error within the range.
    log_errors: Vec<LogErrorBody>,
    slow_queries: Vec<SlowQueryBody>,
}

/// The requests within a step.
#[derive(Serialize, JsonSchema)]
struct StepBody {
    at: String,
    ok: u64,
    client_errors: u64,
    server_errors: u64,
    p95_ms: Option<f64>,
}

/// The requests to something.
#[derive(Serialize, JsonSchema)]
struct TrafficBody {
    name: String,
    requests: u64,
    /// By the class of the status, 1xx to 5xx.
    classes: [u64; 5],
    bytes: u64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
}

impl From<TrafficSeries> for TrafficBody {
    fn from(series: TrafficSeries) -> Self {
        Self {
            requests: series.total.total(),
            classes: series.total.classes,
            bytes: series.total.bytes,
            p50_ms: series.total.quantile(0.5),
            p95_ms: series.total.quantile(0.95),
            p99_ms: series.total.quantile(0.99),
            name: series.key,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct LogErrorBody {
    at: String,
    source: &'static str,
    message: String,
    request_id: Option<String>,
}

/// A step that makes a chart of 40 to 90 points.
fn step(range: Option<&str>) -> Option<i64> {
    match range.unwrap_or("24h") {
        "24h" => Some(1800),
        "7d" => Some(7200),
        _ => None,
    }
}

/// What was counted, and what the log has.
struct Logged {
    all: Vec<TrafficSeries>,
    services: Vec<TrafficSeries>,
    routes: Vec<TrafficSeries>,
    errors: plinth_log::Page,
}

async fn read_logs(
    platform: &Platform,
    project: &ProjectRef,
    range: Range,
) -> Result<Logged, PlatformError> {
    let all = range.query(project, TrafficBy::Nothing);
    let by_service = range.query(project, TrafficBy::Service);
    let mut by_route = range.query(project, TrafficBy::Route);
    by_route.limit = TOP_ROUTES;
    let mut failed = Query::new(logs::scope(platform, project));
    failed.level = Some(Level::Error);
    failed.since = Some(Range::time(range.since));
    failed.limit = RECENT_ERRORS;
    logs::read(platform, move |logs| {
        Ok(Logged {
            all: logs.traffic(&all)?,
            services: logs.traffic(&by_service)?,
            routes: logs.traffic(&by_route)?,
            errors: logs.search(&failed)?,
        })
    })
    .await
}

fn steps(range: Range, all: &[TrafficSeries]) -> Vec<StepBody> {
    let series = all.first();
    let steps = range.steps().map(|start| {
        let stats = series.and_then(|series| series.points.get(&start));
        let count = |classes: &[usize]| -> u64 {
            let of = |class: &usize| stats.map_or(0, |stats| stats.classes[*class]);
            classes.iter().map(of).sum()
        };
        StepBody {
            at: Range::time(start).to_string(),
            ok: count(&[0, 1, 2]),
            client_errors: count(&[3]),
            server_errors: count(&[4]),
            p95_ms: stats.and_then(|stats| stats.quantile(0.95)),
        }
    });
    steps.collect()
}

/// `GET …/overview`.
pub(in crate::api) async fn overview(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<OverviewParams>,
) -> Result<Json<OverviewBody>, PlatformError> {
    let project = logs::project_of(&operator, &platform, &text).await?;
    let name = params.range.as_deref();
    let range = Range::named(name, now(), step(name), now())?;
    let logged = read_logs(&platform, &project, range).await?;
    let changes = list_changes(&platform, &project).await?;
    let state = read_state(&platform, &project).await;
    let slow_queries = slowest(&platform, &project).await.unwrap_or_default();
    let errors = logged.errors.records.into_iter();
    let log_errors = errors.map(|record| LogErrorBody {
        at: record.time.to_string(),
        source: record.source.as_str(),
        message: record.message,
        request_id: record.request_id,
    });
    Ok(Json(OverviewBody {
        since: Range::time(range.since).to_string(),
        until: Range::time(range.until).to_string(),
        series: steps(range, &logged.all),
        services: logged.services.into_iter().map(TrafficBody::from).collect(),
        routes: logged.routes.into_iter().map(TrafficBody::from).collect(),
        state,
        changes,
        log_errors: log_errors.collect(),
        slow_queries,
    }))
}
