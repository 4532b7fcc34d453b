//! What the service knows about one project, and how that stays true (rest contract §5.2).
//!
//! A task per project loads settings and schema cache, listens for `NOTIFY pgrst`, and loads
//! again. Requests keep being served with what was loaded last, also while loading fails. A
//! project that nobody asks for stops listening; the next request then waits for a new load.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use plinth_db::{DbError, Heard};
use plinth_project::ProjectDb;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    RestConfig, RestError,
    config::{RoleSettings, load_in_database},
    schema_cache::{SchemaCache, Scope},
};

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
/// Loads asked for within this time after one become one.
const COOL_DOWN: Duration = Duration::from_millis(100);
/// How much older than its loading took a snapshot must be for another load on mere suspicion.
/// A name that was looked for in vain before costs a twentieth of one core at most, however often
/// it comes; a column or relationship a fifth.
const MISS_FACTOR: u32 = 20;
const PART_FACTOR: u32 = 5;
const SHORTEST_MISS_INTERVAL: Duration = Duration::from_millis(20);
/// Names that exist and are not ours, as far as they are remembered.
const MOST_HIDDEN: usize = 1000;
/// A relation or function that is not there makes us ask for it, but not more often than this.
const QUESTION_INTERVAL: Duration = Duration::from_millis(20);
/// $1: schema, $2: name of a relation or function.
const EXISTS: &str = "select exists (\
     select 1 from pg_catalog.pg_namespace n where n.nspname = $1 and (\
     exists (select 1 from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = $2) \
     or exists (select 1 from pg_catalog.pg_proc p where p.pronamespace = n.oid and \
     p.proname = $2)))";
/// A project that nobody asked for this long stops listening.
const IDLE: Duration = Duration::from_secs(300);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(32);

/// One project's snapshot and the task that keeps it.
pub(crate) struct Keeper {
    db: ProjectDb,
    shared: Arc<Shared>,
    orders: mpsc::Sender<Order>,
    hidden: Mutex<HashSet<String>>,
    started: Instant,
    _stop: DropGuard,
}

