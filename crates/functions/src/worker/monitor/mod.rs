//! Watches one worker from its first request to its exit, and enforces its limits (functions
//! contract §9, §14.6). Time is measured here and not in the worker.
//!
//! [`assess`] decides what to do, [`exit`] what an exit means; the [`Monitor`] carries it out.

mod assess;
mod exit;

use std::{
    process::ExitStatus,
    sync::{Arc, Weak, atomic::Ordering},
    time::{Duration, Instant},
};

use plinth_project::{KeepOpen, Project};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin},
    sync::{OwnedSemaphorePermit, mpsc, watch},
};
use tokio_util::sync::CancellationToken;

use self::{
    assess::{Action, History, Sample, assess},
    exit::{ExitRecord, classify},
};
use super::{
    RetireOrder, ShutdownReason, Worker, WorkerExit,
    console::{Report, StderrTail},
    folder::WorkerFolder,
};
use crate::{
    config::{FunctionsConfig, Limits},
    function_log::FunctionLog,
    usage::{self, Usage},
};

/// How often a worker is sampled that has work, and one that has none.
const BUSY_SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
const IDLE_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// How long writing a command may take: the worker may never read again.
const COMMAND_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the last reports of an exited worker may take to be read from its pipe.
const LAST_REPORTS_DELAY: Duration = Duration::from_millis(10);

/// The one owner of the process.
pub(super) struct Monitor {
    pub(super) worker: Arc<Worker>,
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) folder: WorkerFolder,
    pub(super) stderr: Arc<StderrTail>,
    pub(super) limits: Limits,
    pub(super) log: Arc<FunctionLog>,
    pub(super) project: Project,
    pub(super) shutdown: CancellationToken,
    pub(super) retire_orders: mpsc::UnboundedReceiver<RetireOrder>,
    pub(super) reports: mpsc::UnboundedReceiver<Report>,
    pub(super) exit: watch::Sender<Option<WorkerExit>>,
    pub(super) _process_permit: OwnedSemaphorePermit,
}

/// Keeps the project open where no request does.
#[derive(Default)]
struct Holds {
    /// For work that goes on after a response.
    background_work: Option<KeepOpen>,
    /// For a worker that stays although it is idle.
    warm_worker: Option<KeepOpen>,
}

impl Monitor {
    pub(super) async fn run(mut self) {
        let mut history = History::new(Instant::now());
        let mut holds = Holds::default();
        // A worker that exits before the first sample has used something, too.
        history.usage = self.measure(history.usage);
        // Retiring workers are notified, too: shutdown may shorten their grace period.
        let mut is_shutting_down = false;
        let status = loop {
            let is_busy = history.is_busy(self.worker.in_flight()) || history.retiring.is_some();
            let interval = if is_busy {
                BUSY_SAMPLE_INTERVAL
            } else {
                IDLE_SAMPLE_INTERVAL.min(self.limits.idle)
            };
            tokio::select! {
                status = self.child.wait() => break status,
                Some(RetireOrder { reason, within }) = self.retire_orders.recv() => {
                    self.retire(reason, within, &mut history).await;
                }
                Some(report) = self.reports.recv() => {
                    self.handle_report(report, &mut history, &mut holds);
                }
                () = wait_for_either(&self.shutdown, self.project.closed()), if !is_shutting_down => {
                    is_shutting_down = true;
                    let grace = Some(self.limits.grace);
                    self.retire(ShutdownReason::Termination, grace, &mut history).await;
                }
                () = self.worker.woken.notified(), if !is_busy => {}
                () = tokio::time::sleep(interval) => {}
            }
            self.enforce_limits(&mut history, &mut holds).await;
        };
        let (worker, shutdown) = (Arc::downgrade(&self.worker), self.shutdown.clone());
        self.reap(status.ok(), history).await;
        end_responses(&worker, &shutdown).await;
    }

    /// No more requests. Without a time, what is in flight has its own limits: a request's, and those
    /// of work after it. Twice that is only reached by work that keeps starting more.
    async fn retire(
        &mut self,
        reason: ShutdownReason,
        within: Option<Duration>,
        history: &mut History,
    ) {
        self.worker.stop_accepting();
        self.worker.close_idle_connections();
        let within = within.unwrap_or(self.limits.wall_clock * 2);
        if history.note_retiring(reason, Instant::now() + within) {
            self.send_command(&json!({ "retire": reason.event_name() }))
                .await;
        }
    }

    async fn send_command(&mut self, command: &serde_json::Value) {
        let line = format!("{command}\n");
        let write = self.stdin.write_all(line.as_bytes());
        // A worker that does not read its commands replies to no ping, and is found by that.
        _ = tokio::time::timeout(COMMAND_TIMEOUT, write).await;
    }

