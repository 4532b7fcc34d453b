//! The open projects of this process.
//!
//! A project is opened by its first request: it is looked up in the directory, and its system schemas
//! are migrated. Idle projects are closed. Changes arrive as notifications of the platform and are
//! applied to the open project.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use plinth_db::{
    DbError, PoolConfig,
    migrate::{self, MigrateError, MigrationSet},
};
use plinth_log::LogStore;
use plinth_settings::{Settings, SettingsHandle};

use crate::{
    Directory, DirectoryError, Project, ProjectDb, ProjectKind, ProjectName, ProjectRecord,
    ProjectRef, ProjectServers, ProjectStatus,
};

/// Loads a project's settings; stored values are the lowest layer above the defaults.
pub type SettingsFor =
    dyn Fn(&ProjectRecord) -> Result<Settings, plinth_settings::LoadError> + Send + Sync;

/// How many repairs in closed projects are remembered.
const MAX_PAST_REPAIRS: usize = 20;

/// Everything that opening a project needs.
pub struct RegistryParts {
    /// Where projects are looked up.
    pub directory: Arc<dyn Directory>,
    /// The servers that hold the databases.
    pub servers: Arc<dyn ProjectServers>,
    /// The system schemas, in the order in which they are installed.
    pub schemas: Vec<MigrationSet>,
    /// Sizes of each project's pools.
    pub pool: PoolConfig,
    /// Receives log records.
    pub logs: LogStore,
    /// Loads settings.
    pub settings_for: Box<SettingsFor>,
}

/// All open projects. Cheap to clone.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    parts: RegistryParts,
    open: ArcSwap<HashMap<ProjectRef, Project>>,
    /// The two aliases, once resolved. They never change while the process runs.
    aliases: ArcSwap<HashMap<ProjectName, ProjectRef>>,
    /// Number of refreshes, to detect one that happens while a project is being opened.
    refreshes: AtomicU64,
    /// Serialises refreshes, so that an older state cannot overwrite a newer one.
    refresh_lock: tokio::sync::Mutex<()>,
    /// What was restored in projects that have been closed since.
    past_repairs: Mutex<VecDeque<String>>,
    /// Locks that make concurrent requests wait for one opening per project.
    open_locks: Mutex<HashMap<ProjectName, Arc<tokio::sync::Mutex<()>>>>,
}

/// A project cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such project.
    #[error("there is no project {0}")]
    Unknown(ProjectName),
    /// An operator paused it.
    #[error("project {0} is paused")]
    Paused(ProjectRef),
    /// It is being created.
    #[error("project {0} is not ready")]
    NotReady(ProjectRef),
    /// The database cannot be reached; worth a retry.
    #[error("the database is not available: {0}")]
    Unavailable(DbError),
    /// An operator must repair it.
    #[error("project {0} cannot be opened: {1}")]
    Broken(ProjectName, String),
}

impl Registry {
    /// An empty registry.
    pub fn new(parts: RegistryParts) -> Self {
        Self(Arc::new(Inner {
            parts,
            open: ArcSwap::default(),
            aliases: ArcSwap::default(),
            refreshes: AtomicU64::new(0),
            refresh_lock: tokio::sync::Mutex::default(),
            past_repairs: Mutex::default(),
            open_locks: Mutex::default(),
        }))
    }

    /// The project of that name; opens it if necessary.
    pub async fn get(&self, name: &ProjectName) -> Result<Project, OpenError> {
        if let Some(project) = self.find_open(name) {
            project.touch(now());
            return Ok(project);
        }
        // Boxed: few requests need this large future, and it would be part of every request's.
        Box::pin(self.open_once(name)).await
    }

    async fn open_once(&self, name: &ProjectName) -> Result<Project, OpenError> {
        let lock = self.open_lock(name);
        let _guard = lock.lock().await;
        if let Some(project) = self.find_open(name) {
            return Ok(project);
        }
        let before = self.0.refreshes.load(Ordering::SeqCst);
        let project = self.open(name, ProjectStatus::ActiveHealthy).await?;
        project.touch(now());
        self.insert(&project);
        if self.0.refreshes.load(Ordering::SeqCst) != before {
            self.refresh(project.reference()).await;
        }
        Ok(project)
    }

