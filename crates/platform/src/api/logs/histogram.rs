//! `GET …/logs/histogram`: counts by level and time.

use axum::{Json, extract::State};
use plinth_log::{Histogram, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LogParams, Operator, project_of, read, scope};
use crate::{
    Platform, PlatformError,
    api::body::{Params, Segments},
};

const DEFAULT_BUCKETS: usize = 60;

#[derive(Deserialize, JsonSchema)]
pub(in crate::api) struct HistogramParams {
    /// Comma list; all when absent.
    #[serde(default)]
    source: Option<String>,
    /// Terms of the query bar.
    #[serde(default)]
    q: Option<String>,
    /// RFC 3339; the first record when absent.
    #[serde(default)]
    since: Option<String>,
    /// RFC 3339; now when absent.
    #[serde(default)]
    until: Option<String>,
    /// This level or a worse one.
    #[serde(default)]
    level: Option<String>,
    /// How many intervals; 60 when absent.
    #[serde(default)]
    buckets: Option<usize>,
}

/// Counts in equal intervals.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct HistogramBody {
    since: String,
    until: String,
    /// Seconds of an interval.
    width: f64,
    buckets: Vec<BucketBody>,
}

#[derive(Serialize, JsonSchema)]
struct BucketBody {
    start: String,
    trace: u64,
    debug: u64,
    info: u64,
    warn: u64,
    error: u64,
}

impl From<Histogram> for HistogramBody {
    fn from(histogram: Histogram) -> Self {
        let buckets = histogram.buckets.iter().map(|bucket| BucketBody {
            start: bucket.start.to_string(),
            trace: bucket.count(Level::Trace),
            debug: bucket.count(Level::Debug),
            info: bucket.count(Level::Info),
            warn: bucket.count(Level::Warn),
            error: bucket.count(Level::Error),
        });
        Self {
            since: histogram.since.to_string(),
            until: histogram.until.to_string(),
            width: histogram.width.as_secs_f64(),
            buckets: buckets.collect(),
        }
    }
}

/// The same filters as the search; level by level.
pub(in crate::api) async fn histogram(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<HistogramParams>,
) -> Result<Json<HistogramBody>, PlatformError> {
    let project = project_of(&operator, &platform, &text).await?;
    let buckets = params.buckets.unwrap_or(DEFAULT_BUCKETS);
    let params = LogParams {
        source: params.source,
        q: params.q,
        since: params.since,
        until: params.until,
        level: params.level,
        cursor: None,
        limit: None,
    };
    let query = params.to_query(scope(&platform, &project))?;
    let counted = read(&platform, move |logs| logs.histogram(&query, buckets)).await?;
    Ok(Json(counted.into()))
}
