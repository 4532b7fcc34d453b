//! The projects that this process has open.
//!
//! A project is opened by its first request: looked up, its database brought up to date, its
//! pools prepared. Idle ones lose their connections. Changes arrive as the platform's
//! notifications and reach open projects in place, so that nobody is signed out by a rotation.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use plinth_db::{
    DbError, PoolConfig, Target,
    migrate::{self, MigrateError, MigrationSet},
};
use plinth_log::LogStore;
use plinth_settings::{Settings, SettingsHandle};

use crate::{
    Cluster, Directory, DirectoryError, Project, ProjectDb, ProjectKind, ProjectName,
    ProjectRecord, ProjectRef, ProjectStatus,
};

/// Makes a project's settings from what is stored with it. Fixed layers win over stored ones.
pub type SettingsFor =
    dyn Fn(&ProjectRecord) -> Result<Settings, plinth_settings::LoadError> + Send + Sync;

/// Everything that opening a project needs.
pub struct RegistryParts {
    /// Where projects are looked up.
    pub directory: Arc<dyn Directory>,
    /// The administrating role on the cluster.
    pub admin: Target,
    /// What is known about the cluster.
    pub cluster: Cluster,
    /// The system schemas, in the order in which they are installed.
    pub schemas: Vec<MigrationSet>,
    /// Sizes of each project's pools.
    pub pool: PoolConfig,
    /// Where records go.
    pub logs: LogStore,
    /// How settings are made.
    pub settings_for: Box<SettingsFor>,
}

/// All open projects. Cheap to clone.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    parts: RegistryParts,
    open: ArcSwap<HashMap<ProjectRef, Project>>,
    /// The two aliases, once known. They never change while the process runs.
    aliases: ArcSwap<HashMap<ProjectName, ProjectRef>>,
    /// How many announcements came; one that comes while a project is being opened would
    /// otherwise be lost on it.
    announced: AtomicU64,
    /// One refresh at a time, so that an older state cannot overwrite a newer one.
    refreshing: tokio::sync::Mutex<()>,
    /// One opener per project at a time; others wait for its result.
    opening: Mutex<HashMap<ProjectName, Arc<tokio::sync::Mutex<()>>>>,
}

/// Why a project cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such project.
    #[error("there is no project {0}")]
    Unknown(ProjectName),
    /// An operator paused it.
    #[error("project {0} is paused")]
    Paused(ProjectRef),
    /// It is being created, or lies in the trash.
    #[error("project {0} is not ready")]
    NotReady(ProjectRef),
    /// The database does not answer: come back in a moment.
    #[error("the database is not available: {0}")]
    Unavailable(DbError),
    /// It is there, but something is wrong with it that an operator must repair.
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
            announced: AtomicU64::new(0),
            refreshing: tokio::sync::Mutex::default(),
            opening: Mutex::default(),
        }))
    }

    /// The project of that name, opened if it was not.
    pub async fn get(&self, name: &ProjectName) -> Result<Project, OpenError> {
        if let Some(project) = self.find_open(name) {
            project.touch(now());
            return Ok(project);
        }
        // Boxed, because few requests need its room and all would carry it.
        Box::pin(self.open_in_turn(name)).await
    }

    async fn open_in_turn(&self, name: &ProjectName) -> Result<Project, OpenError> {
        let turn = self.turn(name);
        let _turn = turn.lock().await;
        if let Some(project) = self.find_open(name) {
            return Ok(project);
        }
        let before = self.0.announced.load(Ordering::SeqCst);
        let project = self.open(name, ProjectStatus::ActiveHealthy).await?;
        project.touch(now());
        self.remember(&project);
        if self.0.announced.load(Ordering::SeqCst) != before {
            self.refresh(project.reference()).await;
        }
        Ok(project)
    }

    /// A project that is still being made, for whoever makes it; nobody else gets to see it.
    pub async fn open_unready(&self, reference: &ProjectRef) -> Result<Project, OpenError> {
        let name = ProjectName::Ref(reference.clone());
        self.open(&name, ProjectStatus::ComingUp).await
    }

    /// Those that are open now.
    pub fn open_projects(&self) -> Vec<Project> {
        self.0.open.load().values().cloned().collect()
    }

    /// Something about the project changed: takes over its keys and settings, or closes it.
    pub async fn refresh(&self, reference: &ProjectRef) {
        self.0.announced.fetch_add(1, Ordering::SeqCst);
        let _turn = self.0.refreshing.lock().await;
        let Some(project) = self.0.open.load().get(reference).cloned() else {
            return;
        };
        let name = ProjectName::Ref(reference.clone());
        match self.0.parts.directory.find(&name).await {
            Ok(Some(record)) if record.status == ProjectStatus::ActiveHealthy => {
                match (self.0.parts.settings_for)(&record) {
                    Ok(settings) => drop(project.settings().replace(settings)),
                    Err(error) => {
                        tracing::error!(project = %reference, "settings not taken over: {error}");
                    }
                }
                project.replace_keys(record.keys);
            }
            Ok(_) => self.close(reference),
            Err(error) => {
                tracing::warn!(project = %reference, "could not refresh a project: {error}");
            }
        }
    }

    /// Refreshes every open project, as after notifications may have been missed.
    pub async fn refresh_all(&self) {
        for project in self.open_projects() {
            self.refresh(project.reference()).await;
        }
    }

    /// Forgets the project and closes its connections.
    pub fn close(&self, reference: &ProjectRef) {
        if let Some(project) = self.0.open.load().get(reference) {
            project.closed().cancel();
            project.db.close();
        }
        self.0.open.rcu(|open| {
            let mut open = HashMap::clone(open);
            open.remove(reference);
            open
        });
    }

    /// Closes connections that nobody uses, and projects that nobody asked for in `idle`.
    pub fn close_idle(&self, idle: Duration) {
        let oldest = now() - i64::try_from(idle.as_secs()).unwrap_or(i64::MAX);
        for project in self.open_projects() {
            let is_idle = project.last_used() < oldest && !project.must_stay_open();
            if is_idle && project.kind() != ProjectKind::Platform {
                self.close(project.reference());
            } else {
                project.db.close_idle();
            }
        }
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
            database,
            logins,
            keys,
            ..
        } = record;
        let db = ProjectDb::new(
            &parts.admin,
            &parts.cluster,
            &reference,
            &database,
            logins,
            parts.pool,
        );
        bring_up_to_date(&db, &parts.schemas)
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

    fn remember(&self, project: &Project) {
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

    fn turn(&self, name: &ProjectName) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = self
            .0
            .opening
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Whoever still waits holds a clone; the rest can go.
        opening.retain(|_, turn| Arc::strong_count(turn) > 1);
        opening.entry(name.clone()).or_default().clone()
    }
}

async fn bring_up_to_date(db: &ProjectDb, schemas: &[MigrationSet]) -> Result<(), MigrateError> {
    let mut admin = db.as_admin().await?;
    if !migrate::is_current(&admin, schemas).await? {
        migrate::migrate(&mut admin, schemas).await?;
    }
    Ok(())
}

fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}
