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
/// Failures in a row that are forgiven, and the longest pause after more.
const FORGIVEN: u32 = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The same where workers come and die. It is short enough to be waited for: one request may be what
/// kills them, and others are none the wiser.
const LONGEST_MOURNING: Duration = Duration::from_secs(4);

/// What workers are made from. A new one replaces all workers.
#[derive(Clone)]
pub(crate) struct Generation {
    /// When it was found: what was found before a change does not replace what was found after it.
    pub(crate) time: u64,
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
    /// Who is about to take over, and who will after that.
    coming: Option<Generation>,
    next: Option<Generation>,
    /// How many starts there have been, and how the last one that failed did.
    starts: u64,
    failed: Option<(u64, FunctionError)>,
    /// Starts that failed.
    setbacks: Setbacks,
    /// Workers that died before they had answered anything.
    crashes: Setbacks,
    /// A generation that could not come for no fault of its own, and how often it could not.
    put_off: Option<(Generation, Setbacks)>,
    /// Whether somebody crashed or broke a limit whose place nobody has taken yet.
    has_lost: bool,
    last_asked: Instant,
    /// Whether the function is there no more, or its project.
    is_given_up: bool,
}

/// What went wrong in a row, and the pause that follows from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Setbacks {
    count: u32,
    until: Option<Instant>,
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
    /// Nobody is started for so long.
    Pause(Duration),
}