    /// What the process uses now, or used before where that cannot be read any more.
    fn measure(&self, before: Usage) -> Usage {
        let Some(usage) = self.child.id().and_then(usage::read) else {
            return before;
        };
        self.worker.function.metrics.worker_uses(before, usage);
        usage
    }

    fn sample(&self, history: &History) -> Sample {
        Sample {
            now: Instant::now(),
            usage: self.measure(history.usage),
            in_flight: self.worker.in_flight(),
            admitted: self.worker.activity.admitted(),
            oldest_request: self.worker.activity.oldest_request(),
            idle_for: self.worker.idle_for(),
            is_kept_warm: self.is_kept_warm(),
        }
    }

    /// As the settings are now.
    fn is_kept_warm(&self) -> bool {
        self.worker.is_kept_warm() && {
            let config = self.project.config::<FunctionsConfig>();
            config.is_enabled && config.min_workers > 0
        }
    }

    async fn enforce_limits(&mut self, history: &mut History, holds: &mut Holds) {
        let sample = self.sample(history);
        self.worker.abort_overdue_responses(sample.now);
        history.note_sample(&sample);
        let assessment = assess(history, &sample, &self.limits);
        let is_lagging = assessment.is_lagging;
        self.worker.is_lagging.store(is_lagging, Ordering::Relaxed);
        keep_project_open(
            &mut holds.warm_worker,
            assessment.holds_project,
            &self.project,
        );
        if assessment.closes_for_silence {
            self.worker.stop_accepting();
            history.note_closed_for_silence();
        }
        if assessment.sends_ping {
            let number = history.note_ping(&sample);
            self.send_command(&json!({ "ping": number })).await;
        }
        match assessment.action {
            Action::None => {}
            Action::Retire { reason, within } => self.retire(reason, within, history).await,
            Action::AskToExit => {
                history.note_asked_to_exit();
                self.send_command(&json!({ "exit": true })).await;
            }
            Action::Kill(reason) => self.kill(reason, history),
        }
    }

    fn kill(&mut self, reason: ShutdownReason, history: &mut History) {
        self.worker.stop_accepting();
        history.killed_for.get_or_insert(reason);
        // It may have exited just now.
        _ = self.child.start_kill();
    }

    fn handle_report(&self, report: Report, history: &mut History, holds: &mut Holds) {
        history.note_report(report, Instant::now());
        self.worker.activity.note_background_work(report.pending);
        keep_project_open(
            &mut holds.background_work,
            report.pending > 0,
            &self.project,
        );
    }

    /// Records how the worker ended, and notifies those who wait for it.
    async fn reap(mut self, status: Option<ExitStatus>, mut history: History) {
        let now = Instant::now();
        self.worker.stop_accepting();
        self.worker.close_idle_connections();
        drop(self.folder);
        tokio::time::sleep(LAST_REPORTS_DELAY).await;
        while let Ok(report) = self.reports.try_recv() {
            if report.pong.is_some() {
                history.report = report;
            }
        }
        let exit = classify(status, &history, now);
        let worker = self.worker;
        let explain = || worker.function.code.explain_error(&self.stderr.text());
        let record = ExitRecord::new(exit, status, &history, &self.limits, explain);
        let (level, details) = (record.level, record.details(&history));
        let log = &self.log;
        log.event(record.event, level, &record.message, &worker.id, &details);
        let metrics = &worker.function.metrics;
        metrics.worker_ended(record.reason, history.usage);
        // Before the exit is announced: then the sources of unreferenced functions are removed.
        drop(worker);
        self.exit.send_replace(Some(exit));
    }
}

/// Keeps the project open for as long as that is needed.
fn keep_project_open(held: &mut Option<KeepOpen>, is_needed: bool, project: &Project) {
    if is_needed {
        held.get_or_insert_with(|| project.keep_open());
    } else {
        *held = None;
    }
}

/// Waits until one of the two is cancelled.
async fn wait_for_either(shutdown: &CancellationToken, closed: &CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = closed.cancelled() => {}
    }
}

/// Ends responses whose worker has exited at their deadline, too: their clients may never read on.
async fn end_responses(worker: &Weak<Worker>, shutdown: &CancellationToken) {
    loop {
        {
            let Some(worker) = worker
                .upgrade()
                .filter(|worker| worker.has_responses_in_progress())
            else {
                return;
            };
            worker.abort_overdue_responses(Instant::now());
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(IDLE_SAMPLE_INTERVAL) => {}
        }
    }
}
