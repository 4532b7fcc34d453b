//! One process that serves one function over a unix socket.

mod console;
mod folder;
mod launch;
mod line;
mod monitor;
mod process;
mod usage;
mod wire;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::task::TaskTracker;

use crate::{catalog::Function, clock};

pub(crate) use launch::{BootFailure, Launch, start};
pub(crate) use line::{Line, Unsent};
pub(crate) use process::{Birth, Process};
pub(crate) use usage::Usage;

/// The script that runs before the user's.
pub(crate) const BOOTSTRAP: &str = include_str!("bootstrap.js");

/// A process that serves. It goes when it is told to, when nobody needs it, and when it breaks a
/// limit; its monitor alone decides.
pub(crate) struct Worker {
    /// What records and answers call it.
    pub(crate) id: String,
    pub(crate) function: Arc<Function>,
    socket: PathBuf,
    in_flight: AtomicUsize,
    /// How much work goes on after its answer, as the worker last told.
    pending: AtomicUsize,
    /// Since when open requests have their places, in the order in which they came.
    seated: Mutex<BTreeMap<u64, Instant>>,
    /// Answers that may still be on their way.
    answers: Mutex<Vec<Weak<dyn Answering>>>,
    /// How many requests there have been.
    admitted: AtomicU64,
    has_answered: AtomicBool,
    is_open: AtomicBool,
    is_lagging: AtomicBool,
    /// Whether it stays although nobody needs it.
    is_resident: AtomicBool,
    last_used: AtomicU64,
    /// Connections that wait for their next request.
    lines: Mutex<Vec<Line>>,
    orders: mpsc::UnboundedSender<Order>,
    /// Tells the monitor that there is work again.
    woken: Notify,
    /// Whether it goes after its first request.
    is_single: bool,
    /// Told when a place is free again.
    freed: Arc<Notify>,
    tasks: TaskTracker,
    ending: watch::Receiver<Option<Ending>>,
}

/// Why a worker has to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Cpu,
    Memory,
    WallClock,
    EarlyDrop,
    Termination,
}

impl Reason {
    /// As `beforeunload` names it.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::WallClock => "wall_clock",
            Self::EarlyDrop => "early_drop",
            Self::Termination => "termination",
        }
    }

    /// As records name it.
    fn record_name(self) -> &'static str {
        match self {
            Self::Cpu => "CPUTime",
            Self::Memory => "Memory",
            Self::WallClock => "WallClockTime",
            Self::EarlyDrop => "EarlyDrop",
            Self::Termination => "TerminationRequested",
        }
    }
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It went as it was told.
    Left,
    /// It was ended for a limit, or died of one.
    Limit(Reason),
    /// It died by itself, or somebody killed it; so long after it began to serve.
    Crashed { after: Duration },
}

#[derive(Debug)]
enum Order {
    /// Takes no more requests; whatever is open may finish within that time, or else within its own.
    Retire {
        reason: Reason,
        within: Option<Duration>,
    },
}

/// An answer on its way to a client who may never read on, and so never ask for more.
pub(crate) trait Answering: Send + Sync {
    /// Lets go of the worker if the time of the answer is over.
    fn look_at_time(&self, now: Instant);
}

impl Worker {
    /// Takes a place, unless the worker is about to go.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Option<Seat> {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let number = self.admitted.fetch_add(1, Ordering::SeqCst);
        self.seated().insert(number, Instant::now());
        let seat = Seat {
            worker: self.clone(),
            number,
        };
        // Checked after the place was taken: whoever closes looks at places afterwards.
        self.is_open().then(|| {
            self.woken.notify_one();
            seat
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::SeqCst)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    fn seated(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.seated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when the oldest open request has its place.
    fn oldest_since(&self) -> Option<Instant> {
        self.seated().values().next().copied()
    }

    /// Takes note of how much work goes on after its answer.
    fn note_pending(&self, pending: usize) {
        let before = self.pending.swap(pending, Ordering::SeqCst);
        if before > 0 && pending == 0 {
            self.note_use();
        }
    }

    fn note_use(&self) {
        self.last_used.store(clock::millis(), Ordering::Relaxed);
    }

    /// How long it has done nothing; nothing while a request is open, or work goes on after one.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let is_idle = self.in_flight() == 0 && self.pending.load(Ordering::SeqCst) == 0;
        is_idle.then(|| clock::since(self.last_used.load(Ordering::Relaxed)))
    }

    /// It stays although nobody needs it.
    pub(crate) fn settle_down(&self) {
        self.is_resident.store(true, Ordering::Relaxed);
    }

    /// An answer has begun.
    pub(crate) fn note_answer(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// Whether it is too busy to answer questions in time.
    pub(crate) fn is_lagging(&self) -> bool {
        self.is_lagging.load(Ordering::Relaxed)
    }

    pub(crate) fn is_resident(&self) -> bool {
        self.is_resident.load(Ordering::Relaxed)
    }

    /// No more requests; whatever is open may go on to its end, or its limit.
    pub(crate) fn retire(&self, reason: Reason) {
        self.close(reason, None);
    }

    /// No more requests, and an end to what is open within that time.
    pub(crate) fn end_within(&self, reason: Reason, within: Duration) {
        self.close(reason, Some(within));
    }

    fn close(&self, reason: Reason, within: Option<Duration>) {
        self.is_open.store(false, Ordering::SeqCst);
        // Nobody listens once it has gone.
        _ = self.orders.send(Order::Retire { reason, within });
    }

    /// Sees to it that the answer ends with its time.
    pub(crate) fn watch(&self, answer: Weak<dyn Answering>) {
        self.answers().push(answer);
    }

    fn answers(&self) -> MutexGuard<'_, Vec<Weak<dyn Answering>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether answers are on their way.
    fn has_answers(&self) -> bool {
        let mut answers = self.answers();
        answers.retain(|answer| answer.strong_count() > 0);
        !answers.is_empty()
    }

    /// Breaks off answers whose time is over, whether anybody reads them or not.
    fn look_at_answers(&self, now: Instant) {
        self.answers().retain(|answer| match answer.upgrade() {
            Some(answer) => {
                answer.look_at_time(now);
                true
            }
            None => false,
        });
    }

    /// How it ended, once it has.
    pub(crate) async fn ended(&self) -> Ending {
        let mut ending = self.ending.clone();
        let ended = ending.wait_for(Option::is_some).await.map(|ended| *ended);
        // A monitor that is gone without a word took its process along.
        ended.ok().flatten().unwrap_or(Ending::Left)
    }

    /// A connection that waits; those that were closed meanwhile are let go.
    fn free_line(&self) -> Option<Line> {
        loop {
            let last = {
                let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.pop()
            };
            let mut line = last?;
            if line.is_free() {
                return Some(line);
            }
        }
    }

    fn keep(&self, line: Line) {
        if self.is_open() {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(line);
        }
    }

    fn close_lines(&self) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.clear();
    }
}

/// A request's place at a worker. The worker stays while there is one.
pub(crate) struct Seat {
    worker: Arc<Worker>,
    number: u64,
}

impl Seat {
    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let worker = &self.worker;
        if worker.is_single {
            // Before the place is free, so that nobody takes it.
            worker.is_open.store(false, Ordering::SeqCst);
        }
        worker.note_use();
        worker.seated().remove(&self.number);
        worker.in_flight.fetch_sub(1, Ordering::SeqCst);
        if worker.is_single {
            worker.retire(Reason::EarlyDrop);
        }
        worker.woken.notify_one();
        worker.freed.notify_waiters();
    }
}
