//! Series over time.

use std::collections::BTreeMap;

use super::{DAY, MINUTE, Stats, files};
use crate::{QueryError, SearchError, Timestamp, is_valid_project, segment::Layout};

/// The most points a series may have.
const MAX_POINTS: i64 = 2000;

/// By what series are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficBy {
    /// One series of everything.
    Nothing,
    /// The service that responded.
    Service,
    /// The route; the most frequent ones.
    Route,
}

/// What to read.
#[derive(Debug, Clone)]
pub struct TrafficQuery {
    /// The projects, by ref, added up.
    pub projects: Vec<String>,
    /// Not before this moment.
    pub since: Timestamp,
    /// Before this moment.
    pub until: Timestamp,
    /// Seconds between points; whole minutes.
    pub step: i64,
    /// By what series are told apart.
    pub by: TrafficBy,
    /// Only of this service.
    pub service: Option<String>,
    /// At most so many series, those with most requests.
    pub limit: usize,
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficSeries {
    /// The service, or the route; empty if there is only one.
    pub key: String,
    /// Start of each interval with requests, in seconds since 1970, and what happened in it.
    pub points: BTreeMap<i64, Stats>,
    /// Everything together.
    pub total: Stats,
}

/// What was written; the current minute may be missing.
pub(crate) fn query(
    layout: &Layout,
    query: &TrafficQuery,
) -> Result<Vec<TrafficSeries>, SearchError> {
    let (since, until) = (seconds(query.since), seconds(query.until));
    if since >= until {
        return Err(QueryError::EmptyRange.into());
    }
    let step = query.step;
    if step < MINUTE || step % MINUTE != 0 || (until - since) / step > MAX_POINTS {
        return Err(QueryError::Step(step).into());
    }
    let mut series: BTreeMap<String, TrafficSeries> = BTreeMap::new();
    for project in &query.projects {
        if !is_valid_project(project) {
            continue;
        }
        let days = since.div_euclid(DAY)..=until.div_euclid(DAY);
        let lines = files::read(layout, project, days);
        let lines = lines.map_err(|error| SearchError::read(layout.traffic_dir(project), error))?;
        for line in lines {
            let is_wanted = (since..until).contains(&line.start)
                && query.service.as_ref().is_none_or(|it| *it == line.service);
            if !is_wanted {
                continue;
            }
            let key = match query.by {
                TrafficBy::Nothing => "",
                TrafficBy::Service => &line.service,
                TrafficBy::Route => &line.route,
            };
            let stats = line.stats();
            let one = series.entry(key.to_owned());
            let one = one.or_insert_with(|| TrafficSeries {
                key: key.to_owned(),
                points: BTreeMap::new(),
                total: Stats::default(),
            });
            one.total.merge(&stats);
            let start = line.start - line.start.rem_euclid(step);
            one.points.entry(start).or_default().merge(&stats);
        }
    }
    let mut series: Vec<TrafficSeries> = series.into_values().collect();
    series.sort_by_key(|one| std::cmp::Reverse(one.total.total()));
    series.truncate(query.limit);
    Ok(series)
}

fn seconds(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(1_000_000)
}