    /// Opens a project that is being created, for its creation only; it is not registered.
    pub async fn open_incomplete(&self, reference: &ProjectRef) -> Result<Project, OpenError> {
        let name = ProjectName::Ref(reference.clone());
        self.open(&name, ProjectStatus::ComingUp).await
    }

    /// The settings that a project with this record has, without opening it.
    pub fn settings_for(
        &self,
        record: &ProjectRecord,
    ) -> Result<Settings, plinth_settings::LoadError> {
        (self.0.parts.settings_for)(record)
    }

    /// The open projects.
    pub fn open_projects(&self) -> Vec<Project> {
        self.0.open.load().values().cloned().collect()
    }

    /// Reloads keys and settings of an open project, or closes it if it is not active any more.
    pub async fn refresh(&self, reference: &ProjectRef) {
        self.0.refreshes.fetch_add(1, Ordering::SeqCst);
        let _guard = self.0.refresh_lock.lock().await;
        let Some(project) = self.0.open.load().get(reference).cloned() else {
            return;
        };
        let name = ProjectName::Ref(reference.clone());
        match self.0.parts.directory.find(&name).await {
            Ok(Some(record)) if record.status == ProjectStatus::ActiveHealthy => {
                match (self.0.parts.settings_for)(&record) {
                    Ok(settings) => drop(project.settings().replace(settings)),
                    Err(error) => {
                        tracing::error!(
                            project = %reference,
                            "reloading settings failed, keeping the old ones: {error}"
                        );
                    }
                }
                project.replace_keys(record.keys);
            }
            Ok(_) => self.close(reference),
            Err(error) => {
                tracing::warn!(project = %reference, "refreshing a project failed: {error}");
            }
        }
    }

    /// Refreshes every open project, as after notifications may have been missed.
    pub async fn refresh_all(&self) {
        for project in self.open_projects() {
            self.refresh(project.reference()).await;
        }
    }

    /// Closes the project and its connections.
    pub fn close(&self, reference: &ProjectRef) {
        if let Some(project) = self.0.open.load().get(reference) {
            project.closed().cancel();
            project.db.close();
            self.remember_repairs(project);
        }
        self.0.open.rcu(|open| {
            let mut open = HashMap::clone(open);
            open.remove(reference);
            open
        });
    }

    /// Logins and shared roles that had to be restored in projects, one phrase each: the latest ones.
    pub fn repairs(&self) -> Vec<String> {
        let mut repairs: Vec<String> = {
            let past = self.0.past_repairs.lock();
            let past = past.unwrap_or_else(PoisonError::into_inner);
            past.iter().cloned().collect()
        };
        repairs.extend(self.open_projects().iter().flat_map(repairs_of));
        repairs
    }

    fn remember_repairs(&self, project: &Project) {
        let past = self.0.past_repairs.lock();
        let mut past = past.unwrap_or_else(PoisonError::into_inner);
        past.extend(repairs_of(project));
        while past.len() > MAX_PAST_REPAIRS {
            past.pop_front();
        }
    }

    /// Closes idle connections, and projects without a request for `idle`.
    pub fn close_idle(&self, idle: Duration) {
        let oldest = idle_since(idle);
        for project in self.open_projects() {
            let is_idle =
                project.last_used() < oldest && !project.is_kept_open() && !project.db.is_in_use();
            if is_idle && project.kind() != ProjectKind::Platform {
                self.close(project.reference());
            } else {
                project.db.close_idle();
            }
        }
    }

    /// Closes the project without a request for longest, and for `min_idle` at least, among those whose
    /// servers can then be stopped. False if there is none.
    pub fn close_least_recently_used(&self, min_idle: Duration) -> bool {
        let oldest = idle_since(min_idle);
        let idle = self.open_projects().into_iter().filter(|project| {
            project.db.is_on_stoppable_server()
                && project.last_used() < oldest
                && !project.is_kept_open()
                // Closing it would fail the requests that wait for a connection, and free no server
                // before the others end.
                && !project.db.is_in_use()
        });
        let Some(project) = idle.min_by_key(Project::last_used) else {
            return false;
        };
        self.close(project.reference());
        true
    }

