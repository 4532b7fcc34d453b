//! The workers of one function (functions contract §10, §14.4): which one gets a request, when another
//! one is started, and how a new version takes over without losing a request.
//!
//! [`admission`] decides, [`state`] keeps what is known; the [`Pool`] carries decisions out. It starts
//! workers through [`WorkerFactory`] and does not know the service.

mod admission;
mod backoff;
mod generation;
mod state;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

pub(crate) use self::generation::Generation;
use self::{
    admission::{Decision, QueuedRequest, Wait, WaitFor},
    state::State,
};
use crate::{
    error::FunctionError,
    worker::{RequestPermit, ShutdownReason, Worker},
};

/// Starts workers for a pool, and clears up after them.
pub(crate) trait WorkerFactory: Clone + Send + Sync + 'static {
    /// A worker that serves. `released` is notified when a request has left it.
    fn boot(
        &self,
        generation: &Generation,
        released: &Arc<Notify>,
    ) -> impl Future<Output = Result<Arc<Worker>, FunctionError>> + Send;

    /// Awaited when the service shuts down.
    fn tasks(&self) -> &TaskTracker;

    /// A worker has exited, and the pool refers to it no more.
    fn worker_exited(&self);
}

/// All workers of one function.
pub(crate) struct Pool {
    state: Mutex<State>,
    /// A worker was added, released or lost, or a boot has failed.
    changed: Arc<Notify>,
}

enum Admission {
    Granted(RequestPermit),
    Rejected(FunctionError),
    Queued(WaitFor),
}

