//! What a pool keeps under its lock.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Generation,
    admission::{Load, Situation},
    backoff::{Backoff, FAILURES_BEFORE_BACKOFF, MAX_BOOT_BACKOFF, MAX_CRASH_BACKOFF},
};
use crate::{
    config::Policy,
    error::FunctionError,
    worker::{Worker, WorkerExit},
};

/// A worker that crashes sooner than this, without a response, counts as a failure of the function.
const EARLY_CRASH: Duration = Duration::from_secs(10);

pub(super) struct State {
    pub(super) generation: Generation,
    pub(super) workers: Vec<Arc<Worker>>,
    /// Workers of this generation that are booting.
    pub(super) booting: usize,
    /// The generation whose first worker is booting, and the one to follow it.
    pub(super) replacement: Option<Generation>,
    pub(super) next_replacement: Option<Generation>,
    /// Boots so far, and the number and error of the last one that failed.
    pub(super) boots: u64,
    last_failure: Option<(u64, FunctionError)>,
    boot_backoff: Backoff,
    /// After workers that crashed before they had responded to anything.
    crash_backoff: Backoff,
    /// A generation that failed to boot for no fault of its own, and when it is tried again.
    postponed: Option<(Generation, Backoff)>,
    /// Whether a worker crashed or exceeded a limit and was not replaced yet.
    pub(super) has_lost_worker: bool,
    pub(super) last_request: Instant,
    /// Whether the function or its project is gone.
    pub(super) is_closed: bool,
}

impl State {
    pub(super) fn new(generation: Generation) -> Self {
        Self {
            generation,
            workers: Vec::new(),
            booting: 0,
            replacement: None,
            next_replacement: None,
            boots: 0,
            last_failure: None,
            boot_backoff: Backoff::default(),
            crash_backoff: Backoff::default(),
            postponed: None,
            has_lost_worker: false,
            last_request: Instant::now(),
            is_closed: false,
        }
    }

    /// The worker that is the least busy of those that accept requests. Others are removed.
    pub(super) fn least_busy(&mut self) -> Option<Arc<Worker>> {
        self.workers.retain(|worker| worker.is_open());
        let least_busy = self.workers.iter().min_by_key(|worker| load(worker));
        least_busy.cloned()
    }

    /// For a request that waited for the boot of that number, if any.
    pub(super) fn situation(
        &self,
        least_busy: Option<&Arc<Worker>>,
        awaited_boot: Option<u64>,
        is_nested: bool,
        now: Instant,
    ) -> Situation {
        let failure = self.last_failure.as_ref().map(|(boot, _)| *boot);
        let config = &self.generation.config;
        Situation {
            workers: self.workers.len(),
            least_busy: least_busy.map(load),
            booting: self.booting,
            is_replacing: self.replacement.is_some(),
            max_workers: config.max_workers,
            is_exclusive: config.policy != Policy::PerWorker,
            is_nested,
            has_boot_failed: awaited_boot.is_some_and(|boot| failure >= Some(boot)),
            boot_backoff: self.boot_backoff.remaining(now),
            crash_backoff: self.crash_backoff.remaining(now),
        }
    }

    /// Whether a worker accepts requests.
    pub(super) fn is_served(&self) -> bool {
        self.workers.iter().any(|worker| worker.is_open())
    }

    /// Whether there is a worker, or will be.
    pub(super) fn is_active(&self) -> bool {
        self.booting > 0 || self.replacement.is_some() || self.is_served()
    }

    /// Switches to another generation, which has no failures yet.
    pub(super) fn switch_to(&mut self, generation: Generation) {
        self.generation = generation;
        self.last_failure = None;
        self.boot_backoff = Backoff::default();
        self.crash_backoff = Backoff::default();
        self.postponed = None;
        self.has_lost_worker = false;
    }

    /// A worker has booted. The first `min_workers` are kept warm.
    pub(super) fn add_worker(&mut self, worker: Arc<Worker>) {
        self.workers.retain(|worker| worker.is_open());
        if !self.is_closed && self.workers.len() < self.generation.config.min_workers {
            worker.keep_warm();
        }
        self.workers.push(worker);
    }

