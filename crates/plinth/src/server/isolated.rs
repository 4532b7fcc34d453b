//! The PostgreSQL servers of isolated projects: started on first use, stopped when there is no
//! lease.

mod capacity;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use plinth_db::DbError;
use plinth_postgres::{LogEntry, Options, Server, binaries::Search};
use plinth_project::{BoxFuture, ProjectRef, Registry, RunningServer, ServerLease, ServerRunner};
use tokio::{sync::OwnedSemaphorePermit, task::JoinSet};
use tokio_util::sync::CancellationToken;

use capacity::Capacity;

/// How long a server runs on without a lease.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last statement before an idle stop may take.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);
/// After a failed start, others fail at once for this long; doubled each time up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// PostgreSQL is killed after this time, and recovers at the next start.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A server for one project's data beside many others: little memory, few processes.
const DEFAULTS: [(&str, &str); 11] = [
    ("autovacuum_max_workers", "1"),
    ("autovacuum_worker_slots", "1"),
    ("max_connections", "60"),
    ("max_replication_slots", "10"),
    ("max_slot_wal_keep_size", "256MB"),
    ("max_wal_senders", "10"),
    ("max_wal_size", "256MB"),
    ("max_worker_processes", "4"),
    ("min_wal_size", "32MB"),
    ("pg_stat_statements.max", "500"),
    ("shared_buffers", "16MB"),
];

/// Receives each entry of the servers' logs; an isolated server's with its project.
pub(super) type OnLog = Arc<dyn Fn(Option<&ProjectRef>, LogEntry) + Send + Sync>;

/// Runs them. Each has a state folder below one folder, named after its project. Cheap to clone.
///
/// Starts, stops and removals are tasks of their own: a request that goes away while its server
/// recovers must not make the next one begin again.
#[derive(Clone)]
pub(super) struct IsolatedServers(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    binaries: Search,
    settings: BTreeMap<String, String>,
    on_log: OnLog,
    slots: Mutex<HashMap<ProjectRef, Slot>>,
    /// The sockets of those that run.
    running: Mutex<HashMap<ProjectRef, PathBuf>>,
    capacity: Capacity,
    /// Cancelled when the program shuts down; ends a start in progress, which may be a long recovery.
    closed: CancellationToken,
}

/// Locked while its server starts, stops or is removed.
type Slot = Arc<tokio::sync::Mutex<State>>;

#[derive(Default)]
enum State {
    #[default]
    Stopped,
    Running(Running),
    Failed(Failed),
}

/// A start that failed: another one is tried after a while.
struct Failed {
    error: String,
    at: Instant,
    backoff: Duration,
}

struct Running {
    server: Server,
    /// Its other references are leases.
    token: Arc<()>,
    idle_since: Option<Instant>,
    permit: OwnedSemaphorePermit,
}

impl IsolatedServers {
    /// `settings` are PostgreSQL parameters beyond [`DEFAULTS`]; at most `max_running` run at once.
    pub(super) fn new(
        folder: PathBuf,
        binaries: Search,
        settings: &BTreeMap<String, String>,
        max_running: usize,
        on_log: OnLog,
    ) -> Result<Self, plinth_postgres::Error> {
        plinth_postgres::config::check(settings)?;
        let defaults = DEFAULTS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut merged = BTreeMap::from(defaults);
        let given = settings.iter();
        merged.extend(given.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
        Ok(Self(Arc::new(Inner {
            folder,
            binaries,
            settings: merged,
            on_log,
            slots: Mutex::default(),
            running: Mutex::default(),
            capacity: Capacity::new(max_running),
            closed: CancellationToken::new(),
        })))
    }

    /// Sets whose projects may be closed when too many servers run.
    pub(super) fn attach_registry(&self, registry: Registry) {
        let first = self.0.capacity.attach_registry(registry);
        debug_assert!(first, "the registry is attached once");
    }

    /// Stops servers that have had no lease for `timeout`. Called periodically.
    pub(super) async fn stop_idle(&self, timeout: Duration) {
        let mut stopping = JoinSet::new();
        for (name, slot) in self.0.list_slots() {
            // One that is being started or stopped is not idle.
            let Ok(mut state) = slot.try_lock_owned() else {
                continue;
            };
            if state.idle_time().is_some_and(|idle| idle >= timeout) {
                let inner = self.0.clone();
                stopping.spawn(async move { inner.stop_without_lease(&name, &mut state).await });
            }
        }
        while stopping.join_next().await.is_some() {}
    }

    /// Stops all of them, for good.
    pub(super) async fn stop_all(&self) {
        self.0.closed.cancel();
        let names: Vec<ProjectRef> = self.0.slots().keys().cloned().collect();
        let mut stopping = JoinSet::new();
        for name in names {
            let inner = self.0.clone();
            stopping.spawn(async move {
                let mut state = inner.slot(&name).lock_owned().await;
                inner.stop(&name, &mut state).await;
            });
        }
        while stopping.join_next().await.is_some() {}
    }

    /// Does the work as a task, which goes on if its callers have gone.
    async fn run<T, F, Fut>(&self, work: F) -> Result<T, DbError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Inner>) -> Fut,
        Fut: Future<Output = Result<T, DbError>> + Send + 'static,
    {
        let done = tokio::spawn(work(self.0.clone())).await;
        done.unwrap_or_else(|error| Err(DbError::Unavailable(error.to_string())))
    }
}