struct Shared {
    snapshot: ArcSwapOption<Snapshot>,
    state: watch::Sender<State>,
    /// Milliseconds after the start at which somebody last asked.
    last_used: AtomicU64,
    /// The same, of the last question for a name.
    last_question: AtomicU64,
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

enum Order {
    /// Load now, and say when it is done.
    Load(Arc<RestConfig>, Option<oneshot::Sender<()>>),
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
    pub(crate) fn start(db: ProjectDb, base: Arc<RestConfig>, settings_of: SettingsRole) -> Self {
        let shared = Arc::new(Shared {
            snapshot: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Loading),
            last_used: AtomicU64::new(0),
            last_question: AtomicU64::new(0),
        });
        let (orders, received) = mpsc::channel(16);
        let stop = CancellationToken::new();
        let started = Instant::now();
        let task = Task {
            db: db.clone(),
            base,
            settings_of,
            shared: shared.clone(),
            orders: received,
            started,
            stop: stop.clone(),
            retry_in: FIRST_RETRY,
        };
        tokio::spawn(task.run());
        Self {
            db,
            shared,
            orders,
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
                    self.load(base.clone()).await;
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
    /// For what has a name of its own it is enough to ask whether that is there now. No
    /// connection of the pool is taken: a wrong name must be answered when all are busy, too.
    pub(crate) async fn look_again(
        &self,
        old: &Arc<Snapshot>,
        missed: Missed<'_>,
    ) -> Option<Arc<Snapshot>> {
        if let Some(newer) = self.newer_than(old) {
            return Some(newer);
        }
        let is_worth_it = match missed {
            Missed::Object { schema, name } => {
                let is_hidden = self.is_hidden(schema, name) && !old.is_older_than(MISS_FACTOR);
                !is_hidden && self.may_ask() && self.exists(schema, name).await.unwrap_or(false)
            }
            Missed::Part => old.is_older_than(PART_FACTOR),
        };
        if !is_worth_it {
            return self.newer_than(old);
        }
        self.load(old.base.clone()).await;
        let newer = self.newer_than(old);
        if let (Some(newer), Missed::Object { schema, name }) = (&newer, missed)
            && !newer.cache.has(schema, name)
        {
            self.hide(schema, name);
        }
        newer
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

    /// Questions are cheap, but not free.
    fn may_ask(&self) -> bool {
        let now = self.started.elapsed().as_millis() as u64;
        let last = self.shared.last_question.load(Ordering::Relaxed);
        let is_time = last == 0 || now.saturating_sub(last) >= QUESTION_INTERVAL.as_millis() as u64;
        if is_time {
            self.shared.last_question.store(now, Ordering::Relaxed);
        }
        is_time
    }

    async fn exists(&self, schema: &str, name: &str) -> Result<bool, LoadError> {
        let client = self.db.as_login().await?;
        Ok(client
            .query_one(EXISTS, &[&schema, &name])
            .await?
            .try_get(0)?)
    }

    /// Loads with these settings, and waits until that is done or has failed.
    pub(crate) async fn load(&self, base: Arc<RestConfig>) {
        let (done, is_done) = oneshot::channel();
        if self
            .orders
            .send(Order::Load(base, Some(done)))
            .await
            .is_ok()
        {
            _ = tokio::time::timeout(FIRST_LOAD_PATIENCE, is_done).await;
        }
    }

    /// What was loaded, however old.
    pub(crate) fn current(&self) -> Option<Arc<Snapshot>> {
        self.shared.snapshot.load_full()
    }
}

struct Task {
    db: ProjectDb,
    base: Arc<RestConfig>,
    settings_of: SettingsRole,
    shared: Arc<Shared>,
    orders: mpsc::Receiver<Order>,
    started: Instant,
    stop: CancellationToken,
    retry_in: Duration,
}

/// Why a session of listening ended.
enum Ended {
    Stopped,
    Idle,
    /// The channel to listen on is another one now.
    OtherChannel,
}

impl Task {
    async fn run(mut self) {
        // Listening starts before the first load, so that nothing falls between the two.
        loop {
            match self.listen().await {
                Ended::Stopped => return,
                Ended::OtherChannel => continue,
                Ended::Idle => {}
            }
            self.shared.state.send_replace(State::Asleep);
            let Some(Order::Load(base, done)) = self.orders.recv().await else {
                return;
            };
            self.base = base;
            self.load().await;
            drop(done);
        }
    }

    async fn listen(&mut self) -> Ended {
        let channel = self.channel();
        let hang_up = self.stop.child_token();
        let _hang_up_at_end = hang_up.clone().drop_guard();
        let (_open, closed) = mpsc::channel(1);
        let mut heard = match &channel {
            Some(channel) => self.db.listen(channel, hang_up),
            None => closed,
        };
        if channel.is_none() || self.shared.snapshot.load().is_none() {
            self.load().await;
        }
        loop {
            if self.channel() != channel {
                return Ended::OtherChannel;
            }
            let is_failing = *self.shared.state.borrow() == State::Failing;
            let mut waiting = Vec::new();
            tokio::select! {
                () = self.stop.cancelled() => return Ended::Stopped,
                order = self.orders.recv() => match order {
                    Some(Order::Load(base, done)) => {
                        self.base = base;
                        waiting.extend(done);
                    }
                    None => return Ended::Stopped,
                },
                heard = heard.recv() => match heard {
                    Some(Heard::Connected) => {}
                    Some(Heard::Notification { payload, .. }) if is_reload(&payload) => {}
                    Some(Heard::Notification { .. }) => continue,
                    None => return Ended::Stopped,
                },
                () = tokio::time::sleep(self.retry_in), if is_failing => {
                    self.retry_in = (self.retry_in * 2).min(LONGEST_RETRY);
                }
                () = tokio::time::sleep(IDLE) => {
                    if self.is_idle() {
                        return Ended::Idle;
                    }
                    continue;
                }
            }
            self.load().await;
            drop(waiting);
            self.coalesce(&mut heard).await;
        }
    }

    /// A burst of notifications, as a migration sends them, makes one more load.
    async fn coalesce(&mut self, heard: &mut mpsc::Receiver<Heard>) {
        let mut again = false;
        let until = tokio::time::Instant::now() + COOL_DOWN;
        let mut waiting = Vec::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => break,
                Some(Heard::Notification { payload, .. }) = heard.recv() => {
                    again |= is_reload(&payload);
                }
                Some(Order::Load(base, done)) = self.orders.recv() => {
                    self.base = base;
                    waiting.extend(done);
                    again = true;
                    break;
                }
            }
        }
        if again {
            self.load().await;
        }
    }

