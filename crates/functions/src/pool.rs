//! The workers of one function (functions contract §10, §14.4): who gets a request, when another one
//! is started, and how a new version takes over without a lost request.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use plinth_project::Project;
use tokio::sync::Notify;

use crate::{
    catalog::{Function, Surroundings},
    config::{FunctionsConfig, Policy},
    error::FunctionError,
    service::FunctionsService,
    worker::{Ending, Reason, Seat, Worker},
};

/// Requests of one worker at a time, beyond which another one is started.
const COMFORTABLE: usize = 16;
/// A worker that dies younger than this counts as one that cannot live.
const YOUNG: Duration = Duration::from_secs(10);
/// Deaths in a row that are forgiven, and the longest pause after more.
const FORGIVEN: u32 = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What workers are made from. A new one replaces all workers.
#[derive(Clone)]
pub(crate) struct Generation {
    pub(crate) function: Arc<Function>,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) config: Arc<FunctionsConfig>,
}

impl Generation {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
            && (Arc::ptr_eq(&self.surroundings, &other.surroundings)
                || self.surroundings == other.surroundings)
            && (Arc::ptr_eq(&self.config, &other.config) || self.config == other.config)
    }
}

/// All workers of one function.
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Somebody came, went or could not come.
    changed: Arc<Notify>,
}

struct State {
    generation: Generation,
    workers: Vec<Arc<Worker>>,
    starting: usize,
    is_replacing: bool,
    /// How many starts there have been, and how the last one that failed did.
    starts: u64,
    failed: Option<(u64, FunctionError)>,
    deaths: u32,
    /// Whether somebody crashed or broke a limit whose place nobody has taken yet.
    has_lost: bool,
    closed_until: Option<Instant>,
    last_asked: Instant,
}

/// Whoever can start a worker.
#[derive(Clone)]
pub(crate) struct Starter {
    pub(crate) service: FunctionsService,
    pub(crate) project: Project,
}

enum Admission {
    Seated(Seat),
    Failed(FunctionError),
    /// The start of that number may bring a place; no start at all, and somebody must go first.
    Wait(Option<u64>),
}

