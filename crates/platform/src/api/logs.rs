//! `/platform/projects/{ref}/logs`: search and live tail of the log store.

use std::{convert::Infallible, time::Duration};

use axum::{
    Json,
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt, stream};
use plinth_log::{Query, Scope, TailItem};
use plinth_project::ProjectRef;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Operator,
    body::{Params, Segments},
};
use crate::{Platform, PlatformError};

/// Heartbeat of a quiet tail.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub(super) struct LogParams {
    /// Comma list; all when absent.
    #[serde(default)]
    source: Option<String>,
    /// Terms of the query bar.
    #[serde(default)]
    q: Option<String>,
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    until: Option<String>,
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
fn scope(platform: &Platform, project: &ProjectRef) -> Scope {
    let mut projects = vec![project.to_string()];
    if *project == platform.references().platform {
        projects.push("platform".to_owned());
    }
    Scope::Projects(projects)
}

fn parse<T>(text: &str) -> Result<T, PlatformError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.trim()
        .parse()
        .map_err(|error: T::Err| PlatformError::Invalid(error.to_string()))
}

/// `GET …/logs`: newest first.
pub(super) async fn search(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<LogParams>,
) -> Result<Json<Value>, PlatformError> {
    let project = platform
        .load_project(&operator.project_by_name(&platform, &text)?)
        .await?
        .reference;
    let query = params.to_query(scope(&platform, &project))?;
    let logs = platform.0.logs.clone();
    let page = tokio::task::spawn_blocking(move || logs.search(&query))
        .await
        .map_err(PlatformError::caused_by)?
        .map_err(PlatformError::caused_by)?;
    let next = page.next.map(|cursor| cursor.to_string());
    Ok(Json(json!({ "records": page.records, "next": next })))
}

/// `GET …/logs/tail`: server-sent events; `dropped` counts records that a slow reader missed.
pub(super) async fn tail(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<LogParams>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, PlatformError> {
    let project = platform
        .load_project(&operator.project_by_name(&platform, &text)?)
        .await?
        .reference;
    let receiver = platform
        .0
        .logs
        .tail(params.to_query(scope(&platform, &project))?);
    let shutdown = platform.0.shutdown.clone();
    let events = stream::unfold((receiver, shutdown), async |(mut receiver, shutdown)| {
        let event = match shutdown.run_until_cancelled(receiver.recv()).await?? {
            TailItem::Record(record) => Event::default().event("record").json_data(record),
            TailItem::Dropped(count) => Event::default()
                .event("dropped")
                .json_data(json!({ "count": count })),
        };
        Some((Ok(event.unwrap_or_default()), (receiver, shutdown)))
    });
    // The stream ends with the operator's token.
    let events = events.take_until(operator.until_token_ends(platform));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}
