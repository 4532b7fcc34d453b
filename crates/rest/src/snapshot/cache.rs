//! The current snapshot of one project, shared by its requests and its load task.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use plinth_project::Project;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    MissingName, SPECULATIVE_FACTOR, SettingsRole, Snapshot, UNEXPOSED_FACTOR,
    name_lookup::NameLookup,
    task::{INITIAL_BACKOFF, LoadReason, LoadRequest, LoadTask, Shared, State},
};
use crate::{RestConfig, RestError, metrics::RestMetrics};

/// How long a request waits for a load.
const LOAD_WAIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Entries of [`SnapshotCache::unexposed`]; when it is full it is cleared.
const MAX_UNEXPOSED_NAMES: usize = 1000;

/// One project's snapshot. Dropping it stops the load task.
pub(crate) struct SnapshotCache {
    shared: Arc<Shared>,
    /// Unbounded, because only waiting requests fill it.
    load_requests: mpsc::UnboundedSender<LoadRequest>,
    name_lookup: NameLookup,
    metrics: Arc<RestMetrics>,
    /// Names that exist in the database but that a load leaves out, such as trigger functions.
    unexposed: Mutex<HashSet<String>>,
    started: Instant,
    _stop: DropGuard,
}

impl SnapshotCache {
    /// Spawns the load task. `config_reload` is notified when `NOTIFY` asks for the settings to be
    /// read again.
    pub(crate) fn start(
        project: &Project,
        base: Arc<RestConfig>,
        settings_role: SettingsRole,
        config_reload: Arc<Notify>,
    ) -> Self {
        let shared = Arc::new(Shared {
            snapshot: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Loading),
            last_used: AtomicU64::new(0),
        });
        let metrics = Arc::new(RestMetrics::for_project(project));
        let (load_requests, received) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let started = Instant::now();
        let task = LoadTask {
            db: project.db.clone(),
            metrics: metrics.clone(),
            base,
            settings_role,
            config_reload,
            shared: shared.clone(),
            load_requests: received,
            started,
            stop: stop.clone(),
            backoff: INITIAL_BACKOFF,
        };
        tokio::spawn(task.run());
        Self {
            shared,
            load_requests,
            name_lookup: NameLookup::new(project.db.clone()),
            metrics,
            unexposed: Mutex::default(),
            started,
            _stop: stop.drop_guard(),
        }
    }

    /// The snapshot for a request. Waits for a load if there is none yet, if the settings were
    /// replaced, or if the task was idle.
    pub(crate) async fn snapshot(
        &self,
        base: &Arc<RestConfig>,
    ) -> Result<Arc<Snapshot>, RestError> {
        let now = self.started.elapsed().as_millis() as u64;
        self.shared.last_used.store(now, Ordering::Relaxed);
        let state = *self.shared.state.borrow();
        if let Some(snapshot) = self.latest() {
            let is_current = Arc::ptr_eq(&snapshot.base, base);
            match state {
                State::Listening | State::Failing | State::Loading if is_current => {
                    return Ok(snapshot);
                }
                State::Failing => return Ok(snapshot),
                State::Listening | State::Loading | State::Idle => {
                    self.request_load(LoadReason::Outdated(base.clone())).await;
                    return self.latest().ok_or(RestError::NoSchemaCache);
                }
            }
        }
        let mut state = self.shared.state.subscribe();
        let loaded = state.wait_for(|state| *state != State::Loading);
        _ = tokio::time::timeout(LOAD_WAIT_TIMEOUT, loaded).await;
        self.latest().ok_or(RestError::NoSchemaCache)
    }

    /// Reloads if what a request named may be newer than `old`; `None` when there is nothing newer.
    ///
    /// A relation or function is looked up by its name first. An overload of a known function
    /// cannot be, like columns and relationships: for these only the snapshot's age decides.
    pub(crate) async fn refresh_after_miss(
        &self,
        old: &Arc<Snapshot>,
        missing: MissingName<'_>,
    ) -> Option<Arc<Snapshot>> {
        if let Some(newer) = self.newer_than(old) {
            return Some(newer);
        }
        match missing {
            MissingName::Object { schema, name } if !old.cache.has(schema, name) => {
                self.reload_if_exists(schema, name, old).await;
            }
            MissingName::Object { .. } | MissingName::ColumnOrRelationship => {
                if old.may_be_outdated(SPECULATIVE_FACTOR) {
                    self.request_load(LoadReason::MaybeOutdated).await;
                }
            }
        }
        self.newer_than(old)
    }

    async fn reload_if_exists(&self, schema: &str, name: &str, old: &Arc<Snapshot>) {
        if self.is_unexposed(schema, name) && !old.may_be_outdated(UNEXPOSED_FACTOR) {
            return;
        }
        self.metrics.count_missed_name();
        if !self.name_lookup.exists(schema, name).await {
            return;
        }
        self.request_load(LoadReason::NameExists {
            schema: schema.to_owned(),
            name: name.to_owned(),
        })
        .await;
        let newer = self.newer_than(old);
        if newer.is_some_and(|newer| !newer.cache.has(schema, name)) {
            self.mark_unexposed(schema, name);
        }
    }

    fn is_unexposed(&self, schema: &str, name: &str) -> bool {
        let unexposed = self.unexposed.lock();
        let unexposed = unexposed.unwrap_or_else(PoisonError::into_inner);
        unexposed.contains(&format!("{schema}\0{name}"))
    }

    fn mark_unexposed(&self, schema: &str, name: &str) {
        let unexposed = self.unexposed.lock();
        let mut unexposed = unexposed.unwrap_or_else(PoisonError::into_inner);
        if unexposed.len() >= MAX_UNEXPOSED_NAMES {
            unexposed.clear();
        }
        unexposed.insert(format!("{schema}\0{name}"));
    }

    fn newer_than(&self, old: &Arc<Snapshot>) -> Option<Arc<Snapshot>> {
        let latest = self.latest()?;
        (!Arc::ptr_eq(&latest, old)).then_some(latest)
    }

    /// Loads with these settings, and waits until that has succeeded or failed.
    pub(crate) async fn reload(&self, base: Arc<RestConfig>) {
        self.request_load(LoadReason::Requested(base)).await;
    }

    async fn request_load(&self, reason: LoadReason) {
        let (done, is_done) = oneshot::channel();
        let request = LoadRequest {
            reason,
            _done: done,
        };
        if self.load_requests.send(request).is_ok() {
            _ = tokio::time::timeout(LOAD_WAIT_TIMEOUT, is_done).await;
        }
    }

    pub(crate) fn metrics(&self) -> &RestMetrics {
        &self.metrics
    }

    /// What was loaded last, however old.
    pub(crate) fn latest(&self) -> Option<Arc<Snapshot>> {
        self.shared.snapshot.load_full()
    }
}
