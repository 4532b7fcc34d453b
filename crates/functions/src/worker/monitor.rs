//! Watches one worker from its first request to its end, and keeps it within its limits (functions
//! contract §9, §14.6). Time is measured here and not in the worker.

use std::{
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    sync::{Arc, Weak, atomic::Ordering},
    time::{Duration, Instant},
};

use plinth_log::Level;
use plinth_project::{Project, StayOpen};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin},
    sync::{OwnedSemaphorePermit, mpsc, watch},
};
use tokio_util::sync::CancellationToken;

use super::{
    Ending, Order, Reason, Worker,
    console::{Report, Words},
    folder::WorkerFolder,
    usage::{self, Usage},
};
use crate::{
    config::{FunctionsConfig, Limits},
    record::Journal,
};

/// How often a worker that has work is looked at, and one that has none.
const BUSY: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(1);
/// How often it is asked whether it listens.
const PING: Duration = Duration::from_millis(500);
/// Who has not answered for so long gets no more requests, whatever it is busy with.
const DEAF: Duration = Duration::from_secs(10);
/// Beyond this, others are better served elsewhere.
const LAG: Duration = Duration::from_millis(200);
/// Nobody is late by so much for others' sake.
const SILENT: Duration = Duration::from_secs(1);
/// Requests whose time one that does not answer may use up: all of them wait for its end.
const MOST_AT_ONCE: u32 = 8;
/// An order that cannot be written is not waited for: the worker may never read again.
const ORDER_PATIENCE: Duration = Duration::from_millis(200);

/// The one owner of the process.
pub(super) struct Monitor {
    pub(super) worker: Arc<Worker>,
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) folder: WorkerFolder,
    pub(super) words: Arc<Words>,
    pub(super) limits: Limits,
    pub(super) journal: Arc<Journal>,
    pub(super) project: Project,
    pub(super) end: CancellationToken,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) reports: mpsc::UnboundedReceiver<Report>,
    pub(super) ended: watch::Sender<Option<Ending>>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// What is known of the worker so far.
struct Watched {
    began: Instant,
    usage: Usage,
    report: Report,
    /// When the report came.
    heard: Instant,
    /// Held while work goes on after answers: nobody else may be using the project.
    stay: Option<StayOpen>,
    /// Held while it stays although nobody needs it.
    home: Option<StayOpen>,
    /// The question that waits for its answer.
    asked: Option<Asked>,
    last_asked: Instant,
    questions: u64,
    /// The request from which everything that goes on comes: how many there had been with it, and
    /// the processor's time then.
    alone: Option<(u64, Duration)>,
    retiring: Option<Retiring>,
    killed_for: Option<Reason>,
}

/// A question, and how things were when it was asked.
#[derive(Clone, Copy)]
struct Asked {
    at: Instant,
    cpu: Duration,
    /// Requests.
    open: u32,
    admitted: u64,
}

#[derive(Clone, Copy)]
struct Retiring {
    reason: Reason,
    until: Instant,
    /// Whether it was told to go, because no request is open any more.
    is_leaving: bool,
    /// Since when it has had nothing to wait for.
    free_since: Option<Instant>,
}

impl Monitor {
    pub(super) async fn watch(mut self) {
        let now = Instant::now();
        let mut watched = Watched {
            began: now,
            usage: Usage::default(),
            report: Report::default(),
            heard: now,
            stay: None,
            home: None,
            asked: None,
            last_asked: now,
            questions: 0,
            alone: None,
            retiring: None,
            killed_for: None,
        };
        // One that dies before anybody looks has used something, too.
        self.measure(&mut watched);
        // Those who retire already hear of it too, and may only hurry.
        let mut is_over = false;
        let status = loop {
            let is_busy = self.worker.in_flight() > 0
                || watched.report.pending > 0
                || watched.retiring.is_some();
            let pause = if is_busy {
                BUSY
            } else {
                IDLE.min(self.limits.idle)
            };
            tokio::select! {
                status = self.child.wait() => break status,
                Some(order) = self.orders.recv() => self.obey(order, &mut watched).await,
                Some(report) = self.reports.recv() => self.take(report, &mut watched),
                () = is_cancelled(&self.end, self.project.closed()), if !is_over => {
                    is_over = true;
                    let grace = Some(self.limits.grace);
                    self.retire(Reason::Termination, grace, &mut watched).await;
                }
                () = self.worker.woken.notified(), if !is_busy => {}
                () = tokio::time::sleep(pause) => {}
            }
            self.look(&mut watched).await;
        };
        let (worker, end) = (Arc::downgrade(&self.worker), self.end.clone());
        self.bury(status.ok(), watched).await;
        end_answers(&worker, &end).await;
    }

