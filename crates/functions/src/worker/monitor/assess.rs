//! Decides what to do about a worker (functions contract §9, §14.6). Values in, decision out: nothing
//! here reads a clock, a process or a socket.

use std::time::{Duration, Instant};

use crate::{
    config::Limits,
    usage::Usage,
    worker::{ShutdownReason, console::Report},
};

/// How often a busy worker is pinged.
const PING_INTERVAL: Duration = Duration::from_millis(500);
/// A worker that has not replied to a ping for so long gets no more requests, whatever it does.
const UNRESPONSIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// A worker that was busy for so long since the ping lags: another one serves requests sooner.
const LAG_THRESHOLD: Duration = Duration::from_millis(200);
/// A worker that is silent for so long lags even if the machine is busy and it is not.
const SILENCE_THRESHOLD: Duration = Duration::from_secs(1);
/// How many requests' CPU time a worker that replies to no ping may use up: all of them wait for
/// its end.
const MAX_BUDGETED_REQUESTS: u32 = 8;

/// A look at a worker: all that the assessment depends on, besides the history.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) now: Instant,
    pub(super) usage: Usage,
    pub(super) in_flight: usize,
    /// Requests admitted so far.
    pub(super) admitted: u64,
    /// Since when the oldest request in flight has been in flight.
    pub(super) oldest_request: Option<Instant>,
    /// `None` while a request is in flight, or work after one.
    pub(super) idle_for: Option<Duration>,
    /// Whether `min_workers` keeps it although it is idle.
    pub(super) is_kept_warm: bool,
}

/// What the monitor remembers of a worker between two samples.
#[derive(Debug)]
pub(super) struct History {
    pub(super) began: Instant,
    pub(super) usage: Usage,
    pub(super) report: Report,
    reported_at: Instant,
    /// The ping that has no reply yet.
    ping: Option<Ping>,
    last_ping: Instant,
    pings: u64,
    /// Whether it gets no more requests because it replied to no ping.
    is_closed_for_silence: bool,
    single_request: Option<SingleRequest>,
    pub(super) retiring: Option<Retiring>,
    pub(super) killed_for: Option<ShutdownReason>,
}

/// A ping, and the state of the worker when it was sent.
#[derive(Debug, Clone, Copy)]
struct Ping {
    at: Instant,
    cpu: Duration,
    in_flight: u32,
    admitted: u64,
}

/// The one request that all current work comes from.
#[derive(Debug, Clone, Copy)]
struct SingleRequest {
    /// Requests admitted so far, this one included.
    admitted: u64,
    /// CPU time of the worker when it began.
    cpu_before: Duration,
}

/// A worker that takes no more requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retiring {
    pub(super) reason: ShutdownReason,
    /// When it is killed.
    deadline: Instant,
    /// Whether it was asked to exit, because no request is in flight any more.
    pub(super) is_asked_to_exit: bool,
    /// Since when it has had nothing to do.
    free_since: Option<Instant>,
}

/// What to do about a worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Assessment {
    pub(super) action: Action,
    pub(super) is_lagging: bool,
    /// Whether it gets no more requests until it replies to a ping.
    pub(super) closes_for_silence: bool,
    pub(super) sends_ping: bool,
    /// Whether its project must stay open for it.
    pub(super) holds_project: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    None,
    /// No more requests. What is in flight has so long to finish, or else its own limits.
    Retire {
        reason: ShutdownReason,
        within: Option<Duration>,
    },
    /// Asks a retiring worker to exit.
    AskToExit,
    Kill(ShutdownReason),
}

