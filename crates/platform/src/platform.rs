//! The platform as a value: what its calls and the API share.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use plinth_db::{ClientPool, DbError, PooledClient, Target, migrate::MigrationSet};
use plinth_log::LogStore;
use plinth_project::{
    Cluster, FileKeeper, FunctionRunner, Project, ProjectName, ProjectRef, Registry,
};
use plinth_token::InstanceKey;
use tokio_postgres::{Client, error::SqlState};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{GivenKeys, PlatformError};

/// Handle to the platform; cheap to clone.
#[derive(Clone)]
pub struct Platform(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    /// The administrating role on project zero's database.
    pub(crate) admin: Target,
    pub(crate) pool: ClientPool,
    pub(crate) cluster: Cluster,
    pub(crate) instance_key: InstanceKey,
    pub(crate) schemas: Vec<MigrationSet>,
    pub(crate) given: GivenKeys,
    pub(crate) references: References,
    /// Whether the default project's database is ours to drop and make anew.
    pub(crate) owns_default_database: bool,
    pub(crate) trash: Duration,
    pub(crate) logs: LogStore,
    pub(crate) registry: OnceLock<Registry>,
    pub(crate) endpoints: OnceLock<Endpoints>,
    pub(crate) files: OnceLock<Arc<dyn FileKeeper>>,
    pub(crate) runner: OnceLock<Arc<dyn FunctionRunner>>,
    /// Tells what this process announced from what others did.
    pub(crate) node: Uuid,
    /// Changes under way.
    pub(crate) tasks: TaskTracker,
    /// Ends what would otherwise go on for ever, such as live tails.
    pub(crate) stopping: CancellationToken,
}

/// The two projects that are always there.
#[derive(Debug, Clone)]
pub struct References {
    /// Project zero.
    pub platform: ProjectRef,
    /// The one served at the root.
    pub default: ProjectRef,
}

/// Where this process can be reached, for the URLs that answers contain.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// The public base URL, without a slash at its end.
    pub api_url: String,
    /// Host and port of the database's front door, when there is one.
    pub database: Option<(String, u16)>,
    /// `<ref>.<domain>` is served when a domain is set.
    pub domain: Option<String>,
    /// The URL given with `--database-url`, without its password, when the database is external.
    pub external_database: Option<String>,
}

impl Platform {
    /// Completes the platform once the registry, which looks projects up here, exists.
    pub fn attach(&self, registry: Registry, endpoints: Endpoints) {
        let first =
            self.0.registry.set(registry).is_ok() && self.0.endpoints.set(endpoints).is_ok();
        debug_assert!(first, "the platform is attached once");
    }

    /// Tells the platform who keeps the files of projects.
    pub fn attach_files(&self, files: Arc<dyn FileKeeper>) {
        let first = self.0.files.set(files).is_ok();
        debug_assert!(first, "files have one keeper");
    }

    /// Whoever keeps the files of projects, if anybody does.
    pub(crate) fn file_keeper(&self) -> Option<&Arc<dyn FileKeeper>> {
        self.0.files.get()
    }

    /// Tells the platform who runs the functions of projects. Without anybody they are kept as
    /// they come.
    pub fn attach_functions(&self, runner: Arc<dyn FunctionRunner>) {
        let first = self.0.runner.set(runner).is_ok();
        debug_assert!(first, "functions have one runner");
    }

    /// Whoever runs the functions of projects, if anybody does.
    pub(crate) fn function_runner(&self) -> Option<&Arc<dyn FunctionRunner>> {
        self.0.runner.get()
    }

    /// Ends live tails, so that a stop need not wait for their readers.
    pub fn begin_stop(&self) {
        self.0.stopping.cancel();
    }

    /// Waits for changes under way.
    pub async fn finish(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Its two fixed projects.
    pub fn references(&self) -> &References {
        &self.0.references
    }

    /// What is known about the cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.0.cluster
    }

    /// Where this process can be reached.
    pub fn endpoints(&self) -> &Endpoints {
        self.0
            .endpoints
            .get()
            .expect("attached before anything is served")
    }

    pub(crate) fn registry(&self) -> &Registry {
        self.0
            .registry
            .get()
            .expect("attached before anything is served")
    }

    /// The project of that name, opened.
    pub async fn open(&self, name: &ProjectName) -> Result<Project, PlatformError> {
        Ok(self.registry().get(name).await?)
    }

    /// The ref behind a name, without opening the project.
    pub(crate) fn reference_of(&self, name: &ProjectName) -> ProjectRef {
        match name {
            ProjectName::Default => self.0.references.default.clone(),
            ProjectName::Platform => self.0.references.platform.clone(),
            ProjectName::Ref(reference) => reference.clone(),
        }
    }

    /// Project zero's tables.
    pub(crate) async fn tables(&self) -> Result<PooledClient, DbError> {
        self.0.pool.get().await
    }

    /// A connection of its own for statements that concern databases as wholes.
    pub(crate) async fn admin(&self) -> Result<Client, DbError> {
        self.0.admin.connect().await
    }

    /// The channel on which changes are announced, and where to listen; what is heard there goes
    /// to [`Platform::hear`].
    pub fn announcements(&self) -> (Target, &'static str) {
        (self.0.admin.clone(), "plinth_platform")
    }

    /// Tells this installation from all others: from another one by its random name, from a copy of
    /// its tables by the cluster that they are in.
    pub async fn identity(&self) -> Result<String, DbError> {
        let platform = &self.0.references.platform;
        let sql = "select system_identifier::text from pg_catalog.pg_control_system()";
        let cluster = match self.tables().await?.query_one(sql, &[]).await {
            Ok(row) => row.get(0),
            // Not every server lets everybody know.
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => String::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(format!("{platform}.{cluster}"))
    }

    /// Whether the platform's database answers.
    pub async fn is_ready(&self) -> bool {
        let check = async {
            let tables = self.tables().await?;
            tables.batch_execute("select 1").await?;
            Ok::<_, DbError>(())
        };
        matches!(
            tokio::time::timeout(Duration::from_secs(2), check).await,
            Ok(Ok(()))
        )
    }

    /// Closes idle connections to the platform's own database.
    pub fn close_idle(&self) {
        self.0.pool.close_idle();
    }
}
