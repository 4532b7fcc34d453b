//! One process that serves one function over a unix socket.

mod activity;
mod connection;
mod console;
mod folder;
mod launch;
mod monitor;
mod permit;
mod process;
mod stream;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::task::TaskTracker;

use self::activity::Activity;
pub(crate) use self::{
    connection::{Connection, SendError},
    launch::{BootFailure, Launch, start},
    permit::RequestPermit,
    process::{Process, ProcessSpec},
};
use crate::catalog::Function;

/// The script that runs before the user's.
pub(crate) const BOOTSTRAP: &str = include_str!("bootstrap.js");

/// A process that serves. It retires on request, when it is idle, and when it exceeds a limit;
/// its monitor alone ends it.
pub(crate) struct Worker {
    /// The execution id of log records and response headers.
    pub(crate) id: String,
    pub(crate) function: Arc<Function>,
    socket: PathBuf,
    activity: Activity,
    /// Responses whose bodies may still be streaming.
    responses: Mutex<Vec<Weak<dyn ResponseInProgress>>>,
    /// Whether it accepts requests.
    is_open: AtomicBool,
    is_lagging: AtomicBool,
    /// Whether `min_workers` keeps it although it is idle.
    is_kept_warm: AtomicBool,
    idle_connections: Mutex<Vec<Connection>>,
    retire_orders: mpsc::UnboundedSender<RetireOrder>,
    /// Notifies the monitor that requests began or ended.
    woken: Notify,
    /// Whether it exits after its first request.
    is_oneshot: bool,
    /// Notified when a request has left the worker.
    released: Arc<Notify>,
    tasks: TaskTracker,
    exit: watch::Receiver<Option<WorkerExit>>,
}

/// What a launch hands to a new worker.
struct WorkerParts {
    id: String,
    function: Arc<Function>,
    socket: PathBuf,
    connection: Connection,
    retire_orders: mpsc::UnboundedSender<RetireOrder>,
    is_oneshot: bool,
    released: Arc<Notify>,
    tasks: TaskTracker,
    exit: watch::Receiver<Option<WorkerExit>>,
}

/// Why a worker has to exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShutdownReason {
    Cpu,
    Memory,
    WallClock,
    EarlyDrop,
    Termination,
}

impl ShutdownReason {
    /// The name in `beforeunload` events and metrics.
    fn event_name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::WallClock => "wall_clock",
            Self::EarlyDrop => "early_drop",
            Self::Termination => "termination",
        }
    }

    /// The name in log records.
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
pub(crate) enum WorkerExit {
    /// It was asked to exit.
    Requested,
    /// It was killed for a limit, or died of one.
    LimitExceeded(ShutdownReason),
    /// It exited unasked, or something else killed it.
    Crashed { uptime: Duration },
}

/// Accept no more requests. What is in flight has so long to finish, or else its own limits.
#[derive(Debug)]
struct RetireOrder {
    reason: ShutdownReason,
    within: Option<Duration>,
}

/// A response body that is streaming to a client, which may never read on.
pub(crate) trait ResponseInProgress: Send + Sync {
    /// Aborts the response and releases the worker if it is past its deadline.
    fn abort_if_overdue(&self, now: Instant);
}

impl Worker {
    fn new(parts: WorkerParts) -> Self {
        Self {
            id: parts.id,
            function: parts.function,
            socket: parts.socket,
            activity: Activity::new(),
            responses: Mutex::default(),
            is_open: AtomicBool::new(true),
            is_lagging: AtomicBool::new(false),
            is_kept_warm: AtomicBool::new(false),
            idle_connections: Mutex::new(vec![parts.connection]),
            retire_orders: parts.retire_orders,
            woken: Notify::new(),
            is_oneshot: parts.is_oneshot,
            released: parts.released,
            tasks: parts.tasks,
            exit: parts.exit,
        }
    }

    /// Whether it accepts requests.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::SeqCst)
    }

    fn stop_accepting(&self) {
        self.is_open.store(false, Ordering::SeqCst);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.activity.in_flight()
    }

    /// `None` while a request is in flight, or work after one.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        self.activity.idle_for()
    }

    /// A response has begun.
    pub(crate) fn note_response(&self) {
        self.activity.note_response();
    }

    pub(crate) fn has_responded(&self) -> bool {
        self.activity.has_responded()
    }

    /// Whether it is too busy to reply to pings in time.
    pub(crate) fn is_lagging(&self) -> bool {
        self.is_lagging.load(Ordering::Relaxed)
    }

    /// Keeps it although it is idle.
    pub(crate) fn keep_warm(&self) {
        self.is_kept_warm.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_kept_warm(&self) -> bool {
        self.is_kept_warm.load(Ordering::Relaxed)
    }

    /// No more requests; what is in flight may finish within its own limits.
    pub(crate) fn retire(&self, reason: ShutdownReason) {
        self.order_to_retire(reason, None);
    }

    /// No more requests, and so long for what is in flight.
    pub(crate) fn retire_within(&self, reason: ShutdownReason, within: Duration) {
        self.order_to_retire(reason, Some(within));
    }

    fn order_to_retire(&self, reason: ShutdownReason, within: Option<Duration>) {
        self.stop_accepting();
        // The monitor ends with the process.
        _ = self.retire_orders.send(RetireOrder { reason, within });
    }

    /// Aborts the response at its deadline, whether it is read or not.
    pub(crate) fn track_response(&self, response: Weak<dyn ResponseInProgress>) {
        self.responses().push(response);
    }

    fn responses(&self) -> MutexGuard<'_, Vec<Weak<dyn ResponseInProgress>>> {
        self.responses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn has_responses_in_progress(&self) -> bool {
        let mut responses = self.responses();
        responses.retain(|response| response.strong_count() > 0);
        !responses.is_empty()
    }

    fn abort_overdue_responses(&self, now: Instant) {
        self.responses()
            .retain(|response| match response.upgrade() {
                Some(response) => {
                    response.abort_if_overdue(now);
                    true
                }
                None => false,
            });
    }

    /// Waits until it has exited.
    pub(crate) async fn exited(&self) -> WorkerExit {
        let mut exit = self.exit.clone();
        let exited = exit.wait_for(Option::is_some).await.map(|exit| *exit);
        // A monitor that ended without a report has dropped, and so killed, its process.
        exited.ok().flatten().unwrap_or(WorkerExit::Requested)
    }

    fn idle_connections(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle_connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle connection. Those that were closed meanwhile are dropped.
    fn take_idle_connection(&self) -> Option<Connection> {
        loop {
            // Not locked while the connection is polled.
            let last = self.idle_connections().pop();
            let mut connection = last?;
            if connection.is_idle() {
                return Some(connection);
            }
        }
    }

    fn keep_idle_connection(&self, connection: Connection) {
        if self.is_open() {
            self.idle_connections().push(connection);
        }
    }

    fn close_idle_connections(&self) {
        self.idle_connections().clear();
    }
}