impl History {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            usage: Usage::default(),
            report: Report::default(),
            reported_at: now,
            ping: None,
            last_ping: now,
            pings: 0,
            is_closed_for_silence: false,
            single_request: None,
            retiring: None,
            killed_for: None,
        }
    }

    pub(super) fn is_busy(&self, in_flight: usize) -> bool {
        in_flight > 0 || self.report.pending > 0
    }

    /// Updates what is measured across samples. Before every [`assess`].
    pub(super) fn note_sample(&mut self, sample: &Sample) {
        self.usage = sample.usage;
        let open = sample.in_flight + self.report.pending;
        let same = self
            .single_request
            .filter(|single| open > 0 && single.admitted == sample.admitted);
        let new = (open == 1).then_some(SingleRequest {
            admitted: sample.admitted,
            cpu_before: sample.usage.cpu,
        });
        self.single_request = same.or(new);
        if let Some(retiring) = &mut self.retiring {
            let since = retiring.free_since.unwrap_or(sample.now);
            retiring.free_since = sample.idle_for.map(|_| since);
        }
    }

    pub(super) fn note_report(&mut self, report: Report, now: Instant) {
        self.reported_at = now;
        if report.pong.is_some() {
            self.ping = None;
            self.report = report;
        } else {
            self.report.pending = report.pending;
            (self.report.oldest, self.report.newest) = (0, 0);
        }
    }

    /// The number of the ping that is sent now.
    pub(super) fn note_ping(&mut self, sample: &Sample) -> u64 {
        self.pings += 1;
        self.last_ping = sample.now;
        self.ping = Some(Ping {
            at: sample.now,
            cpu: sample.usage.cpu,
            in_flight: u32::try_from(sample.in_flight).unwrap_or(u32::MAX),
            admitted: sample.admitted,
        });
        self.pings
    }

    pub(super) fn note_closed_for_silence(&mut self) {
        self.is_closed_for_silence = true;
    }

    /// It retires from now on; a second reason can only bring the deadline forward. Returns whether
    /// it is the first.
    pub(super) fn note_retiring(&mut self, reason: ShutdownReason, deadline: Instant) -> bool {
        if let Some(retiring) = &mut self.retiring {
            retiring.deadline = retiring.deadline.min(deadline);
            return false;
        }
        self.retiring = Some(Retiring {
            reason,
            deadline,
            is_asked_to_exit: false,
            free_since: None,
        });
        true
    }

    pub(super) fn note_asked_to_exit(&mut self) {
        if let Some(retiring) = &mut self.retiring {
            retiring.is_asked_to_exit = true;
        }
    }

    /// CPU time of a single request. While several are in flight, it cannot be attributed to one.
    fn cpu_of_single_request(&self) -> Duration {
        self.single_request.map_or(Duration::ZERO, |single| {
            self.usage.cpu.saturating_sub(single.cpu_before)
        })
    }
}

/// Holds what a worker does against its limits.
pub(super) fn assess(history: &History, sample: &Sample, limits: &Limits) -> Assessment {
    let worker = Assessed {
        history,
        sample,
        limits,
    };
    let silence = worker.silence();
    let over_usage = worker
        .check_memory()
        .or_else(|| worker.check_silence(silence.as_ref()?))
        .or_else(|| worker.check_cpu());
    let sends_ping = over_usage.is_none() && worker.is_ping_due();
    let action = over_usage
        .or_else(|| worker.check_wall_clock())
        .or_else(|| worker.check_lifetime())
        .or_else(|| worker.check_idle())
        .or_else(|| worker.check_retirement());
    Assessment {
        action: action.unwrap_or(Action::None),
        is_lagging: silence.as_ref().is_some_and(Silence::is_lag),
        closes_for_silence: silence
            .is_some_and(|silence| silence.is_long() && silence.cpu >= limits.cpu / 2),
        sends_ping,
        holds_project: worker.is_kept_warm(),
    }
}

/// The time since a ping that has no reply.
struct Silence {
    duration: Duration,
    /// CPU time used meanwhile.
    cpu: Duration,
    /// CPU time that all requests meanwhile may use together.
    cpu_budget: Duration,
}

impl Silence {
    fn is_long(&self) -> bool {
        self.duration >= SILENCE_THRESHOLD
    }

    /// On a busy machine all workers are late; one that lags is busy itself, or waits for
    /// something.
    fn is_lag(&self) -> bool {
        self.duration >= LAG_THRESHOLD && self.cpu >= LAG_THRESHOLD || self.is_long()
    }
}

struct Assessed<'a> {
    history: &'a History,
    sample: &'a Sample,
    limits: &'a Limits,
}

