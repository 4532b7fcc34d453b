//! Records around another one, and everything about one request.

use axum::{Json, extract::State};
use plinth_log::{MAX_LIMIT, Query, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LogPageBody, LogParams, Operator, RecordBody, parse, project_of, read, scope};
use crate::{
    Platform, PlatformError,
    api::body::{Params, Segments, needed},
};

const DEFAULT_EACH_WAY: usize = 50;
const MAX_EACH_WAY: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub(in crate::api) struct ContextParams {
    /// Required: the `id` of a record.
    #[serde(default)]
    id: Option<String>,
    /// Comma list; all when absent.
    #[serde(default)]
    source: Option<String>,
    /// Terms that the others must meet, too.
    #[serde(default)]
    q: Option<String>,
    /// How many before and after it; 50 when absent.
    #[serde(default)]
    each_way: Option<usize>,
}

/// What stands before and after a record, newest first; the record itself is in neither.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct ContextBody {
    newer: Vec<RecordBody>,
    older: Vec<RecordBody>,
}

/// `GET …/logs/context`.
pub(in crate::api) async fn context(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<ContextParams>,
) -> Result<Json<ContextBody>, PlatformError> {
    let project = project_of(&operator, &platform, &text).await?;
    let position = parse::<plinth_log::Cursor>(&needed("id", params.id)?)?;
    let each_way = params.each_way.unwrap_or(DEFAULT_EACH_WAY);
    let filter = LogParams {
        source: params.source,
        q: params.q,
        since: None,
        until: None,
        level: None,
        cursor: None,
        limit: Some(each_way.clamp(1, MAX_EACH_WAY)),
    };
    let query = filter.to_query(scope(&platform, &project))?;
    let (newer, older) = read(&platform, move |logs| {
        let newer = logs.search_newer(&query, &position)?;
        let older = logs.search(&Query {
            cursor: Some(position),
            ..query
        })?;
        Ok((newer, older))
    })
    .await?;
    Ok(Json(ContextBody {
        newer: RecordBody::of_page(newer),
        older: RecordBody::of_page(older),
    }))
}

/// `GET …/logs/requests/{id}`: one request across all services, newest first.
pub(in crate::api) async fn request(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<Json<LogPageBody>, PlatformError> {
    let project = project_of(&operator, &platform, &text).await?;
    let invalid = |error: plinth_log::QueryError| PlatformError::Invalid(error.to_string());
    let mut query = Query::new(scope(&platform, &project));
    query.terms = vec![Term::field("request_id", &id).map_err(invalid)?];
    query.limit = MAX_LIMIT;
    let page = read(&platform, move |logs| logs.search(&query)).await?;
    if page.records.is_empty() {
        return Err(PlatformError::NotFound(format!(
            "The log has no record of request {id}"
        )));
    }
    let next = page.next.as_ref().map(ToString::to_string);
    let records = RecordBody::of_page(page);
    Ok(Json(LogPageBody { records, next }))
}