impl Pool {
    pub(crate) fn new(generation: Generation) -> Self {
        Self {
            state: Mutex::new(State::new(generation)),
            changed: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A permit of a worker; one is started where there is none. A nested call may exceed max_workers,
    /// or callers would deadlock.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        factory: &impl WorkerFactory,
        wanted: &Generation,
        is_nested: bool,
    ) -> Result<RequestPermit, FunctionError> {
        // Most requests find a worker at once, and need not listen for changes.
        let first = self.try_admit(factory, Some(wanted), None, is_nested);
        if let Admission::Granted(permit) = first {
            return Ok(permit);
        }
        let mut queued = QueuedRequest::default();
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            // Without the generation: a newer one may have come while the request waited.
            let what = match self.try_admit(factory, None, queued.awaited_boot, is_nested) {
                Admission::Granted(permit) => return Ok(permit),
                Admission::Rejected(error) => return Err(error),
                Admission::Queued(what) => what,
            };
            if queued.awaited_boot.is_none() && matches!(what, WaitFor::Boot(_)) {
                wanted.function.metrics.cold_start();
            }
            match queued.next_wait(&what, Instant::now(), wanted.config.limits.wait) {
                Wait::Unbounded => changed.await,
                Wait::Until(deadline) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(deadline.into()) => {}
                },
                Wait::GiveUp => return Err(FunctionError::NoCapacity),
            }
        }
    }

    fn try_admit(
        self: &Arc<Self>,
        factory: &impl WorkerFactory,
        wanted: Option<&Generation>,
        awaited_boot: Option<u64>,
        is_nested: bool,
    ) -> Admission {
        let mut state = self.state();
        let now = Instant::now();
        state.last_request = now;
        if let Some(wanted) = wanted {
            self.replace_if_newer(&mut state, factory, wanted);
        }
        loop {
            let least_busy = state.least_busy();
            let situation = state.situation(least_busy.as_ref(), awaited_boot, is_nested, now);
            let queued = match situation.decide() {
                Decision::Assign { starts_another } => {
                    if starts_another {
                        self.start_worker(&mut state, factory);
                    }
                    let permit = least_busy.and_then(|worker| worker.try_acquire());
                    match permit {
                        Some(permit) => return Admission::Granted(permit),
                        // It was closed just now.
                        None => continue,
                    }
                }
                Decision::StartAndAwaitBoot => {
                    self.start_worker(&mut state, factory);
                    WaitFor::Boot(state.boots)
                }
                Decision::AwaitBoot => WaitFor::Boot(state.boots),
                Decision::AwaitRelease => WaitFor::Release,
                Decision::AwaitBackoff(left) => WaitFor::Backoff(left),
                Decision::FailWithBootError => return Admission::Rejected(state.boot_error()),
                Decision::FailBackingOff(retry_after) => {
                    return Admission::Rejected(state.backing_off(retry_after));
                }
            };
            return Admission::Queued(queued);
        }
    }

    /// Begins to replace the workers, if the generation is a newer one.
    fn replace_if_newer(
        self: &Arc<Self>,
        state: &mut State,
        factory: &impl WorkerFactory,
        wanted: &Generation,
    ) {
        if wanted.epoch < state.generation.epoch || state.replacement.is_some() {
            return;
        }
        if state.generation.is_same(wanted) {
            state.generation.epoch = wanted.epoch;
            return;
        }
        if !state.is_active() {
            state.switch_to(wanted.clone());
            return;
        }
        if state.is_postponed(wanted, Instant::now()) {
            return;
        }
        state.replacement = Some(wanted.clone());
        state.boots += 1;
        let boot = state.boots;
        let (pool, own_factory, wanted) = (self.clone(), factory.clone(), wanted.clone());
        factory.tasks().spawn(async move {
            let booted = own_factory.boot(&wanted, &pool.changed).await;
            pool.finish_replacement(&own_factory, wanted, boot, booted);
        });
    }

    /// Replaces workers by those of a newer generation without waiting for a request, if there are any.
    pub(crate) fn refresh(self: &Arc<Self>, factory: &impl WorkerFactory, wanted: &Generation) {
        let mut state = self.state();
        if state.is_active() {
            state.queue_replacement(wanted);
            self.replace_if_newer(&mut state, factory, wanted);
        }
    }

    /// The new generation serves, or has failed. The old workers stay where it is not to blame.
    fn finish_replacement(
        self: &Arc<Self>,
        factory: &impl WorkerFactory,
        wanted: Generation,
        boot: u64,
        booted: Result<Arc<Worker>, FunctionError>,
    ) {
        let mut state = self.state();
        let now = Instant::now();
        state.replacement = None;
        let next = state.next_replacement.take();
        let mut old = Vec::new();
        match booted {
            Err(error) if !error.is_caused_by_function() && state.is_served() => {
                state.postpone(wanted, now);
            }
            booted => {
                old = std::mem::take(&mut state.workers);
                state.switch_to(wanted);
                match booted {
                    Ok(worker) => self.add_worker(&mut state, factory, worker),
                    Err(error) if error.is_caused_by_function() => {
                        state.note_boot_failure(boot, error, now);
                    }
                    // Requests that wait start it once more.
                    Err(_) => {}
                }
            }
        }
        if let Some(next) = next {
            self.replace_if_newer(&mut state, factory, &next);
        }
        drop(state);
        for worker in old {
            worker.retire(ShutdownReason::Termination);
        }
        self.changed.notify_waiters();
    }

    /// Starts another worker of the current generation.
    fn start_worker(self: &Arc<Self>, state: &mut State, factory: &impl WorkerFactory) {
        state.booting += 1;
        state.boots += 1;
        if std::mem::take(&mut state.has_lost_worker) {
            state.generation.function.metrics.worker_restarted();
        }
        let boot = state.boots;
        let generation = state.generation.clone();
        let (pool, own_factory) = (self.clone(), factory.clone());
        factory.tasks().spawn(async move {
            let booted = own_factory.boot(&generation, &pool.changed).await;
            pool.finish_boot(&own_factory, &generation, boot, booted);
        });
    }

    fn finish_boot(
        self: &Arc<Self>,
        factory: &impl WorkerFactory,
        generation: &Generation,
        boot: u64,
        booted: Result<Arc<Worker>, FunctionError>,
    ) {
        let mut state = self.state();
        state.booting = state.booting.saturating_sub(1);
        let is_current = state.generation.is_same(generation);
        match booted {
            Ok(worker) if is_current => self.add_worker(&mut state, factory, worker),
            // Another generation has taken over meanwhile.
            Ok(worker) => {
                worker.retire(ShutdownReason::Termination);
                self.watch_exit(factory, worker);
            }
            Err(error) if is_current => state.note_boot_failure(boot, error, Instant::now()),
            Err(_) => {}
        }
        drop(state);
        self.changed.notify_waiters();
    }

    fn add_worker(
        self: &Arc<Self>,
        state: &mut State,
        factory: &impl WorkerFactory,
        worker: Arc<Worker>,
    ) {
        state.add_worker(worker.clone());
        self.watch_exit(factory, worker);
    }

    /// Takes note of how a worker ends.
    fn watch_exit(self: &Arc<Self>, factory: &impl WorkerFactory, worker: Arc<Worker>) {
        let (pool, own_factory) = (self.clone(), factory.clone());
        factory.tasks().spawn(async move {
            let exit = worker.exited().await;
            pool.state().note_exit(&worker, exit, Instant::now());
            pool.changed.notify_waiters();
            // The factory clears up what nothing refers to any more.
            drop((worker, pool));
            own_factory.worker_exited();
        });
    }

    /// Workers without work, and for how long.
    pub(crate) fn idle_workers(&self) -> Vec<(Duration, Arc<Worker>)> {
        let state = self.state();
        let open = state.workers.iter().filter(|worker| worker.is_open());
        open.filter_map(|worker| Some((worker.idle_for()?, worker.clone())))
            .collect()
    }

    /// How long there has been no request, and no worker has had work.
    pub(crate) fn unused_for(&self) -> Duration {
        let state = self.state();
        let workers = state.workers.iter();
        let idle = workers.map(|worker| worker.idle_for().unwrap_or_default());
        idle.fold(state.last_request.elapsed(), Duration::min)
    }

    /// Retires all workers, once what is in flight has finished.
    pub(crate) fn retire_all(&self) {
        for worker in self.close() {
            worker.retire(ShutdownReason::Termination);
        }
    }

    /// Retires all workers within that time, or the grace period.
    pub(crate) fn shut_down(&self, within: Option<Duration>) {
        let grace = self.state().generation.config.limits.grace;
        for worker in self.close() {
            worker.retire_within(ShutdownReason::Termination, within.unwrap_or(grace));
        }
    }

    /// No worker is kept warm any more.
    fn close(&self) -> Vec<Arc<Worker>> {
        let mut state = self.state();
        state.is_closed = true;
        std::mem::take(&mut state.workers)
    }
}