impl Assessed<'_> {
    fn is_retiring(&self) -> bool {
        self.history.retiring.is_some()
    }

    /// Retires it, unless it retires already.
    fn retire(&self, reason: ShutdownReason, within: Option<Duration>) -> Option<Action> {
        (!self.is_retiring()).then_some(Action::Retire { reason, within })
    }

    fn silence(&self) -> Option<Silence> {
        let ping = self.history.ping?;
        // It may have worked for every request that was in flight meanwhile.
        let admitted = self.sample.admitted.saturating_sub(ping.admitted);
        let admitted = u32::try_from(admitted).unwrap_or(u32::MAX);
        let requests = ping.in_flight.saturating_add(admitted);
        let requests = requests.clamp(1, MAX_BUDGETED_REQUESTS);
        Some(Silence {
            duration: self.sample.now - ping.at,
            cpu: self.sample.usage.cpu.saturating_sub(ping.cpu),
            cpu_budget: self.limits.cpu.saturating_mul(requests),
        })
    }

    fn check_memory(&self) -> Option<Action> {
        let (used, limit) = (self.sample.usage.resident_bytes, self.limits.memory_bytes);
        if used >= limit {
            return Some(Action::Kill(ShutdownReason::Memory));
        }
        let is_close = used >= limit / 10 * 9;
        is_close.then(|| self.retire(ShutdownReason::Memory, None))?
    }

    fn check_silence(&self, silence: &Silence) -> Option<Action> {
        if silence.is_long() && silence.cpu >= silence.cpu_budget {
            return Some(Action::Kill(ShutdownReason::Cpu));
        }
        let is_unresponsive = silence.duration >= UNRESPONSIVE_TIMEOUT;
        is_unresponsive.then(|| self.retire(ShutdownReason::WallClock, None))?
    }

    fn check_cpu(&self) -> Option<Action> {
        let cpu = self.history.cpu_of_single_request();
        if cpu >= self.limits.cpu {
            return Some(Action::Kill(ShutdownReason::Cpu));
        }
        let is_half = cpu >= self.limits.cpu / 2;
        is_half.then(|| self.retire(ShutdownReason::Cpu, None))?
    }

    fn is_ping_due(&self) -> bool {
        self.history.is_busy(self.sample.in_flight)
            && self.history.ping.is_none()
            && self.sample.now - self.history.last_ping >= PING_INTERVAL
    }

    /// Requests have their own timeouts. Work after a response is ended here, but not while requests
    /// are in flight: those are not cut short for what another one left behind.
    fn check_wall_clock(&self) -> Option<Action> {
        let report = &self.history.report;
        let newest = Duration::from_millis(report.newest);
        let limit = self.limits.wall_clock;
        if report.pending > 0 && newest >= limit && self.sample.in_flight == 0 {
            return Some(Action::Kill(ShutdownReason::WallClock));
        }
        let is_close = self.oldest_work() >= Some(limit / 10 * 9);
        is_close.then(|| self.retire(ShutdownReason::WallClock, None))?
    }

    /// How long the oldest request, or work after one, has been going on.
    fn oldest_work(&self) -> Option<Duration> {
        let (sample, report) = (self.sample, &self.history.report);
        let request = sample.oldest_request.map(|since| sample.now - since);
        let since_report = sample.now - self.history.reported_at;
        let work = Duration::from_millis(report.oldest) + since_report;
        request.max((report.pending > 0).then_some(work))
    }

    fn check_lifetime(&self) -> Option<Action> {
        let lifetime = self.limits.worker_lifetime?;
        let age = self.sample.now - self.history.began;
        if age >= lifetime {
            return Some(Action::Kill(ShutdownReason::WallClock));
        }
        let is_half = age >= lifetime / 2;
        is_half.then(|| self.retire(ShutdownReason::WallClock, Some(lifetime / 2)))?
    }

    fn is_kept_warm(&self) -> bool {
        self.sample.is_kept_warm && !self.is_retiring()
    }

    fn check_idle(&self) -> Option<Action> {
        let is_idle = self.sample.idle_for >= Some(self.limits.idle);
        let is_unneeded = is_idle && !self.is_kept_warm();
        is_unneeded.then(|| self.retire(ShutdownReason::EarlyDrop, None))?
    }

    /// A retiring worker is asked to exit when no request is in flight, and killed at its deadline.
    fn check_retirement(&self) -> Option<Action> {
        let Some(retiring) = &self.history.retiring else {
            // It replied to a ping at last, after a long silence.
            let has_recovered = self.history.is_closed_for_silence && self.history.ping.is_none();
            let is_killed = self.history.killed_for.is_some();
            return (has_recovered && !is_killed).then_some(Action::Retire {
                reason: ShutdownReason::Cpu,
                within: None,
            });
        };
        let now = self.sample.now;
        let is_stuck = |since: Instant| now - since >= self.limits.grace;
        if now >= retiring.deadline || retiring.free_since.is_some_and(is_stuck) {
            return Some(Action::Kill(retiring.reason));
        }
        let is_due = !retiring.is_asked_to_exit && self.sample.in_flight == 0;
        is_due.then_some(Action::AskToExit)
    }
}

#[cfg(test)]
mod tests;