impl Pool {
    pub(crate) fn new(generation: Generation) -> Self {
        Self {
            state: Mutex::new(State {
                generation,
                workers: Vec::new(),
                starting: 0,
                coming: None,
                next: None,
                starts: 0,
                failed: None,
                setbacks: Setbacks::default(),
                crashes: Setbacks::default(),
                put_off: None,
                has_lost: false,
                last_asked: Instant::now(),
                is_given_up: false,
            }),
            changed: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place at a worker; one is started where there is none. Whoever may be waited for by all who
    /// are there (`is_nested`) waits for none of them: another one is started beyond the usual number.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        starter: &Starter,
        wanted: &Generation,
        is_nested: bool,
    ) -> Result<Seat, FunctionError> {
        // Nearly everybody finds a place at once, and need not listen for changes.
        if let Admission::Seated(seat) = self.try_admit(starter, Some(wanted), None, is_nested) {
            return Ok(seat);
        }
        let mut awaited = None;
        let mut deadline = None;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            // Something newer may have come while it waited.
            match self.try_admit(starter, None, awaited, is_nested) {
                Admission::Seated(seat) => return Ok(seat),
                Admission::Failed(error) => return Err(error),
                Admission::Wait(Some(start)) if awaited.is_none_or(|first| first == start) => {
                    if awaited.is_none() {
                        wanted.function.numbers.cold_start();
                    }
                    awaited = Some(start);
                    // A start is limited in time by itself.
                    changed.await;
                }
                // Somebody must go first, or others took what the first start brought.
                waiting => {
                    let now = Instant::now();
                    let patience = wanted.config.limits.wait;
                    let deadline = *deadline.get_or_insert_with(|| now + patience);
                    if now >= deadline {
                        return Err(FunctionError::NoCapacity);
                    }
                    let until = match waiting {
                        Admission::Pause(left) => deadline.min(now + left),
                        _ => deadline,
                    };
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep_until(until.into()) => {}
                    }
                }
            }
        }
    }

    fn try_admit(
        self: &Arc<Self>,
        starter: &Starter,
        wanted: Option<&Generation>,
        awaited: Option<u64>,
        is_nested: bool,
    ) -> Admission {
        let mut state = self.state();
        let now = Instant::now();
        state.last_asked = now;
        if let Some(wanted) = wanted {
            self.follow(&mut state, starter, wanted);
        }
        let is_exclusive = state.generation.config.policy != Policy::PerWorker;
        let comfortable = if is_exclusive { 1 } else { COMFORTABLE };
        loop {
            state.workers.retain(|worker| worker.is_open());
            let least = state
                .workers
                .iter()
                .min_by_key(|worker| (worker.is_lagging(), worker.in_flight()))
                .cloned();
            let Some(worker) = least else {
                break;
            };
            let is_full = worker.in_flight() >= comfortable;
            let is_crowded = is_full || worker.is_lagging();
            if is_crowded && state.starting == 0 && !state.is_pausing(now) {
                self.start(&mut state, starter, is_nested);
            }
            if is_full && is_exclusive {
                break;
            }
            // It may have closed just now; then the next one is asked.
            if let Some(seat) = worker.try_enter() {
                return Admission::Seated(seat);
            }
        }
        // Whoever is busy will be free again.
        let is_served = state.is_served();
        if let (Some(awaited), Some((start, error))) = (awaited, &state.failed)
            && *start >= awaited
            && !is_served
        {
            return Admission::Failed(error.clone());
        }
        // Where a new version is about to come and nobody is left of the old one, that is who serves.
        if state.starting > 0 || (state.coming.is_some() && !is_served) {
            return Admission::Wait(Some(state.starts));
        }
        if let Some(retry_after) = state.setbacks.pause_left(now) {
            if is_served {
                return Admission::Wait(None);
            }
            let told = match &state.failed {
                Some((
                    _,
                    FunctionError::Boot { told, .. } | FunctionError::BackingOff { told, .. },
                )) => told.clone(),
                _ => None,
            };
            return Admission::Failed(FunctionError::BackingOff { told, retry_after });
        }
        if let Some(left) = state.crashes.pause_left(now) {
            return Admission::Pause(left);
        }
        match self.start(&mut state, starter, is_nested) {
            true => Admission::Wait(Some(state.starts)),
            false => Admission::Wait(None),
        }
    }

    /// Begins to take a new generation over, if it is one.
    fn follow(self: &Arc<Self>, state: &mut State, starter: &Starter, wanted: &Generation) {
        if wanted.time < state.generation.time || state.coming.is_some() {
            return;
        }
        if state.generation.is_same(wanted) {
            state.generation.time = wanted.time;
            return;
        }
        if !state.is_served() && state.starting == 0 {
            state.begin(wanted.clone());
            return;
        }
        if state.is_put_off(wanted, Instant::now()) {
            return;
        }
        state.coming = Some(wanted.clone());
        state.starts += 1;
        let number = state.starts;
        let (pool, starter, wanted) = (self.clone(), starter.clone(), wanted.clone());
        let tasks = starter.service.tasks();
        tasks.spawn(async move { pool.replace(&starter, wanted, number).await });
    }

    /// Takes a new generation over without waiting for a request, where somebody would miss it.
    pub(crate) fn refresh(self: &Arc<Self>, starter: &Starter, wanted: &Generation) {
        let mut state = self.state();
        if state.is_alive() {
            state.remember(wanted);
            self.follow(&mut state, starter, wanted);
        }
    }

    /// The new one serves before the old ones go. They stay where it is not to blame for not coming.
    async fn replace(self: &Arc<Self>, starter: &Starter, wanted: Generation, number: u64) {
        let booted = starter.boot(&wanted, &self.changed).await;
        let old = {
            let mut state = self.state();
            state.coming = None;
            let next = state.next.take();
            let old = match booted {
                Err(error) if !error.is_functions_fault() && state.is_served() => {
                    state.try_later(wanted);
                    Vec::new()
                }
                booted => {
                    let old = std::mem::take(&mut state.workers);
                    state.begin(wanted);
                    match booted {
                        Ok(worker) => {
                            state.add(worker.clone());
                            self.follow_end(starter, worker);
                        }
                        Err(error) if error.is_functions_fault() => {
                            state.note_failure(number, error);
                        }
                        // Whoever waits starts it once more.
                        Err(_) => {}
                    }
                    old
                }
            };
            if let Some(next) = next {
                self.follow(&mut state, starter, &next);
            }
            old
        };
        for worker in old {
            worker.retire(Reason::Termination);
        }
        self.changed.notify_waiters();
    }

    /// Starts another worker beside, if there may be one.
    fn start(self: &Arc<Self>, state: &mut State, starter: &Starter, is_nested: bool) -> bool {
        let count = state.workers.len() + state.starting;
        if count >= state.generation.config.max_workers && !is_nested {
            return false;
        }
        state.starting += 1;
        state.starts += 1;
        if std::mem::take(&mut state.has_lost) {
            state.generation.function.numbers.restarted();
        }
        let number = state.starts;
        let (pool, starter, generation) = (self.clone(), starter.clone(), state.generation.clone());
        let tasks = starter.service.tasks();
        tasks.spawn(async move {
            let booted = starter.boot(&generation, &pool.changed).await;
            pool.settle(&starter, &generation, number, booted);
        });
        true
    }

    fn settle(
        self: &Arc<Self>,
        starter: &Starter,
        generation: &Generation,
        number: u64,
        booted: Result<Arc<Worker>, FunctionError>,
    ) {
        let mut state = self.state();
        state.starting = state.starting.saturating_sub(1);
        let is_current = state.generation.is_same(generation);
        match booted {
            // Somebody else took over meanwhile.
            Ok(worker) if !is_current => {
                worker.retire(Reason::Termination);
                self.follow_end(starter, worker);
            }
            Ok(worker) => {
                state.add(worker.clone());
                self.follow_end(starter, worker);
            }
            Err(error) if is_current => state.note_failure(number, error),
            Err(_) => {}
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Takes note of how a worker ends.
    fn follow_end(self: &Arc<Self>, starter: &Starter, worker: Arc<Worker>) {
        let (pool, starter) = (self.clone(), starter.clone());
        starter.service.tasks().spawn(async move {
            let ending = worker.ended().await;
            let mut state = pool.state();
            state.workers.retain(|known| !Arc::ptr_eq(known, &worker));
            // How an old version ends says nothing about the one that serves now.
            if Arc::ptr_eq(&worker.function, &state.generation.function) {
                state.has_lost |= ending != Ending::Left;
                state.setbacks = Setbacks::default();
                match ending {
                    Ending::Crashed { after } if after < YOUNG && !worker.has_answered() => {
                        let longest = LONGEST_MOURNING;
                        state.crashes.add(FORGIVEN, longest, Instant::now());
                    }
                    _ => state.crashes = Setbacks::default(),
                }
            }
            drop(state);
            pool.changed.notify_waiters();
            // What nobody else holds is not in use any more.
            drop((worker, pool));
            let Starter { service, project } = starter;
            service.clear_unused(project.reference());
        });
    }

    /// Workers that do nothing, and for how long.
    pub(crate) fn idle(&self) -> Vec<(Duration, Arc<Worker>)> {
        let state = self.state();
        let open = state.workers.iter().filter(|worker| worker.is_open());
        open.filter_map(|worker| Some((worker.idle_for()?, worker.clone())))
            .collect()
    }

    /// How long nobody has asked for the function, or been served.
    pub(crate) fn unused_for(&self) -> Duration {
        let state = self.state();
        let workers = state.workers.iter();
        let served = workers.map(|worker| worker.idle_for().unwrap_or_default());
        served.fold(state.last_asked.elapsed(), Duration::min)
    }

    /// Everybody goes once what is open has come to its end.
    pub(crate) fn retire_all(&self) {
        let mut state = self.state();
        state.is_given_up = true;
        for worker in std::mem::take(&mut state.workers) {
            worker.retire(Reason::Termination);
        }
    }

    /// Everybody goes, within that time or the usual one.
    pub(crate) fn end_all(&self, within: Option<Duration>) {
        let mut state = self.state();
        state.is_given_up = true;
        let within = within.unwrap_or(state.generation.config.limits.grace);
        for worker in std::mem::take(&mut state.workers) {
            worker.end_within(Reason::Termination, within);
        }
    }
}

impl State {
    /// Whether anybody is there or about to come.
    fn is_alive(&self) -> bool {
        self.starting > 0 || self.coming.is_some() || self.is_served()
    }

    /// One has come. The first ones stay.
    fn add(&mut self, worker: Arc<Worker>) {
        self.workers.retain(|worker| worker.is_open());
        if !self.is_given_up && self.workers.len() < self.generation.config.min_workers {
            worker.settle_down();
        }
        self.workers.push(worker);
    }

    fn is_served(&self) -> bool {
        self.workers.iter().any(|worker| worker.is_open())
    }

    fn begin(&mut self, generation: Generation) {
        self.generation = generation;
        self.failed = None;
        self.setbacks = Setbacks::default();
        self.crashes = Setbacks::default();
        self.put_off = None;
        self.has_lost = false;
    }

    /// Follows the generation after the one that is about to come, where it is newer.
    fn remember(&mut self, wanted: &Generation) {
        let Some(coming) = &self.coming else {
            return;
        };
        let newest = self.next.as_ref().unwrap_or(coming);
        if wanted.time >= newest.time && !newest.is_same(wanted) {
            self.next = Some(wanted.clone());
        }
    }

    /// Tries the generation again later, every time a little later.
    fn try_later(&mut self, generation: Generation) {
        let before = self.put_off.take();
        let same = before.filter(|(before, _)| before.is_same(&generation));
        let mut setbacks = same.map_or_else(Setbacks::default, |(_, setbacks)| setbacks);
        setbacks.add(1, LONGEST_PAUSE, Instant::now());
        self.put_off = Some((generation, setbacks));
    }

    fn is_put_off(&self, wanted: &Generation, now: Instant) -> bool {
        self.put_off.as_ref().is_some_and(|(generation, setbacks)| {
            generation.is_same(wanted) && setbacks.pause_left(now).is_some()
        })
    }

    fn note_failure(&mut self, number: u64, error: FunctionError) {
        let is_boot = matches!(error, FunctionError::Boot { .. });
        self.failed = Some((number, error));
        if is_boot {
            self.setbacks.add(FORGIVEN, LONGEST_PAUSE, Instant::now());
        }
    }

    /// Whether nobody is to be started yet.
    fn is_pausing(&self, now: Instant) -> bool {
        let mut all = [&self.setbacks, &self.crashes].into_iter();
        all.any(|setbacks| setbacks.pause_left(now).is_some())
    }
}

impl Setbacks {
    /// One more; from that many on there is a pause.
    fn add(&mut self, forgiven: u32, longest: Duration, now: Instant) {
        self.count += 1;
        if self.count >= forgiven {
            self.until = Some(now + pause(self.count - forgiven).min(longest));
        }
    }

    /// How long nothing is to be tried yet.
    fn pause_left(&self, now: Instant) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }
}

/// 1, 2, 4 … seconds.
fn pause(exponent: u32) -> Duration {
    Duration::from_secs(1 << exponent.min(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let now = Instant::now();
        let mut setbacks = Setbacks::default();

        let seconds: Vec<_> = (0..7)
            .map(|_| {
                setbacks.add(1, LONGEST_PAUSE, now);
                setbacks.pause_left(now).map_or(0, |left| left.as_secs())
            })
            .collect();

        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn a_pause_ends_by_itself_and_the_next_one_is_longer() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut setbacks = Setbacks::default();

        setbacks.add(FORGIVEN, LONGEST_PAUSE, now);
        setbacks.add(FORGIVEN, LONGEST_PAUSE, now);
        assert_eq!(setbacks.pause_left(now), None);
        setbacks.add(FORGIVEN, LONGEST_PAUSE, now);
        assert_eq!(setbacks.pause_left(now), Some(second));
        assert_eq!(setbacks.pause_left(now + second), None);
        setbacks.add(FORGIVEN, LONGEST_PAUSE, now + second);
        assert_eq!(setbacks.pause_left(now + second), Some(2 * second));
    }
}