    async fn open(
        &self,
        name: &ProjectName,
        expected: ProjectStatus,
    ) -> Result<Project, OpenError> {
        let parts = &self.0.parts;
        let broken = |reason: String| OpenError::Broken(name.clone(), reason);
        let record = match parts.directory.find(name).await {
            Ok(Some(record)) => record,
            Ok(None) => return Err(OpenError::Unknown(name.clone())),
            Err(DirectoryError::Database(error)) => return Err(OpenError::Unavailable(error)),
            Err(error) => return Err(broken(error.to_string())),
        };
        match record.status {
            status if status == expected => {}
            ProjectStatus::ActiveHealthy => return Err(broken("it is served already".to_owned())),
            ProjectStatus::Inactive => return Err(OpenError::Paused(record.reference)),
            ProjectStatus::ComingUp => return Err(OpenError::NotReady(record.reference)),
            ProjectStatus::Removed => return Err(OpenError::Unknown(name.clone())),
        }
        let settings = (parts.settings_for)(&record).map_err(|error| broken(error.to_string()))?;
        let ProjectRecord {
            reference,
            kind,
            server,
            database,
            logins,
            keys,
            ..
        } = record;
        let server = parts.servers.server(&server).await;
        let server = server.map_err(|error| match error {
            error if error.is_transient() => OpenError::Unavailable(error),
            error => broken(error.to_string()),
        })?;
        let db = ProjectDb::new(&server, &reference, &database, logins, parts.pool);
        prepare_database(&reference, &db, &parts.schemas)
            .await
            .map_err(|error| match error {
                MigrateError::Database(error) if error.is_transient() => {
                    OpenError::Unavailable(error)
                }
                error => broken(error.to_string()),
            })?;
        let settings = SettingsHandle::new(settings);
        Ok(Project::new(
            reference,
            kind,
            db,
            keys,
            settings,
            parts.logs.clone(),
        ))
    }

    fn find_open(&self, name: &ProjectName) -> Option<Project> {
        let open = self.0.open.load();
        let aliases;
        let reference = match name {
            ProjectName::Ref(reference) => reference,
            alias => {
                aliases = self.0.aliases.load();
                aliases.get(alias)?
            }
        };
        open.get(reference).cloned()
    }

    fn insert(&self, project: &Project) {
        let reference = project.reference();
        self.0.open.rcu(|open| {
            let mut open = HashMap::clone(open);
            open.insert(reference.clone(), project.clone());
            open
        });
        let alias = match project.kind() {
            ProjectKind::Default => ProjectName::Default,
            ProjectKind::Platform => ProjectName::Platform,
            ProjectKind::Ordinary => return,
        };
        self.0.aliases.rcu(|aliases| {
            let mut aliases = HashMap::clone(aliases);
            aliases.insert(alias.clone(), reference.clone());
            aliases
        });
    }

    fn open_lock(&self, name: &ProjectName) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self
            .0
            .open_locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A lock in use has another reference.
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        locks.entry(name.clone()).or_default().clone()
    }
}

fn repairs_of(project: &Project) -> Vec<String> {
    let repairs = project.db.repairs().into_iter();
    let named = repairs.map(|repair| format!("{repair} ({})", project.reference()));
    named.collect()
}

/// Brings the system schemas up to date, and restores logins that were changed behind our back.
async fn prepare_database(
    reference: &ProjectRef,
    db: &ProjectDb,
    schemas: &[MigrationSet],
) -> Result<(), MigrateError> {
    let mut admin = db.as_admin().await?;
    if !migrate::is_current(&admin, schemas).await? {
        migrate::migrate(&mut admin, schemas).await?;
    }
    if let Err(error) = db.check_roles(&mut admin).await {
        // The logins may work all the same; if not, the first connection tries again.
        tracing::warn!(project = %reference, "checking the roles failed: {error}");
    }
    Ok(())
}

/// The last request of a project is before this time if it has been idle for so long.
fn idle_since(idle: Duration) -> i64 {
    now().saturating_sub(i64::try_from(idle.as_secs()).unwrap_or(i64::MAX))
}

fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}
