//! What the service knows about one project, and how that stays true (rest contract §5.2).
//!
//! A task per project loads settings and schema cache, listens for `NOTIFY pgrst`, and loads
//! again. Requests keep being served with what was loaded last, also while loading fails. A
//! project that nobody asks for stops listening; the next request then waits for a new load.

mod questions;
mod task;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use plinth_db::DbError;
use plinth_project::Project;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    RestConfig, RestError, config::RoleSettings, numbers::Numbers, schema_cache::SchemaCache,
};
use questions::Questions;
use task::Task;

/// Settings and schema as of one moment.
pub(crate) struct Snapshot {
    /// With what stands in the database.
    pub(crate) config: RestConfig,
    pub(crate) roles: RoleSettings,
    pub(crate) cache: SchemaCache,
    /// By exposed schema.
    search_paths: HashMap<String, String>,
    /// What the settings were made from.
    base: Arc<RestConfig>,
    loaded_at: Instant,
    loading_took: Duration,
}

impl Snapshot {
    /// The value of `search_path` for requests to a schema.
    pub(crate) fn search_path(&self, schema: &str) -> &str {
        self.search_paths.get(schema).map_or("", String::as_str)
    }

    fn is_older_than(&self, factor: u32) -> bool {
        let interval = (self.loading_took * factor).max(SHORTEST_MISS_INTERVAL);
        self.loaded_at.elapsed() >= interval
    }
}

/// How long a request waits for the first load.
const FIRST_LOAD_PATIENCE: Duration = Duration::from_secs(10);
/// How much older than its loading took a snapshot must be for another load on mere suspicion.
/// A name that was looked for in vain before costs a twentieth of one core at most, however often
/// it comes; a column, relationship or overload a fifth.
const MISS_FACTOR: u32 = 20;
const PART_FACTOR: u32 = 5;
const SHORTEST_MISS_INTERVAL: Duration = Duration::from_millis(20);
/// Names that exist and are not ours, as far as they are remembered.
const MOST_HIDDEN: usize = 1000;
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// One project's snapshot and the task that keeps it.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    /// As many as requests wait, which need no other bound.
    orders: mpsc::UnboundedSender<Order>,
    questions: Questions,
    numbers: Arc<Numbers>,
    hidden: Mutex<HashSet<String>>,
    started: Instant,
    _stop: DropGuard,
}

struct Shared {
    snapshot: ArcSwapOption<Snapshot>,
    state: watch::Sender<State>,
    /// Milliseconds after the start at which somebody last asked.
    last_used: AtomicU64,
}

/// What a request named in vain.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Missed<'a> {
    /// A relation or a function.
    Object { schema: &'a str, name: &'a str },
    /// A column, or a relationship.
    Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Loading,
    /// Loaded and listening.
    Awake,
    /// The last load failed; what was loaded before is served.
    Failing,
    /// Nobody listens; what was loaded may be out of date.
    Asleep,
}

/// Somebody waits for a load; letting go of the order says that it is done.
struct Order {
    why: Why,
    _done: oneshot::Sender<()>,
}

/// Whether a reason still holds is looked at when its turn comes: a load that was under way may
/// have been the answer.
enum Why {
    /// Somebody says so.
    Asked(Arc<RestConfig>),
    /// What was loaded is not of these settings, or nobody listened since.
    OutOfDate(Arc<RestConfig>),
    /// There is something of this name that was not loaded.
    Unknown { schema: String, name: String },
    /// A column, a relationship or an overload may be new.
    Suspicion,
}

impl Why {
    fn base(&self) -> Option<&Arc<RestConfig>> {
        match self {
            Self::Asked(base) | Self::OutOfDate(base) => Some(base),
            Self::Unknown { .. } | Self::Suspicion => None,
        }
    }
}

/// Where a project's settings in the database are found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SettingsRole {
    /// The role that users' migrations name, whatever the login is called.
    Authenticator,
    /// The login role itself.
    Login,
}

