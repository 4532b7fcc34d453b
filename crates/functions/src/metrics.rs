//! Prometheus metrics of functions (functions contract §12). Labels are projects and functions that
//! exist, so callers cannot create any.

use std::{sync::OnceLock, time::Duration};

use metrics::{
    Counter, Gauge, Histogram, Label, Unit, counter, describe_counter, describe_gauge,
    describe_histogram, gauge, histogram,
};
use plinth_project::ProjectRef;

use crate::usage::Usage;

const REQUESTS: &str = "plinth_functions_requests_total";
const IN_FLIGHT: &str = "plinth_functions_requests_in_flight";
const QUEUE_WAIT: &str = "plinth_functions_queue_wait_seconds";
const COLD_STARTS: &str = "plinth_functions_cold_starts_total";
const BOOT: &str = "plinth_functions_boot_seconds";
const BOOT_FAILURES: &str = "plinth_functions_boot_failures_total";
const WORKERS: &str = "plinth_functions_workers";
const RESIDENT: &str = "plinth_functions_resident_bytes";
const CPU: &str = "plinth_functions_cpu_milliseconds_total";
const ENDED: &str = "plinth_functions_workers_ended_total";
const RESTARTS: &str = "plinth_functions_restarts_total";

/// Registers the help texts. Once per process, after its recorder is installed.
pub fn describe_metrics() {
    describe_counter!(
        REQUESTS,
        "Requests to functions, by status; 499: the client closed the connection early."
    );
    describe_gauge!(IN_FLIGHT, "Requests in flight.");
    describe_histogram!(
        QUEUE_WAIT,
        Unit::Seconds,
        "Time that a request waits for a worker."
    );
    describe_counter!(COLD_STARTS, "Requests that waited for a worker to boot.");
    describe_histogram!(
        BOOT,
        Unit::Seconds,
        "Boot time of workers, until they serve the function."
    );
    describe_counter!(BOOT_FAILURES, "Worker boots that failed.");
    describe_gauge!(WORKERS, "Worker processes, those that drain included.");
    describe_gauge!(
        RESIDENT,
        Unit::Bytes,
        "Resident memory (RSS) of worker processes."
    );
    describe_counter!(CPU, Unit::Milliseconds, "CPU time of worker processes.");
    describe_counter!(
        ENDED,
        "Worker processes that ended, by reason: shut_down (in order), crashed, or the limit that \
         they were killed for."
    );
    describe_counter!(
        RESTARTS,
        "Workers started in place of one that crashed or exceeded a limit."
    );
}

/// The metrics of one function. Handles that are used often are looked up once, but not before their
/// first use: the recorder may be installed after the function was found.
#[derive(Debug)]
pub(crate) struct FunctionMetrics {
    labels: [Label; 2],
    handles: OnceLock<Handles>,
}

#[derive(Debug)]
struct Handles {
    in_flight: Gauge,
    succeeded: Counter,
    queue_wait: Histogram,
    resident: Gauge,
    cpu: Counter,
}

impl FunctionMetrics {
    pub(crate) fn new(project: &ProjectRef, function: &str) -> Self {
        Self {
            labels: [
                Label::new("project", project.to_string()),
                Label::new("function", function.to_owned()),
            ],
            handles: OnceLock::new(),
        }
    }

    fn handles(&self) -> &Handles {
        self.handles.get_or_init(|| Handles {
            in_flight: gauge!(IN_FLIGHT, self.labels.iter()),
            succeeded: self.requests_with_status(200),
            queue_wait: histogram!(QUEUE_WAIT, self.labels.iter()),
            resident: gauge!(RESIDENT, self.labels.iter()),
            cpu: counter!(CPU, self.labels.iter()),
        })
    }

    fn labels_and(
        &self,
        name: &'static str,
        value: impl Into<metrics::SharedString>,
    ) -> Vec<Label> {
        let labels = self.labels.iter().cloned();
        labels.chain([Label::new(name, value)]).collect()
    }

    pub(crate) fn request_began(&self) {
        self.handles().in_flight.increment(1.0);
    }

    pub(crate) fn request_ended(&self, status: u16) {
        let handles = self.handles();
        handles.in_flight.decrement(1.0);
        match status {
            200 => handles.succeeded.increment(1),
            _ => self.requests_with_status(status).increment(1),
        }
    }

    fn requests_with_status(&self, status: u16) -> Counter {
        counter!(REQUESTS, self.labels_and("status", status.to_string()))
    }

    pub(crate) fn waited_in_queue(&self, time: Duration) {
        self.handles().queue_wait.record(time.as_secs_f64());
    }

    pub(crate) fn cold_start(&self) {
        counter!(COLD_STARTS, self.labels.iter()).increment(1);
    }

    pub(crate) fn boot_failed(&self) {
        counter!(BOOT_FAILURES, self.labels.iter()).increment(1);
    }

    pub(crate) fn worker_restarted(&self) {
        counter!(RESTARTS, self.labels.iter()).increment(1);
    }

    pub(crate) fn worker_booted(&self, boot_time: Duration) {
        histogram!(BOOT, self.labels.iter()).record(boot_time.as_secs_f64());
        gauge!(WORKERS, self.labels.iter()).increment(1.0);
    }

    /// What a worker uses now, and used at the last measurement.
    pub(crate) fn worker_uses(&self, before: Usage, now: Usage) {
        let Handles { resident, cpu, .. } = self.handles();
        resident.increment(now.resident_bytes as f64 - before.resident_bytes as f64);
        let milliseconds = now.cpu.as_millis().saturating_sub(before.cpu.as_millis());
        cpu.increment(u64::try_from(milliseconds).unwrap_or_default());
    }

    pub(crate) fn worker_ended(&self, reason: &'static str, last: Usage) {
        let resident = &self.handles().resident;
        resident.decrement(last.resident_bytes as f64);
        gauge!(WORKERS, self.labels.iter()).decrement(1.0);
        counter!(ENDED, self.labels_and("reason", reason)).increment(1);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Words that begin like a metric of ours.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("plinth_functions_"))
            .collect()
    }

    #[test]
    fn every_metric_is_documented() {
        let (code, _) = include_str!("metrics.rs")
            .split_once("#[cfg(test)]")
            .expect("code before tests");
        let page = include_str!("../../../docs/metrics.md");
        assert_eq!(names(code), names(page));
    }
}