    async fn obey(&mut self, order: Order, watched: &mut Watched) {
        let Order::Retire { reason, within } = order;
        self.retire(reason, within, watched).await;
    }

    /// No more requests. A second reason may only hurry it.
    ///
    /// Without a time, everything that is open has its own: a request, and what it leaves behind. Twice
    /// that is only reached by work that goes on giving itself more.
    async fn retire(&mut self, reason: Reason, within: Option<Duration>, watched: &mut Watched) {
        self.worker.is_open.store(false, Ordering::SeqCst);
        self.worker.close_lines();
        let until = Instant::now() + within.unwrap_or(self.limits.wall_clock * 2);
        match &mut watched.retiring {
            Some(retiring) => retiring.until = retiring.until.min(until),
            None => {
                watched.retiring = Some(Retiring {
                    reason,
                    until,
                    is_leaving: false,
                    free_since: None,
                });
                self.order(&json!({ "retire": reason.name() })).await;
            }
        }
    }

    async fn order(&mut self, order: &serde_json::Value) {
        let line = format!("{order}\n");
        let write = self.stdin.write_all(line.as_bytes());
        // One that does not read is found by its silence.
        _ = tokio::time::timeout(ORDER_PATIENCE, write).await;
    }

    fn measure(&self, watched: &mut Watched) {
        if let Some(usage) = self.child.id().and_then(usage::read) {
            let before = std::mem::replace(&mut watched.usage, usage);
            self.worker.function.numbers.worker_uses(before, usage);
        }
    }

    /// Holds what the worker does against its limits.
    async fn look(&mut self, watched: &mut Watched) {
        self.measure(watched);
        let now = Instant::now();
        self.worker.look_at_answers(now);
        let most = self.limits.memory_bytes;
        let used = watched.usage.resident_bytes;
        if used >= most {
            return self.kill(Reason::Memory, watched);
        }
        if used >= most / 10 * 9 && watched.retiring.is_none() {
            return self.retire(Reason::Memory, None, watched).await;
        }
        let silence = watched.asked.map(|asked| now - asked.at);
        let burnt = watched.asked.map_or(Duration::ZERO, |asked| {
            watched.usage.cpu.saturating_sub(asked.cpu)
        });
        // On a busy machine everybody is late; this one is busy itself, or waits for something.
        let is_lagging =
            silence.is_some_and(|silence| silence >= LAG && burnt >= LAG || silence >= SILENT);
        self.worker.is_lagging.store(is_lagging, Ordering::Relaxed);
        if let (Some(asked), Some(silence)) = (watched.asked, silence) {
            let is_silent = silence >= SILENT;
            // Whoever has not answered may have worked for all that were open meanwhile.
            let admitted = self.worker.admitted.load(Ordering::SeqCst);
            let since = u32::try_from(admitted.saturating_sub(asked.admitted)).unwrap_or(u32::MAX);
            let open = asked.open.saturating_add(since).clamp(1, MOST_AT_ONCE);
            let budget = self.limits.cpu.saturating_mul(open);
            if is_silent && burnt >= budget {
                return self.kill(Reason::Cpu, watched);
            }
            if silence >= DEAF && watched.retiring.is_none() {
                return self.retire(Reason::WallClock, None, watched).await;
            }
            if is_silent && burnt >= self.limits.cpu / 2 {
                // Others must not wait for one that does not listen.
                self.worker.is_open.store(false, Ordering::SeqCst);
            }
        }
        let burnt = self.burnt_by_one(watched);
        if burnt >= self.limits.cpu {
            return self.kill(Reason::Cpu, watched);
        }
        if burnt >= self.limits.cpu / 2 && watched.retiring.is_none() {
            return self.retire(Reason::Cpu, None, watched).await;
        }
        let is_busy = self.worker.in_flight() > 0 || watched.report.pending > 0;
        if is_busy && watched.asked.is_none() && now - watched.last_asked >= PING {
            watched.questions += 1;
            watched.asked = Some(Asked {
                at: now,
                cpu: watched.usage.cpu,
                open: u32::try_from(self.worker.in_flight()).unwrap_or(u32::MAX),
                admitted: self.worker.admitted.load(Ordering::SeqCst),
            });
            watched.last_asked = now;
            let number = watched.questions;
            self.order(&json!({ "ping": number })).await;
        }
        if self.has_only_late_work(watched) {
            return self.kill(Reason::WallClock, watched);
        }
        if watched.retiring.is_none() && self.is_nearly_late(now, watched) {
            return self.retire(Reason::WallClock, None, watched).await;
        }
        if let Some(lifetime) = self.limits.worker_lifetime {
            let age = now - watched.began;
            if age >= lifetime {
                return self.kill(Reason::WallClock, watched);
            }
            if age >= lifetime / 2 && watched.retiring.is_none() {
                let left = Some(lifetime / 2);
                return self.retire(Reason::WallClock, left, watched).await;
            }
        }
        let stays = watched.retiring.is_none() && self.stays();
        let home = watched.home.take();
        watched.home = stays.then(|| home.unwrap_or_else(|| self.project.stay_open()));
        let idle_for = self.worker.idle_for().filter(|_| !stays);
        if watched.retiring.is_none() && idle_for.is_some_and(|time| time >= self.limits.idle) {
            return self.retire(Reason::EarlyDrop, None, watched).await;
        }
        self.see_off(now, watched).await;
    }