impl Pool {
    pub(crate) fn new(generation: Generation) -> Self {
        Self {
            state: Mutex::new(State {
                generation,
                workers: Vec::new(),
                starting: 0,
                is_replacing: false,
                starts: 0,
                failed: None,
                deaths: 0,
                has_lost: false,
                closed_until: None,
                last_asked: Instant::now(),
            }),
            changed: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place at a worker; one is started where there is none.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        starter: &Starter,
        wanted: &Generation,
    ) -> Result<Seat, FunctionError> {
        // Nearly everybody finds a place at once, and need not listen for changes.
        if let Admission::Seated(seat) = self.try_admit(starter, wanted, None) {
            return Ok(seat);
        }
        let deadline = tokio::time::Instant::now() + wanted.config.limits.wait;
        let mut awaited = None;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            match self.try_admit(starter, wanted, awaited) {
                Admission::Seated(seat) => return Ok(seat),
                Admission::Failed(error) => return Err(error),
                // A start is limited in time by itself.
                Admission::Wait(Some(start)) => {
                    if awaited.is_none() {
                        wanted.function.numbers.cold_start();
                    }
                    awaited = Some(start);
                    changed.await;
                }
                Admission::Wait(None) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(deadline) => return Err(FunctionError::NoCapacity),
                },
            }
        }
    }

    fn try_admit(
        self: &Arc<Self>,
        starter: &Starter,
        wanted: &Generation,
        awaited: Option<u64>,
    ) -> Admission {
        let mut state = self.state();
        state.last_asked = Instant::now();
        self.follow(&mut state, starter, wanted);
        if let (Some(awaited), Some((start, error))) = (awaited, &state.failed)
            && *start >= awaited
        {
            return Admission::Failed(error.clone());
        }
        let is_exclusive = state.generation.config.policy != Policy::PerWorker;
        let comfortable = if is_exclusive { 1 } else { COMFORTABLE };
        loop {
            state.workers.retain(|worker| worker.is_open());
            let least = state
                .workers
                .iter()
                .min_by_key(|worker| worker.in_flight())
                .cloned();
            let Some(worker) = least else {
                break;
            };
            let is_crowded = worker.in_flight() >= comfortable;
            if is_crowded && state.starting == 0 && state.closed_until.is_none() {
                self.start(&mut state, starter);
            }
            if is_crowded && is_exclusive {
                break;
            }
            // It may have closed just now; then the next one is asked.
            if let Some(seat) = worker.try_enter() {
                return Admission::Seated(seat);
            }
        }
        if state.starting > 0 {
            return Admission::Wait(Some(state.starts));
        }
        if let Some(until) = state.closed_until {
            let retry_after = until.saturating_duration_since(Instant::now());
            if !retry_after.is_zero() {
                let told = match &state.failed {
                    Some((
                        _,
                        FunctionError::Boot { told } | FunctionError::BackingOff { told, .. },
                    )) => told.clone(),
                    _ => None,
                };
                return Admission::Failed(FunctionError::BackingOff { told, retry_after });
            }
            state.closed_until = None;
        }
        match self.start(&mut state, starter) {
            true => Admission::Wait(Some(state.starts)),
            false => Admission::Wait(None),
        }
    }

    /// Begins to take a new generation over, if it is one.
    fn follow(self: &Arc<Self>, state: &mut State, starter: &Starter, wanted: &Generation) {
        if state.is_replacing || state.generation.is_same(wanted) {
            return;
        }
        let is_unused = state.workers.iter().all(|worker| !worker.is_open());
        if is_unused && state.starting == 0 {
            state.begin(wanted.clone());
            return;
        }
        state.is_replacing = true;
        let (pool, starter, wanted) = (self.clone(), starter.clone(), wanted.clone());
        let tasks = starter.service.tasks();
        tasks.spawn(async move { pool.replace(&starter, wanted).await });
    }

    /// Takes a new generation over without waiting for a request, where somebody would miss it.
    pub(crate) fn refresh(self: &Arc<Self>, starter: &Starter, wanted: &Generation) {
        self.follow(&mut self.state(), starter, wanted);
    }

    /// The new one serves before the old ones go.
    async fn replace(self: &Arc<Self>, starter: &Starter, wanted: Generation) {
        let booted = starter.boot(&wanted, &self.changed).await;
        let within = wanted.config.limits.wall_clock;
        let old = {
            let mut state = self.state();
            let old = std::mem::take(&mut state.workers);
            state.begin(wanted);
            state.is_replacing = false;
            match booted {
                Ok(worker) => {
                    state.workers.push(worker.clone());
                    self.follow_end(starter, worker);
                }
                Err(error) => state.note_failure(error),
            }
            old
        };
        for worker in old {
            worker.retire(Reason::Termination, within);
        }
        self.changed.notify_waiters();
    }

    /// Starts another worker beside, if there may be one.
    fn start(self: &Arc<Self>, state: &mut State, starter: &Starter) -> bool {
        if state.workers.len() + state.starting >= state.generation.config.max_workers {
            return false;
        }
        state.starting += 1;
        state.starts += 1;
        if std::mem::take(&mut state.has_lost) {
            state.generation.function.numbers.restarted();
        }
        let (pool, starter, generation) = (self.clone(), starter.clone(), state.generation.clone());
        let tasks = starter.service.tasks();
        tasks.spawn(async move {
            let booted = starter.boot(&generation, &pool.changed).await;
            pool.settle(&starter, &generation, booted);
        });
        true
    }

    fn settle(
        self: &Arc<Self>,
        starter: &Starter,
        generation: &Generation,
        booted: Result<Arc<Worker>, FunctionError>,
    ) {
        let mut state = self.state();
        state.starting = state.starting.saturating_sub(1);
        let is_current = state.generation.is_same(generation);
        match booted {
            // Somebody else took over meanwhile.
            Ok(worker) if !is_current => worker.retire(Reason::Termination, Duration::ZERO),
            Ok(worker) => {
                state.workers.push(worker.clone());
                self.follow_end(starter, worker);
            }
            Err(error) if is_current => state.note_failure(error),
            Err(_) => {}
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Takes note of how a worker ends.
    fn follow_end(self: &Arc<Self>, starter: &Starter, worker: Arc<Worker>) {
        let pool = self.clone();
        starter.service.tasks().spawn(async move {
            let ending = worker.ended().await;
            let mut state = pool.state();
            state.workers.retain(|known| !Arc::ptr_eq(known, &worker));
            state.has_lost |= ending != Ending::Left;
            match ending {
                Ending::Crashed { after } if after < YOUNG => state.note_death(),
                _ => state.deaths = 0,
            }
            drop(state);
            pool.changed.notify_waiters();
        });
    }

    /// Ends the worker that nobody has used for longest, if it is that long; tells for how long.
    pub(crate) fn longest_idle(&self) -> Option<(Duration, Arc<Worker>)> {
        let state = self.state();
        let open = state.workers.iter().filter(|worker| worker.is_open());
        let idle = open.filter_map(|worker| Some((worker.idle_for()?, worker.clone())));
        idle.max_by_key(|(time, _)| *time)
    }

    /// How long nobody has asked for the function, or been served.
    pub(crate) fn unused_for(&self) -> Duration {
        let state = self.state();
        let workers = state.workers.iter();
        let served = workers.map(|worker| worker.idle_for().unwrap_or_default());
        served.fold(state.last_asked.elapsed(), Duration::min)
    }

    /// Everybody goes, within that time or the usual one.
    pub(crate) fn retire_all(&self, within: Option<Duration>) {
        let mut state = self.state();
        let within = within.unwrap_or(state.generation.config.limits.grace);
        for worker in std::mem::take(&mut state.workers) {
            worker.retire(Reason::Termination, within);
        }
    }

    /// Whether anybody is there or about to come.
    pub(crate) fn is_alive(&self) -> bool {
        let state = self.state();
        state.starting > 0 || state.workers.iter().any(|worker| worker.is_open())
    }
}

impl State {
    fn begin(&mut self, generation: Generation) {
        self.generation = generation;
        self.failed = None;
        self.deaths = 0;
        self.has_lost = false;
        self.closed_until = None;
    }

    fn note_failure(&mut self, error: FunctionError) {
        let is_functions_fault = matches!(error, FunctionError::Boot { .. });
        self.failed = Some((self.starts, error));
        if is_functions_fault {
            self.note_death();
        }
    }

    fn note_death(&mut self) {
        self.deaths += 1;
        if self.deaths >= FORGIVEN {
            self.closed_until = Some(Instant::now() + pause(self.deaths - FORGIVEN));
        }
    }
}

/// 1, 2, 4 … 30 seconds.
fn pause(exponent: u32) -> Duration {
    Duration::from_secs(1 << exponent.min(10)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_half_a_minute() {
        let seconds = |exponent| pause(exponent).as_secs();

        assert_eq!(
            [0, 1, 2, 3, 4, 5, 99].map(seconds),
            [1, 2, 4, 8, 16, 30, 30]
        );
    }
}
