//! `GET …/metrics/query`: series over time from the requests that the log store counted.

use axum::{Json, extract::State};
use plinth_log::{Stats, Timestamp, TrafficBy, TrafficQuery, TrafficSeries};
use plinth_project::ProjectRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Platform, PlatformError,
    api::{
        Operator,
        body::{Params, Segments, needed},
        logs,
    },
};

const HOUR: i64 = 3600;
const DAY: i64 = 86_400;
/// Minutes are kept for so long.
const MINUTES_KEPT: i64 = DAY;
const MAX_SERIES: usize = 20;

/// Ranges by name, and the seconds between points that suit them.
const RANGES: [(&str, i64, i64); 8] = [
    ("1h", HOUR, 60),
    ("3h", 3 * HOUR, 180),
    ("6h", 6 * HOUR, 300),
    ("12h", 12 * HOUR, 600),
    ("24h", DAY, 900),
    ("7d", 7 * DAY, HOUR),
    ("30d", 30 * DAY, 6 * HOUR),
    ("90d", 90 * DAY, DAY),
];

#[derive(Deserialize, Serialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum MetricName {
    /// Completed requests.
    Requests,
    /// Responses with a status of 500 or more.
    Errors,
    /// Bytes of responses.
    Bytes,
    /// Milliseconds, as series of p50, p95 and p99.
    Latency,
}

#[derive(Deserialize, Serialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum MetricBy {
    Service,
    Route,
    /// By the class of the status, 1xx to 5xx.
    Status,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::api) struct MetricParams {
    /// Required.
    #[serde(default)]
    name: Option<MetricName>,
    /// `1h`, `3h`, `6h`, `12h`, `24h`, `7d`, `30d` or `90d`; `24h` when absent.
    #[serde(default)]
    range: Option<String>,
    /// RFC 3339; the end of the range, now when absent.
    #[serde(default)]
    until: Option<String>,
    /// Seconds between points, whole minutes; what suits the range when absent.
    #[serde(default)]
    step: Option<i64>,
    /// One series when absent.
    #[serde(default)]
    by: Option<MetricBy>,
    /// Only of this service.
    #[serde(default)]
    service: Option<String>,
}

/// Series over time.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct MetricBody {
    name: MetricName,
    /// `requests`, `bytes` or `ms`.
    unit: &'static str,
    /// When the first point begins.
    since: String,
    until: String,
    /// Seconds between points.
    step: i64,
    series: Vec<SeriesBody>,
}

/// One series.
#[derive(Serialize, JsonSchema)]
pub(in crate::api) struct SeriesBody {
    /// The service, route or class of status; empty if there is only one.
    key: String,
    /// Of latencies: `p50`, `p95` or `p99`.
    #[serde(skip_serializing_if = "Option::is_none")]
    quantile: Option<&'static str>,
    /// One for each step; null where nothing is known.
    values: Vec<Option<f64>>,
}

/// A range of time, in seconds, with its ends on steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) since: i64,
    pub(super) until: i64,
    pub(super) step: i64,
}

impl Range {
    /// The range of this name.
    pub(super) fn named(
        name: Option<&str>,
        until: i64,
        step: Option<i64>,
        now: i64,
    ) -> Result<Self, PlatformError> {
        let wanted = name.unwrap_or("24h");
        let (_, seconds, usual) = RANGES
            .into_iter()
            .find(|(name, ..)| *name == wanted)
            .ok_or_else(|| {
                let names = RANGES.map(|(name, ..)| name).join(", ");
                PlatformError::Invalid(format!("range: expected one of {names}"))
            })?;
        let mut step = step.unwrap_or(usual);
        if step < 60 || step % 60 != 0 || step > seconds {
            return Err(PlatformError::Invalid(format!(
                "step: expected whole minutes, from 60 to {seconds} seconds"
            )));
        }
        if until - seconds < now - MINUTES_KEPT {
            // Older requests are known by the hour.
            step = ((step + HOUR - 1) / HOUR * HOUR).min(DAY);
        }
        let until = (until + step - 1).div_euclid(step) * step;
        let since = until - (seconds + step - 1).div_euclid(step) * step;
        Ok(Self { since, until, step })
    }

    pub(super) fn steps(self) -> impl Iterator<Item = i64> {
        let step = usize::try_from(self.step).unwrap_or(usize::MAX);
        (self.since..self.until).step_by(step)
    }

    pub(super) fn time(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds.saturating_mul(1_000_000))
    }

    pub(super) fn query(self, project: &ProjectRef, by: TrafficBy) -> TrafficQuery {
        TrafficQuery {
            projects: vec![project.to_string()],
            since: Self::time(self.since),
            until: Self::time(self.until),
            step: self.step,
            by,
            service: None,
            limit: MAX_SERIES,
        }
    }
}