    /// Whether it stays although nobody needs it, as things are now.
    fn stays(&self) -> bool {
        self.worker.is_resident() && {
            let config = self.project.config::<FunctionsConfig>();
            config.is_enabled && config.min_workers > 0
        }
    }

    /// Whether all that goes on has had its time. Requests have theirs elsewhere, and are not cut
    /// short for work that another one left behind.
    fn has_only_late_work(&self, watched: &Watched) -> bool {
        let newest = Duration::from_millis(watched.report.newest);
        watched.report.pending > 0
            && newest >= self.limits.wall_clock
            && self.worker.in_flight() == 0
    }

    /// Whether a request, or work after one, has had nine tenths of its time.
    fn is_nearly_late(&self, now: Instant, watched: &Watched) -> bool {
        let request = self.worker.oldest_since().map(|since| now - since);
        let told = Duration::from_millis(watched.report.oldest) + (now - watched.heard);
        let work = (watched.report.pending > 0).then_some(told);
        let oldest = request.max(work);
        oldest.is_some_and(|time| time >= self.limits.wall_clock / 10 * 9)
    }

    /// The processor's time that a single request has used. Where several are open at once, nobody
    /// can tell whose it was.
    fn burnt_by_one(&self, watched: &mut Watched) -> Duration {
        let admitted = self.worker.admitted.load(Ordering::SeqCst);
        let open = self.worker.in_flight() + watched.report.pending;
        let same = watched
            .alone
            .filter(|(with, _)| open > 0 && *with == admitted);
        let new = (open == 1).then_some((admitted, watched.usage.cpu));
        watched.alone = same.or(new);
        watched.alone.map_or(Duration::ZERO, |(_, before)| {
            watched.usage.cpu.saturating_sub(before)
        })
    }

    /// One that retires is told to go when nothing is open any more, and made to when it is time.
    async fn see_off(&mut self, now: Instant, watched: &mut Watched) {
        let Some(retiring) = &mut watched.retiring else {
            // Its answers stopped, and then came again.
            if !self.worker.is_open() && watched.asked.is_none() && watched.killed_for.is_none() {
                self.retire(Reason::Cpu, None, watched).await;
            }
            return;
        };
        let is_free = self.worker.idle_for().is_some();
        let free_since = is_free.then(|| retiring.free_since.unwrap_or(now));
        retiring.free_since = free_since;
        let is_stuck = free_since.is_some_and(|since| now - since >= self.limits.grace);
        if now >= retiring.until || is_stuck {
            let reason = retiring.reason;
            return self.kill(reason, watched);
        }
        if !retiring.is_leaving && self.worker.in_flight() == 0 {
            retiring.is_leaving = true;
            self.order(&json!({ "leave": true })).await;
        }
    }

    fn kill(&mut self, reason: Reason, watched: &mut Watched) {
        self.worker.is_open.store(false, Ordering::SeqCst);
        watched.killed_for.get_or_insert(reason);
        // It may have gone just now.
        _ = self.child.start_kill();
    }

