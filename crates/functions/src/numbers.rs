//! What happens to functions, counted for Prometheus (functions contract §12). Labels are projects and
//! functions that exist, so that callers cannot invent any.

use std::{sync::OnceLock, time::Duration};

use metrics::{
    Counter, Gauge, Histogram, Label, Unit, counter, describe_counter, describe_gauge,
    describe_histogram, gauge, histogram,
};
use plinth_project::ProjectRef;

use crate::worker::Usage;

const REQUESTS: &str = "plinth_functions_requests_total";
const IN_FLIGHT: &str = "plinth_functions_requests_in_flight";
const WAIT: &str = "plinth_functions_queue_wait_seconds";
const COLD_STARTS: &str = "plinth_functions_cold_starts_total";
const BOOT: &str = "plinth_functions_boot_seconds";
const BOOT_FAILURES: &str = "plinth_functions_boot_failures_total";
const WORKERS: &str = "plinth_functions_workers";
const RESIDENT: &str = "plinth_functions_resident_bytes";
const CPU: &str = "plinth_functions_cpu_milliseconds_total";
const ENDED: &str = "plinth_functions_workers_ended_total";
const RESTARTS: &str = "plinth_functions_restarts_total";

/// Says what the numbers mean. Once per process, after its recorder is there.
pub fn describe_metrics() {
    describe_counter!(
        REQUESTS,
        "Calls of functions, by status; 499 is a client that went away."
    );
    describe_gauge!(IN_FLIGHT, "Calls whose answer is not through.");
    describe_histogram!(WAIT, Unit::Seconds, "Wait of a call for a process.");
    describe_counter!(COLD_STARTS, "Calls that waited for a process to start.");
    describe_histogram!(
        BOOT,
        Unit::Seconds,
        "Time that a function takes until a process serves it."
    );
    describe_counter!(BOOT_FAILURES, "Starts that came to nothing.");
    describe_gauge!(WORKERS, "Processes that serve or finish what they have.");
    describe_gauge!(RESIDENT, Unit::Bytes, "Memory that processes really hold.");
    describe_counter!(
        CPU,
        Unit::Milliseconds,
        "Processor time that processes used."
    );
    let what = "Processes that ended: left as told, crashed, or killed for the reason named.";
    describe_counter!(ENDED, what);
    let what = "Processes started in the place of one that crashed or broke a limit.";
    describe_counter!(RESTARTS, what);
}

/// The numbers of one function. What is counted often is looked up once, and not before it is
/// counted: a recorder may come later than a function.
#[derive(Debug)]
pub(crate) struct Numbers {
    labels: [Label; 2],
    often: OnceLock<Often>,
}

#[derive(Debug)]
struct Often {
    in_flight: Gauge,
    succeeded: Counter,
    wait: Histogram,
    resident: Gauge,
    cpu: Counter,
}

impl Numbers {
    pub(crate) fn of(project: &ProjectRef, function: &str) -> Self {
        Self {
            labels: [
                Label::new("project", project.to_string()),
                Label::new("function", function.to_owned()),
            ],
            often: OnceLock::new(),
        }
    }

    fn often(&self) -> &Often {
        self.often.get_or_init(|| Often {
            in_flight: gauge!(IN_FLIGHT, self.labels.iter()),
            succeeded: self.answered(200),
            wait: histogram!(WAIT, self.labels.iter()),
            resident: gauge!(RESIDENT, self.labels.iter()),
            cpu: counter!(CPU, self.labels.iter()),
        })
    }

    fn with(&self, name: &'static str, value: impl Into<metrics::SharedString>) -> Vec<Label> {
        let labels = self.labels.iter().cloned();
        labels.chain([Label::new(name, value)]).collect()
    }

    pub(crate) fn call_began(&self) {
        self.often().in_flight.increment(1.0);
    }

    pub(crate) fn call_ended(&self, status: u16) {
        let Often {
            in_flight,
            succeeded,
            ..
        } = self.often();
        in_flight.decrement(1.0);
        match status {
            200 => succeeded.increment(1),
            _ => self.answered(status).increment(1),
        }
    }

    fn answered(&self, status: u16) -> Counter {
        counter!(REQUESTS, self.with("status", status.to_string()))
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.often().wait.record(time.as_secs_f64());
    }

    pub(crate) fn cold_start(&self) {
        counter!(COLD_STARTS, self.labels.iter()).increment(1);
    }

    pub(crate) fn boot_failed(&self) {
        counter!(BOOT_FAILURES, self.labels.iter()).increment(1);
    }

    pub(crate) fn restarted(&self) {
        counter!(RESTARTS, self.labels.iter()).increment(1);
    }

    pub(crate) fn worker_came(&self, boot_time: Duration) {
        histogram!(BOOT, self.labels.iter()).record(boot_time.as_secs_f64());
        gauge!(WORKERS, self.labels.iter()).increment(1.0);
    }

    /// What a worker uses now, and used when that was last told.
    pub(crate) fn worker_uses(&self, before: Usage, now: Usage) {
        let Often { resident, cpu, .. } = self.often();
        resident.increment(now.resident_bytes as f64 - before.resident_bytes as f64);
        let milliseconds = now.cpu.as_millis().saturating_sub(before.cpu.as_millis());
        cpu.increment(u64::try_from(milliseconds).unwrap_or_default());
    }

    pub(crate) fn worker_ended(&self, reason: &'static str, last: Usage) {
        self.often().resident.decrement(last.resident_bytes as f64);
        gauge!(WORKERS, self.labels.iter()).decrement(1.0);
        counter!(ENDED, self.with("reason", reason)).increment(1);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Words that begin like a number of ours.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("plinth_functions_"))
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
}
