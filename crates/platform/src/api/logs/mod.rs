//! `/platform/projects/{ref}/logs`: search, live tail, counts and files of the log store (console contract
//! §1.14).

mod export;
mod histogram;
mod nearby;
mod sources;

use std::{convert::Infallible, time::Duration};

use axum::{
    Json,
    extract::State,
    http::{HeaderName, HeaderValue, header::CACHE_CONTROL},
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{StreamExt, stream};
use plinth_log::{Cursor, LogStore, Page, Query, Record, Scope, SearchError, TailItem};
use plinth_project::ProjectRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Operator,
    body::{Params, Segments},
    openapi::EventStream,
};
use crate::{Platform, PlatformError};

pub(super) use export::export;
pub(super) use histogram::histogram;
pub(super) use nearby::{context, request};
pub(super) use sources::sources;

/// Heartbeat of a quiet tail.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Deserialize, JsonSchema)]
pub(super) struct LogParams {
    /// Comma list; all when absent.
    #[serde(default)]
    source: Option<String>,
    /// Terms of the query bar.
    #[serde(default)]
    q: Option<String>,
    /// RFC 3339; not before it.
    #[serde(default)]
    since: Option<String>,
    /// RFC 3339; before it.
    #[serde(default)]
    until: Option<String>,
    /// This level or a worse one.
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

impl LogParams {
    fn to_query(&self, scope: Scope) -> Result<Query, PlatformError> {
        let mut query = Query::new(scope);
        if let Some(sources) = self.source.as_deref().filter(|text| !text.is_empty()) {
            query.sources = sources.split(',').map(parse).collect::<Result<_, _>>()?;
        }
        query.level = self.level.as_deref().map(parse).transpose()?;
        query.since = self.since.as_deref().map(parse).transpose()?;
        query.until = self.until.as_deref().map(parse).transpose()?;
        query.cursor = self.cursor.as_deref().map(parse).transpose()?;
        query.terms = Query::parse_terms(self.q.as_deref().unwrap_or_default())
            .map_err(|error| PlatformError::Invalid(error.to_string()))?;
        query.limit = self.limit.unwrap_or(100).clamp(1, plinth_log::MAX_LIMIT);
        Ok(query)
    }
}

/// Records from before project zero's ref was known are stored under its alias.
pub(super) fn scope(platform: &Platform, project: &ProjectRef) -> Scope {
    let mut projects = vec![project.to_string()];
    if *project == platform.references().platform {
        projects.push("platform".to_owned());
    }
    Scope::Projects(projects)
}

pub(super) fn parse<T>(text: &str) -> Result<T, PlatformError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.trim()
        .parse()
        .map_err(|error: T::Err| PlatformError::Invalid(error.to_string()))
}

/// A record of the log.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LogRecordBody")]
pub(super) struct RecordBody {
    /// Its position, for its context and as a cursor. Absent in a live tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    time: String,
    level: &'static str,
    project: String,
    source: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// Details, such as `status`, `path`, `user.id`, `duration_ms`.
    fields: Map<String, Value>,
}

impl RecordBody {
    fn new(record: Record, position: Option<&Cursor>) -> Self {
        let fields = record.fields.iter();
        Self {
            id: position.map(ToString::to_string),
            time: record.time.to_string(),
            level: record.level.as_str(),
            source: record.source.as_str(),
            fields: fields
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect(),
            project: record.project,
            message: record.message,
            request_id: record.request_id,
        }
    }

    fn of_page(page: Page) -> Vec<Self> {
        let positions = page.positions.iter().map(Some);
        let records = page.records.into_iter().zip(positions);
        records
            .map(|(record, position)| Self::new(record, position))
            .collect()
    }
}

/// A page of records, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct LogPageBody {
    records: Vec<RecordBody>,
    /// The cursor of the next page.
    next: Option<String>,
}

/// The project of a path, whose logs the operator may read.
pub(super) async fn project_of(
    operator: &Operator,
    platform: &Platform,
    text: &str,
) -> Result<ProjectRef, PlatformError> {
    let name = operator.project_by_name(platform, text)?;
    Ok(platform.load_project(&name).await?.reference)
}

/// Reads files on a thread where that may block.
pub(super) async fn read<T: Send + 'static>(
    platform: &Platform,
    work: impl FnOnce(&LogStore) -> Result<T, SearchError> + Send + 'static,
) -> Result<T, PlatformError> {
    let logs = platform.0.logs.clone();
    let done = tokio::task::spawn_blocking(move || work(&logs)).await;
    done.map_err(PlatformError::caused_by)?.map_err(failed)
}

fn failed(error: SearchError) -> PlatformError {
    match error {
        SearchError::Query(error) => PlatformError::Invalid(error.to_string()),
        error => PlatformError::caused_by(error),
    }
}

/// `GET …/logs`: newest first.
pub(super) async fn search(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<LogParams>,
) -> Result<Json<LogPageBody>, PlatformError> {
    let project = project_of(&operator, &platform, &text).await?;
    let query = params.to_query(scope(&platform, &project))?;
    let page = read(&platform, move |logs| logs.search(&query)).await?;
    let next = page.next.as_ref().map(ToString::to_string);
    let records = RecordBody::of_page(page);
    Ok(Json(LogPageBody { records, next }))
}

/// `data` of a live tail: a record with the event `record`, or with `dropped` how many were left out
/// because the reader was too slow.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum TailBody {
    Record(RecordBody),
    Dropped { count: u64 },
}

/// `GET …/logs/tail`: server-sent events; `dropped` counts records that a slow reader missed.
pub(super) async fn tail(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<LogParams>,
) -> Result<EventStream<TailBody>, PlatformError> {
    let project = project_of(&operator, &platform, &text).await?;
    let query = params.to_query(scope(&platform, &project))?;
    let receiver = platform.0.logs.tail(query);
    let shutdown = platform.0.shutdown.clone();
    let events = stream::unfold((receiver, shutdown), async |(mut receiver, shutdown)| {
        let (name, body) = match shutdown.run_until_cancelled(receiver.recv()).await?? {
            TailItem::Record(record) => ("record", TailBody::Record(RecordBody::new(record, None))),
            TailItem::Dropped(count) => ("dropped", TailBody::Dropped { count }),
        };
        let event = Event::default().event(name).json_data(body);
        let event = Ok::<_, Infallible>(event.unwrap_or_default());
        Some((event, (receiver, shutdown)))
    });
    // The stream ends with the operator's token.
    let events = events.take_until(operator.until_token_ends(platform));
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(EventStream::new((stream_headers(), sse)))
}

/// Nothing between here and the browser may hold events back.
pub(super) fn stream_headers() -> [(HeaderName, HeaderValue); 2] {
    [
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (
            HeaderName::from_static("x-accel-buffering"),
            HeaderValue::from_static("no"),
        ),
    ]
}
