//! What the service counts for Prometheus (rest contract §10): under the names that PostgREST has,
//! for the whole process, and by project beside them. `docs/metrics.md` says what they mean.

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

/// Pool timeouts come in bursts; one line tells of all within this time.
const BURST: Duration = Duration::from_secs(5);

/// Says what the numbers mean. Once per process, after its recorder is there.
pub fn describe_metrics() {
    describe_counter!(LOADS, "Attempts to load the schema cache, by status.");
    let what = "Time that loading the schema cache takes.";
    describe_histogram!(LOAD_SECONDS, Unit::Seconds, what);
    let what = "When the schema cache was loaded last, in seconds since 1970.";
    describe_gauge!(LOADED_AT, Unit::Seconds, what);
    let what = "Requests for a relation or function that the schema cache does not have.";
    describe_counter!(NAMES_MISSED, what);
    let what = "Requests that waited for a connection in vain.";
    describe_counter!(POOL_TIMEOUTS, what);

    let what = "The total number of times the schema cache was loaded";
    describe_counter!(PROCESS_LOADS, what);
    let what = "The query time in seconds of the last schema cache load";
    describe_gauge!(PROCESS_LOAD_SECONDS, Unit::Seconds, what);
    let what = "The total number of pool connection timeouts";
    describe_counter!(PROCESS_POOL_TIMEOUTS, what);
    counter!(PROCESS_POOL_TIMEOUTS).absolute(0);
}

/// The numbers of one project.
pub(crate) struct Numbers {
    project: String,
    names_missed: Counter,
    pool_timeouts: Counter,
    loaded_at: Gauge,
    untold: Mutex<Untold>,
}

/// Pool timeouts since the last line about them.
#[derive(Default)]
struct Untold {
    count: u64,
    told_at: Option<Instant>,
}

impl Numbers {
    pub(crate) fn of(project: &Project) -> Self {
        let project = project.reference().to_string();
        Self {
            names_missed: counter!(NAMES_MISSED, "project" => project.clone()),
            pool_timeouts: counter!(POOL_TIMEOUTS, "project" => project.clone()),
            loaded_at: gauge!(LOADED_AT, "project" => project.clone()),
            untold: Mutex::default(),
            project,
        }
    }

    pub(crate) fn loaded(&self, took: Duration) {
        self.count_load("SUCCESS");
        gauge!(PROCESS_LOAD_SECONDS).set(took);
        histogram!(LOAD_SECONDS, "project" => self.project.clone()).record(took);
        self.loaded_at
            .set(time::OffsetDateTime::now_utc().unix_timestamp() as f64);
    }

    pub(crate) fn load_failed(&self) {
        self.count_load("FAIL");
    }

    fn count_load(&self, status: &'static str) {
        counter!(PROCESS_LOADS, "status" => status).increment(1);
        let labels = [("project", self.project.clone()), ("status", status.into())];
        counter!(LOADS, &labels).increment(1);
    }

    /// Somebody named what we do not know.
    pub(crate) fn name_missed(&self) {
        self.names_missed.increment(1);
    }

    pub(crate) fn pool_timed_out(&self) {
        counter!(PROCESS_POOL_TIMEOUTS).increment(1);
        self.pool_timeouts.increment(1);
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = untold.count_one(Instant::now()) {
            tracing::warn!(
                count,
                "no connection of the pool became free in time ({count} since this was last told)"
            );
        }
    }
}

impl Untold {
    /// One more; how many there are, if it is time to tell.
    fn count_one(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        let is_time = self.told_at.is_none_or(|told| now >= told + BURST);
        if !is_time {
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Words that begin like a number of ours.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("plinth_rest_"))
            .collect()
    }

    #[test]
    fn every_number_is_explained() {
        let (code, _) = include_str!("numbers.rs")
            .split_once("#[cfg(test)]")
            .expect("code before tests");
        let page = include_str!("../../../docs/metrics.md");
        assert_eq!(names(code), names(page));
    }

    #[test]
    fn a_burst_of_pool_timeouts_is_told_at_its_beginning_and_every_five_seconds() {
        let mut untold = Untold::default();
        let start = Instant::now();

        assert_eq!(untold.count_one(start), Some(1));
        assert_eq!(untold.count_one(start), None);
        assert_eq!(untold.count_one(start + BURST / 2), None);
        assert_eq!(untold.count_one(start + BURST), Some(3));
        assert_eq!(untold.count_one(start + BURST), None);
    }
}