impl Inner {
    async fn stop(&self, name: &ProjectRef, state: &mut State) {
        self.running().remove(name);
        if let State::Running(running) = std::mem::take(state) {
            running.server.stop(STOP_TIMEOUT).await;
            drop(running.permit);
        }
    }

    async fn stop_without_lease(&self, name: &ProjectRef, state: &mut State) {
        tracing::debug!(project = %name, "stopping the idle PostgreSQL of a project");
        if let State::Running(running) = state {
            drop_replication_slots(&running.server).await;
        }
        self.stop(name, state).await;
    }

    /// Starts the server if it does not run.
    async fn start(&self, name: &ProjectRef, is_new: bool) -> Result<RunningServer, DbError> {
        let mut state = self.slot(name).lock_owned().await;
        if self.closed.is_cancelled() {
            return Err(DbError::NotReady("plinth is shutting down".to_owned()));
        }
        let backoff = match &mut *state {
            State::Running(running) => {
                running.idle_since = None;
                return Ok(running.access());
            }
            State::Failed(failed) if failed.at.elapsed() < failed.backoff => {
                return Err(DbError::Unavailable(failed.error.clone()));
            }
            State::Failed(failed) => (failed.backoff * 2).min(MAX_BACKOFF),
            State::Stopped => MIN_BACKOFF,
        };
        let permit = self.acquire_permit().await?;
        match self.launch(name, is_new).await {
            Ok(server) => {
                let running = Running {
                    server,
                    token: Arc::default(),
                    idle_since: None,
                    permit,
                };
                let access = running.access();
                self.running().insert(name.clone(), access.socket.clone());
                *state = State::Running(running);
                Ok(access)
            }
            Err(error) => {
                tracing::error!(project = %name, "the PostgreSQL of a project does not start: {error}");
                *state = State::Failed(Failed {
                    error: error.clone(),
                    at: Instant::now(),
                    backoff,
                });
                Err(DbError::Unavailable(error))
            }
        }
    }

    async fn launch(&self, name: &ProjectRef, is_new: bool) -> Result<Server, String> {
        let state_dir = self.state_dir(name);
        if !is_new && !has_data(&state_dir) {
            return Err(format!(
                "the data of project {name} is missing: there is no PostgreSQL in {}",
                state_dir.display()
            ));
        }
        let began = Instant::now();
        let mut options = Options::new(state_dir);
        options.binaries = self.binaries.clone();
        options.settings = self.settings.clone();
        let (on_log, project) = (self.on_log.clone(), name.clone());
        let starting = Server::start(options, move |entry| on_log(Some(&project), entry));
        let Some(server) = self.closed.run_until_cancelled(starting).await else {
            return Err("plinth is shutting down".to_owned());
        };
        let server = server.map_err(|error| error.to_string())?;
        tracing::debug!(
            project = %name,
            duration_ms = began.elapsed().as_millis(),
            "started the PostgreSQL of a project"
        );
        Ok(server)
    }