impl Keeper {
    /// `config_asked` is told when a notification asks for the settings to be read again.
    pub(crate) fn start(
        project: &Project,
        base: Arc<RestConfig>,
        settings_of: SettingsRole,
        config_asked: Arc<Notify>,
    ) -> Self {
        let shared = Arc::new(Shared {
            snapshot: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Loading),
            last_used: AtomicU64::new(0),
        });
        let numbers = Arc::new(Numbers::of(project));
        let (orders, received) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let started = Instant::now();
        let task = Task {
            db: project.db.clone(),
            numbers: numbers.clone(),
            base,
            settings_of,
            config_asked,
            shared: shared.clone(),
            orders: received,
            started,
            stop: stop.clone(),
            retry_in: FIRST_RETRY,
        };
        tokio::spawn(task.run());
        Self {
            shared,
            orders,
            questions: Questions::new(project.db.clone()),
            numbers,
            hidden: Mutex::default(),
            started,
            _stop: stop.drop_guard(),
        }
    }

    /// What is known now. Only the first request of a project, or the first after a long pause,
    /// waits.
    pub(crate) async fn snapshot(
        &self,
        base: &Arc<RestConfig>,
    ) -> Result<Arc<Snapshot>, RestError> {
        let now = self.started.elapsed().as_millis() as u64;
        self.shared.last_used.store(now, Ordering::Relaxed);
        let state = *self.shared.state.borrow();
        if let Some(snapshot) = self.shared.snapshot.load_full() {
            let is_current = Arc::ptr_eq(&snapshot.base, base);
            match state {
                State::Awake | State::Failing | State::Loading if is_current => {
                    return Ok(snapshot);
                }
                State::Failing => return Ok(snapshot),
                State::Awake | State::Loading | State::Asleep => {
                    self.order(Why::OutOfDate(base.clone())).await;
                    return self
                        .shared
                        .snapshot
                        .load_full()
                        .ok_or(RestError::NoSchemaCache);
                }
            }
        }
        let mut state = self.shared.state.subscribe();
        let loaded = state.wait_for(|state| *state != State::Loading);
        _ = tokio::time::timeout(FIRST_LOAD_PATIENCE, loaded).await;
        self.shared
            .snapshot
            .load_full()
            .ok_or(RestError::NoSchemaCache)
    }

    /// Looks again because a name was not found; `None` when there is nothing new.
    ///
    /// For what has a name of its own it is enough to ask whether that is there now. An overload
    /// has none: its function is known.
    pub(crate) async fn look_again(
        &self,
        old: &Arc<Snapshot>,
        missed: Missed<'_>,
    ) -> Option<Arc<Snapshot>> {
        if let Some(newer) = self.newer_than(old) {
            return Some(newer);
        }
        match missed {
            Missed::Object { schema, name } if !old.cache.has(schema, name) => {
                self.look_for(schema, name, old).await;
            }
            Missed::Object { .. } | Missed::Part => {
                if old.is_older_than(PART_FACTOR) {
                    self.order(Why::Suspicion).await;
                }
            }
        }
        self.newer_than(old)
    }

    async fn look_for(&self, schema: &str, name: &str, old: &Arc<Snapshot>) {
        let is_hidden = self.is_hidden(schema, name) && !old.is_older_than(MISS_FACTOR);
        if is_hidden {
            return;
        }
        self.numbers.name_missed();
        if !self.questions.exists(schema, name).await {
            return;
        }
        self.order(Why::Unknown {
            schema: schema.to_owned(),
            name: name.to_owned(),
        })
        .await;
        let newer = self.newer_than(old);
        if newer.is_some_and(|newer| !newer.cache.has(schema, name)) {
            self.hide(schema, name);
        }
    }

    /// Something may exist and yet not be ours to show, such as a trigger's function. Looking for
    /// it again and again would be in vain.
    fn is_hidden(&self, schema: &str, name: &str) -> bool {
        let hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        hidden.contains(&format!("{schema}\0{name}"))
    }

    fn hide(&self, schema: &str, name: &str) {
        let mut hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if hidden.len() >= MOST_HIDDEN {
            hidden.clear();
        }
        hidden.insert(format!("{schema}\0{name}"));
    }

    fn newer_than(&self, old: &Arc<Snapshot>) -> Option<Arc<Snapshot>> {
        let current = self.shared.snapshot.load_full()?;
        (!Arc::ptr_eq(&current, old)).then_some(current)
    }

    /// Loads with these settings, and waits until that is done or has failed.
    pub(crate) async fn load(&self, base: Arc<RestConfig>) {
        self.order(Why::Asked(base)).await;
    }

    async fn order(&self, why: Why) {
        let (done, is_done) = oneshot::channel();
        if self.orders.send(Order { why, _done: done }).is_ok() {
            _ = tokio::time::timeout(FIRST_LOAD_PATIENCE, is_done).await;
        }
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// What was loaded, however old.
    pub(crate) fn current(&self) -> Option<Arc<Snapshot>> {
        self.shared.snapshot.load_full()
    }
}

#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error(transparent)]
    Connect(#[from] DbError),
    #[error("{}", plinth_db::describe(.0))]
    Query(#[from] tokio_postgres::Error),
    #[error("settings in the database cannot be used: {0}")]
    Settings(String),
}
