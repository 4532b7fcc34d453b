//! Decides which worker a request gets, and how long it waits for one. Values in, decision out:
//! nothing here starts a worker or reads a clock.

use std::time::{Duration, Instant};

/// Requests in flight at a worker, beyond which another one is started.
const TARGET_CONCURRENCY: usize = 16;

/// What a pool knows when a request asks for a worker.
#[derive(Debug, Clone, Default)]
pub(super) struct Situation {
    /// Workers that accept requests.
    pub(super) workers: usize,
    pub(super) least_busy: Option<Load>,
    /// Workers that are booting for the current generation.
    pub(super) booting: usize,
    /// Whether a worker of a new generation is booting.
    pub(super) is_replacing: bool,
    pub(super) max_workers: usize,
    /// Whether a worker serves one request at a time.
    pub(super) is_exclusive: bool,
    /// Whether the caller is a request in flight at a worker.
    pub(super) is_nested: bool,
    /// Whether the boot that this request waited for has failed.
    pub(super) has_boot_failed: bool,
    /// The rest of the delay after failed boots, and after crashes.
    pub(super) boot_backoff: Option<Duration>,
    pub(super) crash_backoff: Option<Duration>,
}

/// How busy a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Load {
    /// First: one that replies to pings comes before one that does not, whatever its load.
    pub(super) is_lagging: bool,
    pub(super) in_flight: usize,
}

/// What happens to a request that asks for a worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The least busy worker takes it; another one may have to be started for those after it.
    Assign { starts_another: bool },
    /// It waits for a worker that boots already.
    AwaitBoot,
    /// A worker is started, and it waits for that.
    StartAndAwaitBoot,
    /// It waits until a worker has finished a request.
    AwaitRelease,
    /// It waits for the end of the backoff.
    AwaitBackoff(Duration),
    /// The boot that it waited for has failed.
    FailWithBootError,
    /// The function failed to boot so often that it is not started again yet.
    FailBackingOff(Duration),
}

impl Situation {
    pub(super) fn decide(&self) -> Decision {
        let is_served = self.workers > 0;
        if let Some(decision) = self.assign() {
            return decision;
        }
        if self.has_boot_failed && !is_served {
            return Decision::FailWithBootError;
        }
        // Where no worker of the old generation is left, the new one serves.
        if self.booting > 0 || (self.is_replacing && !is_served) {
            return Decision::AwaitBoot;
        }
        match (self.boot_backoff, self.crash_backoff) {
            // A busy worker will be free again.
            (Some(_), _) if is_served => Decision::AwaitRelease,
            (Some(retry_after), _) => Decision::FailBackingOff(retry_after),
            (None, Some(left)) => Decision::AwaitBackoff(left),
            (None, None) if self.may_start() => Decision::StartAndAwaitBoot,
            (None, None) => Decision::AwaitRelease,
        }
    }

    /// The least busy worker, unless it serves one request at a time and has one.
    fn assign(&self) -> Option<Decision> {
        let load = self.least_busy?;
        let target = if self.is_exclusive {
            1
        } else {
            TARGET_CONCURRENCY
        };
        let is_full = load.in_flight >= target;
        let is_backing_off = self.boot_backoff.is_some() || self.crash_backoff.is_some();
        let starts_another = (is_full || load.is_lagging)
            && self.booting == 0
            && !is_backing_off
            && self.may_start();
        if !(is_full && self.is_exclusive) {
            return Some(Decision::Assign { starts_another });
        }
        starts_another.then_some(Decision::StartAndAwaitBoot)
    }

    /// A nested call may exceed max_workers: every worker may be waiting for such a call, and callers
    /// would deadlock.
    fn may_start(&self) -> bool {
        self.workers + self.booting < self.max_workers || self.is_nested
    }
}

/// A request that waits for a worker.
#[derive(Debug, Default)]
pub(super) struct QueuedRequest {
    /// The first boot that it waits for. It has its own timeout.
    pub(super) awaited_boot: Option<u64>,
    /// When it gives up, once it waits for anything else.
    deadline: Option<Instant>,
}

/// What a request waits for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WaitFor {
    /// The boot of that number.
    Boot(u64),
    Release,
    Backoff(Duration),
}

/// How a request goes on waiting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until the pool changes.
    Unbounded,
    /// Until the pool changes, or that instant.
    Until(Instant),
    /// It has waited long enough.
    GiveUp,
}

