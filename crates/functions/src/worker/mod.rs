//! One process that serves one function over a unix socket.

mod console;
mod folder;
mod launch;
mod line;
mod monitor;
mod process;
mod spawner;
mod usage;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::task::TaskTracker;

use crate::{catalog::Function, clock};

pub(crate) use launch::{Launch, start};
pub(crate) use line::{Line, Unsent};
pub(crate) use process::{Birth, Process};
pub(crate) use usage::Usage;

/// The script that runs before the user's.
pub(crate) const BOOTSTRAP: &str = include_str!("bootstrap.js");

/// How long work may go on after the answer of a worker that has but one request.
const SINGLE_GRACE: Duration = Duration::from_secs(400);

/// A process that serves. It goes when it is told to, when nobody needs it, and when it breaks a
/// limit; its monitor alone decides.
pub(crate) struct Worker {
    /// What records and answers call it.
    pub(crate) id: String,
    pub(crate) function: Arc<Function>,
    socket: PathBuf,
    in_flight: AtomicUsize,
    /// How many requests there have been.
    admitted: AtomicU64,
    is_open: AtomicBool,
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
    /// Takes no more requests; whatever is open has until then to finish.
    Retire { reason: Reason, within: Duration },
}

impl Worker {
    /// Takes a place, unless the worker is about to go.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Option<Seat> {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        self.admitted.fetch_add(1, Ordering::SeqCst);
        let seat = Seat(self.clone());
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

    /// How long nobody has used it; nothing while somebody does.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        (self.in_flight() == 0).then(|| clock::since(self.last_used.load(Ordering::Relaxed)))
    }

    /// No more requests; those that are open may finish within that time.
    pub(crate) fn retire(&self, reason: Reason, within: Duration) {
        self.is_open.store(false, Ordering::SeqCst);
        // Nobody listens once it has gone.
        _ = self.orders.send(Order::Retire { reason, within });
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
pub(crate) struct Seat(Arc<Worker>);

impl Seat {
    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let worker = &self.0;
        worker.last_used.store(clock::millis(), Ordering::Relaxed);
        worker.in_flight.fetch_sub(1, Ordering::SeqCst);
        worker.woken.notify_one();
        worker.freed.notify_waiters();
        if worker.is_single {
            worker.retire(Reason::EarlyDrop, SINGLE_GRACE);
        }
    }
}