pub(super) fn now() -> i64 {
    Timestamp::now().as_micros().div_euclid(1_000_000)
}

/// `GET …/metrics/query`.
pub(in crate::api) async fn query(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<MetricParams>,
) -> Result<Json<MetricBody>, PlatformError> {
    let project = logs::project_of(&operator, &platform, &text).await?;
    let name = needed("name", params.name)?;
    let until = match params.until.as_deref() {
        Some(text) => logs::parse::<Timestamp>(text)?.as_micros() / 1_000_000,
        None => now(),
    };
    let range = Range::named(params.range.as_deref(), until, params.step, now())?;
    let by = match params.by {
        Some(MetricBy::Service) => TrafficBy::Service,
        Some(MetricBy::Route) => TrafficBy::Route,
        Some(MetricBy::Status) | None => TrafficBy::Nothing,
    };
    let mut query = range.query(&project, by);
    query.service = params.service;
    let found = logs::read(&platform, move |logs| logs.traffic(&query)).await?;
    let series = match (name, params.by) {
        (MetricName::Requests | MetricName::Errors, Some(MetricBy::Status)) => {
            by_status(range, &found, name)
        }
        (MetricName::Latency, _) => found
            .iter()
            .flat_map(|series| latencies(range, series))
            .collect(),
        _ => found.iter().map(|one| counts(range, one, name)).collect(),
    };
    Ok(Json(MetricBody {
        name,
        unit: match name {
            MetricName::Requests | MetricName::Errors => "requests",
            MetricName::Bytes => "bytes",
            MetricName::Latency => "ms",
        },
        since: Range::time(range.since).to_string(),
        until: Range::time(range.until).to_string(),
        step: range.step,
        series,
    }))
}

fn values(
    range: Range,
    series: &TrafficSeries,
    value: impl Fn(Option<&Stats>) -> Option<f64>,
) -> Vec<Option<f64>> {
    let points = range.steps().map(|start| series.points.get(&start));
    points.map(value).collect()
}

/// Where nothing was counted there was no request.
fn counts(range: Range, series: &TrafficSeries, name: MetricName) -> SeriesBody {
    let count = |stats: &Stats| match name {
        MetricName::Bytes => stats.bytes as f64,
        MetricName::Errors => stats.classes[4] as f64,
        MetricName::Requests | MetricName::Latency => stats.total() as f64,
    };
    SeriesBody {
        key: series.key.clone(),
        quantile: None,
        values: values(range, series, |stats| Some(stats.map_or(0.0, count))),
    }
}

fn latencies(range: Range, series: &TrafficSeries) -> impl Iterator<Item = SeriesBody> {
    let quantiles = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];
    quantiles.into_iter().map(move |(name, share)| SeriesBody {
        key: series.key.clone(),
        quantile: Some(name),
        values: values(range, series, |stats| stats?.quantile(share)),
    })
}

fn by_status(range: Range, found: &[TrafficSeries], name: MetricName) -> Vec<SeriesBody> {
    let classes: &[usize] = match name {
        MetricName::Errors => &[4],
        _ => &[0, 1, 2, 3, 4],
    };
    let series = found.first();
    let present = classes.iter().filter_map(|class| {
        let series = series.filter(|series| series.total.classes[*class] > 0)?;
        Some(SeriesBody {
            key: format!("{}xx", class + 1),
            quantile: None,
            values: values(range, series, |stats| {
                Some(stats.map_or(0.0, |stats| stats.classes[*class] as f64))
            }),
        })
    });
    present.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_on_steps() {
        let now = 1_785_578_430;
        let range = Range::named(Some("1h"), now, None, now).expect("a range");
        assert_eq!((range.until - range.since, range.step), (3600, 60));
        assert_eq!(range.steps().count(), 60);
        assert!(range.until >= now && range.until - now < 60);
        let day = Range::named(None, now, None, now).expect("a range");
        assert_eq!(day.steps().count(), 96);
        let quarter = Range::named(Some("90d"), now, None, now).expect("a range");
        assert_eq!(quarter.steps().count(), 90);
    }

    #[test]
    fn what_is_known_by_the_hour_has_points_by_the_hour() {
        let now = 1_785_578_430;
        let range = Range::named(Some("7d"), now, Some(60), now).expect("a range");
        assert_eq!(range.step, 3600);
    }

    #[test]
    fn other_ranges_and_steps_are_rejected() {
        for (name, step) in [
            (Some("1y"), None),
            (Some(""), None),
            (Some("1h"), Some(0)),
            (Some("1h"), Some(90)),
            (Some("1h"), Some(-60)),
            (Some("1h"), Some(7200)),
        ] {
            assert!(Range::named(name, 0, step, 0).is_err(), "{name:?} {step:?}");
        }
    }
}
