//! `GET …/logs/sources`: what is stored of each source, and for how long.

use axum::{Json, extract::State};
use plinth_log::{Query, Source};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Operator, project_of, read, scope};
use crate::{Platform, PlatformError, api::body::Segments};

/// A source of records.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct LogSourceBody {
    source: &'static str,
    /// Bytes on disk.
    bytes: u64,
    /// When the oldest record is from.
    oldest: Option<String>,
    /// Seconds that records are kept.
    max_age: u64,
    /// Bytes that are kept.
    max_bytes: u64,
}

/// All of them, also those without a record.
pub(in crate::api) async fn sources(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<Vec<LogSourceBody>>, PlatformError> {
    let project = project_of(&operator, &platform, &text).await?;
    let query = Query::new(scope(&platform, &project));
    let usage = read(&platform, move |logs| logs.usage(&query)).await?;
    let retention = platform.0.logs.retention();
    let bodies = Source::ALL.into_iter().map(|source| {
        let of_source = || usage.iter().filter(|usage| usage.source == source);
        let oldest = of_source().filter_map(|usage| usage.oldest).min();
        let kept = retention.of(source);
        LogSourceBody {
            source: source.as_str(),
            bytes: of_source().map(|usage| usage.bytes).sum(),
            oldest: oldest.map(|oldest| oldest.to_string()),
            max_age: kept.max_age.as_secs(),
            max_bytes: kept.max_bytes,
        }
    });
    Ok(Json(bodies.collect()))
}
