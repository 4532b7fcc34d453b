//! How a worker ended, and the log record of it (functions contract §12).

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Instant};

use plinth_log::Level;
use serde_json::{Value, json};

use super::assess::History;
use crate::{
    config::Limits,
    worker::{ShutdownReason, WorkerExit},
};

/// The exit code of a shell for SIGTRAP.
const TRAP_EXIT_CODE: i32 = 128 + libc::SIGTRAP;

/// Classifies the end of a worker by what the monitor did and how the process exited.
pub(super) fn classify(status: Option<ExitStatus>, history: &History, now: Instant) -> WorkerExit {
    match history.killed_for {
        Some(ShutdownReason::EarlyDrop | ShutdownReason::Termination) => {
            return WorkerExit::Requested;
        }
        Some(reason) => return WorkerExit::LimitExceeded(reason),
        None => {}
    }
    if history
        .retiring
        .is_some_and(|retiring| retiring.is_asked_to_exit)
    {
        return WorkerExit::Requested;
    }
    if status.is_some_and(is_heap_exhausted) {
        return WorkerExit::LimitExceeded(ShutdownReason::Memory);
    }
    WorkerExit::Crashed {
        uptime: now - history.began,
    }
}

/// V8 aborts the process itself when its heap is full.
fn is_heap_exhausted(status: ExitStatus) -> bool {
    let is_abort = matches!(
        status.signal(),
        Some(libc::SIGTRAP | libc::SIGABRT | libc::SIGILL)
    );
    is_abort || status.code() == Some(TRAP_EXIT_CODE)
}

/// What is logged and counted about an end.
#[derive(Debug, PartialEq)]
pub(super) struct ExitRecord {
    pub(super) event: &'static str,
    pub(super) level: Level,
    pub(super) message: String,
    /// The field that is particular to the event.
    detail: (&'static str, Value),
    /// The label `reason` of the metric.
    pub(super) reason: &'static str,
}

impl ExitRecord {
    /// `explain` turns what the runtime printed last into a message.
    pub(super) fn new(
        exit: WorkerExit,
        status: Option<ExitStatus>,
        history: &History,
        limits: &Limits,
        explain: impl FnOnce() -> String,
    ) -> Self {
        let mut record = match exit {
            WorkerExit::Requested => {
                Self::shutdown(history.retiring.map(|retiring| retiring.reason))
            }
            WorkerExit::LimitExceeded(reason) => Self::limit_exceeded(reason, limits),
            WorkerExit::Crashed { .. } => Self::crash(status, explain()),
        };
        if let Some(reason) = history.killed_for {
            record.reason = reason.event_name();
        }
        record
    }

    fn shutdown(reason: Option<ShutdownReason>) -> Self {
        let reason = reason.map_or("EventLoopCompleted", ShutdownReason::record_name);
        Self {
            event: "Shutdown",
            level: Level::Info,
            message: "shutdown".to_owned(),
            detail: ("reason", reason.into()),
            reason: "shut_down",
        }
    }

    fn limit_exceeded(reason: ShutdownReason, limits: &Limits) -> Self {
        let message = match reason {
            ShutdownReason::Memory => {
                format!("Memory limit of {} MiB exceeded", limits.memory_bytes >> 20)
            }
            ShutdownReason::Cpu => {
                format!("CPU time limit of {} s exceeded", limits.cpu.as_secs_f32())
            }
            ShutdownReason::WallClock => "Wall clock time limit reached".to_owned(),
            ShutdownReason::EarlyDrop | ShutdownReason::Termination => {
                "Killed: did not exit within the grace period".to_owned()
            }
        };
        Self {
            event: "Shutdown",
            level: Level::Error,
            message,
            detail: ("reason", reason.record_name().into()),
            reason: reason.event_name(),
        }
    }

    fn crash(status: Option<ExitStatus>, exception: String) -> Self {
        let how = status.map_or_else(|| "unknown exit status".to_owned(), |s| s.to_string());
        Self {
            event: "UncaughtException",
            level: Level::Error,
            message: format!("The function's process exited unexpectedly ({how})"),
            detail: ("exception", exception.into()),
            reason: "crashed",
        }
    }

    /// The fields of the log record.
    pub(super) fn details(&self, history: &History) -> [(&'static str, Value); 3] {
        let usage = history.usage;
        let cpu_millis = u64::try_from(usage.cpu.as_millis()).unwrap_or(u64::MAX);
        let memory = json!({
            "total": usage.resident_bytes,
            "heap": history.report.heap,
            "external": history.report.external,
        });
        [
            self.detail.clone(),
            ("cpu_time_used", cpu_millis.into()),
            ("memory_used", memory),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const UPTIME: Duration = Duration::from_secs(3);

    fn exit(history: &History, raw_status: i32) -> WorkerExit {
        let status = Some(ExitStatus::from_raw(raw_status));
        classify(status, history, history.began + UPTIME)
    }

    fn retiring(is_asked_to_exit: bool) -> History {
        let now = Instant::now();
        let mut history = History::new(now);
        history.note_retiring(ShutdownReason::EarlyDrop, now);
        if is_asked_to_exit {
            history.note_asked_to_exit();
        }
        history
    }

    #[test]
    fn an_exit_that_was_not_requested_is_a_crash() {
        let crashed = WorkerExit::Crashed { uptime: UPTIME };
        assert_eq!(exit(&History::new(Instant::now()), 0), crashed);
        assert_eq!(exit(&History::new(Instant::now()), libc::SIGKILL), crashed);
        assert_eq!(exit(&retiring(false), 1 << 8), crashed);
        assert_eq!(exit(&retiring(true), 1 << 8), WorkerExit::Requested);
    }

    #[test]
    fn a_requested_exit_is_counted_as_shut_down() {
        let requested = Some(ShutdownReason::EarlyDrop);
        assert_eq!(ExitRecord::shutdown(requested).reason, "shut_down");
    }

    #[test]
    fn a_full_heap_is_a_memory_limit() {
        for raw in [libc::SIGTRAP, libc::SIGABRT, libc::SIGILL, 133 << 8] {
            let history = History::new(Instant::now());
            assert_eq!(
                exit(&history, raw),
                WorkerExit::LimitExceeded(ShutdownReason::Memory)
            );
        }
    }

    #[test]
    fn what_the_monitor_killed_it_for_counts_first() {
        let mut history = retiring(true);
        history.killed_for = Some(ShutdownReason::Cpu);
        assert_eq!(
            exit(&history, libc::SIGKILL),
            WorkerExit::LimitExceeded(ShutdownReason::Cpu)
        );
        history.killed_for = Some(ShutdownReason::Termination);
        assert_eq!(exit(&history, libc::SIGKILL), WorkerExit::Requested);
    }
}
