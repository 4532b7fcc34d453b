//! Metrics of the service for Prometheus (rest contract §10): PostgREST's names for the whole
//! process, and names of our own with the label `project`. `docs/metrics.md` lists them.

pub(crate) mod jwt_cache;

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use metrics::{
    Counter, Gauge, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use plinth_project::Project;

const LOADS: &str = "plinth_rest_schema_cache_loads_total";
const LOAD_SECONDS: &str = "plinth_rest_schema_cache_load_seconds";
const LOADED_AT: &str = "plinth_rest_schema_cache_loaded_at_seconds";
const NAMES_MISSED: &str = "plinth_rest_names_missed_total";
const POOL_TIMEOUTS: &str = "plinth_rest_pool_timeouts_total";

const PROCESS_LOADS: &str = "pgrst_schema_cache_loads_total";
const PROCESS_LOAD_SECONDS: &str = "pgrst_schema_cache_query_time_seconds";
const PROCESS_POOL_TIMEOUTS: &str = "pgrst_db_pool_timeouts_total";

/// Pool timeouts come in bursts; at most one log line is written per interval.
const POOL_TIMEOUT_LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Registers the help texts. Once per process, after the recorder is installed.
pub fn describe_metrics() {
    describe_counter!(LOADS, "Attempts to load the schema cache, by status.");
    let help = "Duration of a schema cache load.";
    describe_histogram!(LOAD_SECONDS, Unit::Seconds, help);
    let help = "Unix time of the last successful schema cache load, in seconds.";
    describe_gauge!(LOADED_AT, Unit::Seconds, help);
    let help = "Requests for a relation or function that is not in the schema cache, for which \
                the database was queried.";
    describe_counter!(NAMES_MISSED, help);
    let help = "Requests that timed out waiting for a connection of the pool.";
    describe_counter!(POOL_TIMEOUTS, help);

    let help = "The total number of times the schema cache was loaded";
    describe_counter!(PROCESS_LOADS, help);
    let help = "The query time in seconds of the last schema cache load";
    describe_gauge!(PROCESS_LOAD_SECONDS, Unit::Seconds, help);
    let help = "The total number of pool connection timeouts";
    describe_counter!(PROCESS_POOL_TIMEOUTS, help);
    counter!(PROCESS_POOL_TIMEOUTS).absolute(0);
}

/// The same for `plinth serve rest`, which verifies tokens itself and so has a JWT cache.
pub fn describe_standalone_metrics() {
    jwt_cache::describe();
    describe_metrics();
}

/// Metrics of one project.
pub(crate) struct RestMetrics {
    project: String,
    names_missed: Counter,
    pool_timeouts: Counter,
    loaded_at: Gauge,
    unlogged_timeouts: Mutex<UnloggedTimeouts>,
}

/// Pool timeouts since the last log line about them.
#[derive(Default)]
struct UnloggedTimeouts {
    count: u64,
    logged_at: Option<Instant>,
}

impl RestMetrics {
    pub(crate) fn for_project(project: &Project) -> Self {
        let project = project.reference().to_string();
        Self {
            names_missed: counter!(NAMES_MISSED, "project" => project.clone()),
            pool_timeouts: counter!(POOL_TIMEOUTS, "project" => project.clone()),
            loaded_at: gauge!(LOADED_AT, "project" => project.clone()),
            unlogged_timeouts: Mutex::default(),
            project,
        }
    }

    pub(crate) fn record_load(&self, duration: Duration) {
        self.count_load("SUCCESS");
        gauge!(PROCESS_LOAD_SECONDS).set(duration);
        histogram!(LOAD_SECONDS, "project" => self.project.clone()).record(duration);
        self.loaded_at
            .set(time::OffsetDateTime::now_utc().unix_timestamp() as f64);
    }

    pub(crate) fn count_failed_load(&self) {
        self.count_load("FAIL");
    }

    fn count_load(&self, status: &'static str) {
        counter!(PROCESS_LOADS, "status" => status).increment(1);
        let labels = [("project", self.project.clone()), ("status", status.into())];
        counter!(LOADS, &labels).increment(1);
    }

    pub(crate) fn count_missed_name(&self) {
        self.names_missed.increment(1);
    }

    /// Also logs, at most once per [`POOL_TIMEOUT_LOG_INTERVAL`].
    pub(crate) fn count_pool_timeout(&self) {
        counter!(PROCESS_POOL_TIMEOUTS).increment(1);
        self.pool_timeouts.increment(1);
        let unlogged = self.unlogged_timeouts.lock();
        let mut unlogged = unlogged.unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = unlogged.add(Instant::now()) {
            tracing::warn!(
                count,
                "timed out waiting for a connection of the pool ({count} times since the last \
                 such line)"
            );
        }
    }
}

impl UnloggedTimeouts {
    /// Counts one more. Returns the count, and starts anew, when a line is due.
    fn add(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        let is_due = self
            .logged_at
            .is_none_or(|logged| now >= logged + POOL_TIMEOUT_LOG_INTERVAL);
        if !is_due {
            return None;
        }
        self.logged_at = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn metric_names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("plinth_rest_"))
            .collect()
    }

    #[test]
    fn every_metric_is_documented() {
        let (code, _) = include_str!("metrics.rs")
            .split_once("#[cfg(test)]")
            .expect("code before tests");
        let page = include_str!("../../../docs/metrics.md");
        assert_eq!(metric_names(code), metric_names(page));
    }

    #[test]
    fn a_burst_of_pool_timeouts_is_logged_at_its_beginning_and_every_five_seconds() {
        let mut unlogged = UnloggedTimeouts::default();
        let start = Instant::now();
        let interval = POOL_TIMEOUT_LOG_INTERVAL;

        assert_eq!(unlogged.add(start), Some(1));
        assert_eq!(unlogged.add(start), None);
        assert_eq!(unlogged.add(start + interval / 2), None);
        assert_eq!(unlogged.add(start + interval), Some(3));
        assert_eq!(unlogged.add(start + interval), None);
    }
}