    async fn remove(&self, name: &ProjectRef) -> Result<(), DbError> {
        let mut state = self.slot(name).lock_owned().await;
        self.stop(name, &mut state).await;
        let state_dir = self.state_dir(name);
        let removing =
            tokio::task::spawn_blocking(move || plinth_postgres::remove_cluster(&state_dir));
        let removed = match removing.await {
            Ok(removed) => removed.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        removed.map_err(DbError::Unavailable)?;
        self.slots().remove(name);
        Ok(())
    }

    fn state_dir(&self, name: &ProjectRef) -> PathBuf {
        self.folder.join(name.as_str())
    }

    fn slot(&self, name: &ProjectRef) -> Slot {
        self.slots().entry(name.clone()).or_default().clone()
    }

    fn list_slots(&self) -> Vec<(ProjectRef, Slot)> {
        let slots = self.slots();
        let entries = slots.iter();
        entries
            .map(|(name, slot)| (name.clone(), slot.clone()))
            .collect()
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<ProjectRef, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<ProjectRef, PathBuf>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// How long a running server has had no lease.
    fn idle_time(&mut self) -> Option<Duration> {
        match self {
            Self::Running(running) => running.idle_time(),
            Self::Stopped | Self::Failed(_) => None,
        }
    }
}

impl Running {
    fn access(&self) -> RunningServer {
        RunningServer {
            admin: super::database::superuser(&self.server),
            socket: self.server.connection().socket(),
            lease: ServerLease::new(self.token.clone()),
        }
    }

    /// How long it has had no lease; the first call without one begins the time.
    fn idle_time(&mut self) -> Option<Duration> {
        if Arc::strong_count(&self.token) > 1 {
            self.idle_since = None;
            return None;
        }
        Some(self.idle_since.get_or_insert_with(Instant::now).elapsed())
    }
}

impl ServerRunner for IsolatedServers {
    fn create<'a>(&'a self, reference: &'a ProjectRef) -> BoxFuture<'a, Result<(), DbError>> {
        let name = reference.clone();
        let work = |inner: Arc<Inner>| async move { inner.start(&name, true).await.map(drop) };
        Box::pin(self.run(work))
    }

    fn start<'a>(
        &'a self,
        reference: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<RunningServer, DbError>> {
        let name = reference.clone();
        let work = |inner: Arc<Inner>| async move { inner.start(&name, false).await };
        Box::pin(self.run(work))
    }

    fn remove<'a>(&'a self, reference: &'a ProjectRef) -> BoxFuture<'a, Result<(), DbError>> {
        let name = reference.clone();
        let work = |inner: Arc<Inner>| async move { inner.remove(&name).await };
        Box::pin(self.run(work))
    }

    fn list(&self) -> Vec<ProjectRef> {
        let entries = std::fs::read_dir(&self.0.folder);
        let entries = entries.into_iter().flatten().flatten();
        let with_data = entries.filter(|entry| has_data(&entry.path()));
        let names = with_data.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.parse().ok()).collect()
    }

    fn list_running(&self) -> Vec<(ProjectRef, PathBuf)> {
        let running = self.0.running();
        let entries = running.iter();
        entries
            .map(|(name, socket)| (name.clone(), socket.clone()))
            .collect()
    }
}

/// Whether there is a cluster: an empty folder, as of a volume that is not mounted, is none.
fn has_data(state_dir: &Path) -> bool {
    let outside = std::fs::read_to_string(state_dir.join("data-location"));
    let outside = outside.map(|path| PathBuf::from(path.trim_end_matches('\n')));
    let home = outside.unwrap_or_else(|_| state_dir.to_owned());
    home.join("database/PG_VERSION").exists()
}

/// A crash may have left slots behind, whose WAL would be retained. No client streams from a server
/// without a lease.
async fn drop_replication_slots(server: &Server) {
    let target = super::database::superuser(server);
    let sql = "select pg_catalog.pg_drop_replication_slot(slot_name)
               from pg_catalog.pg_replication_slots
               where starts_with(slot_name::text, 'plinth_rt_') and not active";
    let dropping = async { Ok::<_, DbError>(target.connect().await?.batch_execute(sql).await?) };
    match tokio::time::timeout(CLEANUP_TIMEOUT, dropping).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("dropping unused replication slots failed: {error}"),
        Err(_) => tracing::debug!("timeout: unused replication slots were not dropped"),
    }
}