    /// A worker has exited.
    pub(super) fn note_exit(&mut self, worker: &Arc<Worker>, exit: WorkerExit, now: Instant) {
        self.workers.retain(|known| !Arc::ptr_eq(known, worker));
        // How an old version ends says nothing about the one that serves now.
        if !Arc::ptr_eq(&worker.function, &self.generation.function) {
            return;
        }
        self.has_lost_worker |= exit != WorkerExit::Requested;
        self.boot_backoff = Backoff::default();
        if is_early_crash(exit, worker.has_responded()) {
            let longest = MAX_CRASH_BACKOFF;
            self.crash_backoff
                .add_failure(FAILURES_BEFORE_BACKOFF, longest, now);
        } else {
            self.crash_backoff = Backoff::default();
        }
    }

    /// The boot of that number has failed.
    pub(super) fn note_boot_failure(&mut self, boot: u64, error: FunctionError, now: Instant) {
        let is_boot_error = matches!(error, FunctionError::Boot { .. });
        self.last_failure = Some((boot, error));
        if is_boot_error {
            let longest = MAX_BOOT_BACKOFF;
            self.boot_backoff
                .add_failure(FAILURES_BEFORE_BACKOFF, longest, now);
        }
    }

    /// Why the last boot failed.
    pub(super) fn boot_error(&self) -> FunctionError {
        let error = self.last_failure.as_ref().map(|(_, error)| error.clone());
        error.unwrap_or(FunctionError::NoCapacity)
    }

    /// Why no worker is started for so long.
    pub(super) fn backing_off(&self, retry_after: Duration) -> FunctionError {
        let detail = match &self.last_failure {
            Some((
                _,
                FunctionError::Boot { detail, .. } | FunctionError::BackingOff { detail, .. },
            )) => detail.clone(),
            _ => None,
        };
        FunctionError::BackingOff {
            detail,
            retry_after,
        }
    }

    /// Keeps the generation for after the current replacement, where it is newer.
    pub(super) fn queue_replacement(&mut self, wanted: &Generation) {
        let Some(current) = &self.replacement else {
            return;
        };
        let newest = self.next_replacement.as_ref().unwrap_or(current);
        if wanted.epoch >= newest.epoch && !newest.is_same(wanted) {
            self.next_replacement = Some(wanted.clone());
        }
    }

    /// Tries the generation again later, with a growing delay.
    pub(super) fn postpone(&mut self, generation: Generation, now: Instant) {
        let before = self.postponed.take();
        let same = before.filter(|(before, _)| before.is_same(&generation));
        let mut backoff = same.map_or_else(Backoff::default, |(_, backoff)| backoff);
        backoff.add_failure(1, MAX_BOOT_BACKOFF, now);
        self.postponed = Some((generation, backoff));
    }

    pub(super) fn is_postponed(&self, wanted: &Generation, now: Instant) -> bool {
        self.postponed
            .as_ref()
            .is_some_and(|(generation, backoff)| {
                generation.is_same(wanted) && backoff.remaining(now).is_some()
            })
    }
}

fn load(worker: &Arc<Worker>) -> Load {
    Load {
        is_lagging: worker.is_lagging(),
        in_flight: worker.in_flight(),
    }
}

/// Whether the function rather than one of its requests is to blame for the end of a worker.
fn is_early_crash(exit: WorkerExit, has_responded: bool) -> bool {
    matches!(exit, WorkerExit::Crashed { uptime } if uptime < EARLY_CRASH) && !has_responded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_crash_before_the_first_response_counts_against_the_function() {
        let crashed = |seconds| WorkerExit::Crashed {
            uptime: Duration::from_secs(seconds),
        };
        assert!(is_early_crash(crashed(9), false));
        assert!(!is_early_crash(crashed(9), true));
        assert!(!is_early_crash(crashed(10), false));
        assert!(!is_early_crash(WorkerExit::Requested, false));
    }
}