impl QueuedRequest {
    pub(super) fn next_wait(&mut self, what: &WaitFor, now: Instant, timeout: Duration) -> Wait {
        if let WaitFor::Boot(boot) = *what
            && self.awaited_boot.is_none_or(|first| first == boot)
        {
            self.awaited_boot = Some(boot);
            return Wait::Unbounded;
        }
        // A worker must be released first, or other requests took the one that was booted.
        let deadline = *self.deadline.get_or_insert(now + timeout);
        if now >= deadline {
            return Wait::GiveUp;
        }
        match what {
            WaitFor::Backoff(left) => Wait::Until(deadline.min(now + *left)),
            WaitFor::Boot(_) | WaitFor::Release => Wait::Until(deadline),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn load(in_flight: usize) -> Load {
        Load {
            is_lagging: false,
            in_flight,
        }
    }

    fn situation(workers: &[Load]) -> Situation {
        Situation {
            workers: workers.len(),
            least_busy: workers.iter().min().copied(),
            max_workers: 2,
            ..Situation::default()
        }
    }

    const ASSIGN: Decision = Decision::Assign {
        starts_another: false,
    };
    const ASSIGN_AND_START: Decision = Decision::Assign {
        starts_another: true,
    };

    #[test]
    fn a_worker_that_lags_is_the_last_choice() {
        let lagging = Load {
            is_lagging: true,
            in_flight: 0,
        };
        assert!(load(1) < load(3) && load(9) < lagging);
        assert_eq!(situation(&[load(3), load(1)]).decide(), ASSIGN);
        assert_eq!(situation(&[lagging, load(9)]).decide(), ASSIGN);
        assert_eq!(situation(&[lagging]).decide(), ASSIGN_AND_START);
    }

    #[test]
    fn a_full_worker_takes_requests_while_another_one_boots() {
        let full = load(TARGET_CONCURRENCY);
        assert_eq!(situation(&[full]).decide(), ASSIGN_AND_START);
        assert_eq!(situation(&[full, full]).decide(), ASSIGN);
        let mut booting = situation(&[full]);
        booting.booting = 1;
        assert_eq!(booting.decide(), ASSIGN);
        let mut failing = situation(&[full]);
        failing.crash_backoff = Some(SECOND);
        assert_eq!(failing.decide(), ASSIGN);
    }

    #[test]
    fn an_exclusive_worker_takes_one_request() {
        let exclusive = |workers: &[Load]| Situation {
            is_exclusive: true,
            ..situation(workers)
        };
        assert_eq!(exclusive(&[load(1), load(0)]).decide(), ASSIGN);
        assert_eq!(exclusive(&[load(1)]).decide(), Decision::StartAndAwaitBoot);
        let all_busy = exclusive(&[load(1), load(1)]);
        assert_eq!(all_busy.decide(), Decision::AwaitRelease);
        let nested = Situation {
            is_nested: true,
            ..all_busy
        };
        assert_eq!(nested.decide(), Decision::StartAndAwaitBoot);
    }

    #[test]
    fn without_a_worker_one_is_started_and_awaited() {
        assert_eq!(situation(&[]).decide(), Decision::StartAndAwaitBoot);
        let booting = Situation {
            booting: 1,
            ..situation(&[])
        };
        assert_eq!(booting.decide(), Decision::AwaitBoot);
        let replacing = Situation {
            is_replacing: true,
            ..situation(&[])
        };
        assert_eq!(replacing.decide(), Decision::AwaitBoot);
    }

    #[test]
    fn failures_reach_requests_only_where_no_worker_serves() {
        let failing = |workers: &[Load]| Situation {
            is_exclusive: true,
            has_boot_failed: true,
            boot_backoff: Some(SECOND),
            ..situation(workers)
        };
        assert_eq!(failing(&[]).decide(), Decision::FailWithBootError);
        assert_eq!(failing(&[load(1)]).decide(), Decision::AwaitRelease);
        let newcomer = Situation {
            has_boot_failed: false,
            ..failing(&[])
        };
        assert_eq!(newcomer.decide(), Decision::FailBackingOff(SECOND));
    }

    #[test]
    fn requests_wait_while_workers_crash() {
        let crashing = Situation {
            crash_backoff: Some(SECOND),
            ..situation(&[])
        };
        assert_eq!(crashing.decide(), Decision::AwaitBackoff(SECOND));
    }

    #[test]
    fn only_the_first_boot_is_waited_for_without_a_deadline() {
        let now = Instant::now();
        let mut request = QueuedRequest::default();
        let mut wait = |what, at| request.next_wait(&what, at, SECOND * 10);

        assert_eq!(wait(WaitFor::Boot(4), now), Wait::Unbounded);
        let later = now + SECOND * 60;
        assert_eq!(wait(WaitFor::Boot(4), later), Wait::Unbounded);
        let deadline = later + SECOND * 10;
        assert_eq!(wait(WaitFor::Boot(5), later), Wait::Until(deadline));
        let backoff = WaitFor::Backoff(SECOND);
        assert_eq!(wait(backoff, later), Wait::Until(later + SECOND));
        let backoff = WaitFor::Backoff(SECOND * 30);
        assert_eq!(wait(backoff, later), Wait::Until(deadline));
        assert_eq!(wait(WaitFor::Release, deadline), Wait::GiveUp);
    }
}