    fn channel(&self) -> Option<String> {
        match &*self.shared.snapshot.load() {
            Some(snapshot) => snapshot.config.channel.clone(),
            None => self.base.channel.clone(),
        }
    }

    fn is_idle(&self) -> bool {
        let last_used = Duration::from_millis(self.shared.last_used.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last_used) >= IDLE
    }

    async fn load(&mut self) {
        let started = Instant::now();
        match self.fetch().await {
            Ok(snapshot) => {
                self.retry_in = FIRST_RETRY;
                let counts = snapshot.cache.counts();
                let elapsed = started.elapsed();
                metrics::gauge!("pgrst_schema_cache_query_time_seconds").set(elapsed);
                metrics::counter!("pgrst_schema_cache_loads_total", "status" => "SUCCESS")
                    .increment(1);
                tracing::debug!(
                    duration_ms = elapsed.as_millis() as u64,
                    "the schema cache was loaded: {counts}"
                );
                self.shared.snapshot.store(Some(Arc::new(snapshot)));
                self.db.forget_statements();
                self.shared.state.send_replace(State::Awake);
            }
            Err(error) => {
                metrics::counter!("pgrst_schema_cache_loads_total", "status" => "FAIL")
                    .increment(1);
                tracing::warn!("the schema cache could not be loaded: {error}");
                self.shared.state.send_replace(State::Failing);
            }
        }
    }

    async fn fetch(&self) -> Result<Snapshot, LoadError> {
        let started = Instant::now();
        let mut client = self.db.as_login().await?;
        let mut config = (*self.base).clone();
        if config.db_config {
            let role = match self.settings_of {
                SettingsRole::Authenticator => "authenticator".to_owned(),
                SettingsRole::Login => client
                    .query_one("select session_user::text", &[])
                    .await?
                    .get(0),
            };
            let found = load_in_database(&client, &role, config.pre_config.as_ref()).await?;
            config = match config.with_overrides(&found) {
                Ok(config) => config,
                Err(problems) => {
                    let previous = self.shared.snapshot.load_full();
                    for problem in problems {
                        tracing::warn!("a setting in the database is left aside: {problem}");
                    }
                    previous.map_or(config, |previous| previous.config.clone())
                }
            };
        }
        if let Some(previous) = self.shared.snapshot.load_full() {
            config = config.continuing(&previous.config);
        }
        let roles = RoleSettings::load(&client).await?;
        let scope = Scope {
            schemas: config.schemas.clone(),
            extra_search_path: config.extra_search_path.clone(),
            hoisted_settings: config.hoisted_tx_settings.clone(),
        };
        let cache = SchemaCache::load(&mut client, &scope).await?;
        for schema in cache.missing_schemas() {
            tracing::debug!("the exposed schema {schema:?} does not exist");
        }
        Ok(Snapshot {
            search_paths: search_paths(&config),
            config,
            roles,
            cache,
            base: self.base.clone(),
            loaded_at: Instant::now(),
            loading_took: started.elapsed(),
        })
    }
}

/// The schema itself, then those that every request may use.
fn search_paths(config: &RestConfig) -> HashMap<String, String> {
    let quoted = |schema: &String| plinth_db::QuotedIdent::new(schema).to_string();
    let of_schema = |schema: &String| {
        let all = std::iter::once(schema).chain(&config.extra_search_path);
        let path: Vec<String> = all.map(quoted).collect();
        (schema.clone(), path.join(", "))
    };
    config.schemas.iter().map(of_schema).collect()
}

fn is_reload(payload: &str) -> bool {
    matches!(payload, "" | "reload schema" | "reload config")
}

#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error(transparent)]
    Connect(#[from] DbError),
    #[error("{}", plinth_db::describe(.0))]
    Query(#[from] tokio_postgres::Error),
}

#[cfg(test)]
mod tests;