    async fn bury(self, status: Option<ExitStatus>, mut watched: Watched) {
        let Self {
            worker,
            journal,
            words,
            ended,
            folder,
            limits,
            mut reports,
            ..
        } = self;
        worker.is_open.store(false, Ordering::SeqCst);
        worker.close_lines();
        drop(folder);
        // What it said last is still on its way.
        tokio::time::sleep(Duration::from_millis(10)).await;
        while let Ok(report) = reports.try_recv() {
            if report.pong.is_some() {
                watched.report = report;
            }
        }
        let words = words.text();
        let ending = ending(status, &watched);
        let cpu = u64::try_from(watched.usage.cpu.as_millis()).unwrap_or(u64::MAX);
        let memory = json!({
            "total": watched.usage.resident_bytes,
            "heap": watched.report.heap,
            "external": watched.report.external,
        });
        let details = |name, value| {
            [
                (name, value),
                ("cpu_time_used", cpu.into()),
                ("memory_used", memory.clone()),
            ]
        };
        let kind = match ending {
            Ending::Left => {
                let reason = watched.retiring.map_or("EventLoopCompleted", |retiring| {
                    retiring.reason.record_name()
                });
                journal.event(
                    "Shutdown",
                    Level::Info,
                    "shutdown",
                    &worker.id,
                    &details("reason", reason.into()),
                );
                "left"
            }
            Ending::Limit(reason) => {
                let told = match reason {
                    Reason::Memory => {
                        format!("Memory limit of {} MiB exceeded", limits.memory_bytes >> 20)
                    }
                    Reason::Cpu => {
                        format!("CPU time limit of {} s exceeded", limits.cpu.as_secs_f32())
                    }
                    Reason::WallClock => "Wall clock time limit reached".to_owned(),
                    Reason::EarlyDrop | Reason::Termination => "It did not end in time".to_owned(),
                };
                let details = details("reason", reason.record_name().into());
                journal.event("Shutdown", Level::Error, &told, &worker.id, &details);
                reason.name()
            }
            Ending::Crashed { .. } => {
                let how =
                    status.map_or_else(|| "it was lost".to_owned(), |status| status.to_string());
                let told = format!("The function's process ended by itself ({how})");
                let exception = worker.function.code.explain(&words).into();
                journal.event(
                    "UncaughtException",
                    Level::Error,
                    &told,
                    &worker.id,
                    &details("exception", exception),
                );
                "crashed"
            }
        };
        let reason = watched.killed_for.map_or(kind, Reason::name);
        let numbers = &worker.function.numbers;
        numbers.worker_ended(reason, watched.usage);
        // Whoever hears of the end may look for functions that nobody uses any more.
        drop(worker);
        ended.send_replace(Some(ending));
    }

    fn take(&self, report: Report, watched: &mut Watched) {
        let pending = report.pending;
        watched.heard = Instant::now();
        if report.pong.is_some() {
            watched.asked = None;
            watched.report = report;
        } else {
            watched.report.pending = pending;
            (watched.report.oldest, watched.report.newest) = (0, 0);
        }
        self.worker.note_pending(pending);
        match pending {
            0 => watched.stay = None,
            _ => {
                let project = &self.project;
                watched.stay.get_or_insert_with(|| project.stay_open());
            }
        }
    }
}

fn ending(status: Option<ExitStatus>, watched: &Watched) -> Ending {
    let is_limit = |reason| !matches!(reason, Reason::EarlyDrop | Reason::Termination);
    if let Some(reason) = watched.killed_for {
        return match is_limit(reason) {
            true => Ending::Limit(reason),
            false => Ending::Left,
        };
    }
    if watched.retiring.is_some_and(|retiring| retiring.is_leaving) {
        return Ending::Left;
    }
    // V8 ends the process itself when its heap is full.
    let signal = status.and_then(|status| status.signal());
    let is_trap = matches!(signal, Some(libc::SIGTRAP | libc::SIGABRT | libc::SIGILL))
        || status.and_then(|status| status.code()) == Some(133);
    match is_trap {
        true => Ending::Limit(Reason::Memory),
        false => Ending::Crashed {
            after: watched.began.elapsed(),
        },
    }
}

/// One of the two.
async fn is_cancelled(end: &CancellationToken, closed: &CancellationToken) {
    tokio::select! {
        () = end.cancelled() => {}
        () = closed.cancelled() => {}
    }
}

/// Answers whose worker has gone end with their time, too: their clients may never read on.
async fn end_answers(worker: &Weak<Worker>, end: &CancellationToken) {
    loop {
        {
            let Some(worker) = worker.upgrade().filter(|worker| worker.has_answers()) else {
                return;
            };
            worker.look_at_answers(Instant::now());
        }
        tokio::select! {
            () = end.cancelled() => return,
            () = tokio::time::sleep(IDLE) => {}
        }
    }
}
