//! The handle to the platform, shared by all its operations and the API.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use plinth_db::{ClientPool, DbError, PooledClient, Target, migrate::MigrationSet};
use plinth_log::LogStore;
use plinth_project::{
    Cluster, FunctionRunner, Project, ProjectFiles, ProjectName, ProjectRef, Registry, ServerRunner,
};
use plinth_token::InstanceKey;
use tokio_postgres::{Client, error::SqlState};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    ConfiguredKeys, ConnectionShare, PlatformError, servers::Isolated, shared_roles::UndoneChanges,
};

/// How long a readiness check may take.
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// Handle to the platform; cheap to clone.
#[derive(Clone)]
pub struct Platform(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    /// The administrating role of the shared server, as it is configured.
    pub(crate) maintenance: Target,
    /// The same on project zero's database, for its own sessions.
    pub(crate) admin: Target,
    pub(crate) pool: ClientPool,
    pub(crate) cluster: Cluster,
    pub(crate) instance_key: InstanceKey,
    pub(crate) schemas: Vec<MigrationSet>,
    pub(crate) configured_keys: ConfiguredKeys,
    pub(crate) references: References,
    /// Whether the default project's database may be dropped and created again.
    pub(crate) owns_default_database: bool,
    pub(crate) trash: Duration,
    pub(crate) logs: LogStore,
    pub(crate) registry: OnceLock<Registry>,
    pub(crate) endpoints: OnceLock<Endpoints>,
    pub(crate) files: OnceLock<Arc<dyn ProjectFiles>>,
    pub(crate) runner: OnceLock<Arc<dyn FunctionRunner>>,
    /// Runs the servers of isolated projects.
    pub(crate) servers: OnceLock<Arc<dyn ServerRunner>>,
    pub(crate) isolated: Isolated,
    /// Whether new projects are isolated unless the request says otherwise.
    pub(crate) isolates_by_default: bool,
    pub(crate) connections: ConnectionShare,
    /// Id of this node, to recognise its own notifications.
    pub(crate) node: Uuid,
    /// Changes of shared roles that were undone.
    pub(crate) undone: UndoneChanges,
    /// Jobs of this node.
    pub(crate) jobs: crate::jobs::Runner,
    /// Events for the streams of this node.
    pub(crate) events: crate::events::Hub,
    /// Sizes of databases, for the list of projects.
    pub(crate) sizes: crate::projects::DatabaseSizes,
    /// Changes in flight.
    pub(crate) tasks: TaskTracker,
    /// Cancelled at shutdown; ends endless responses such as log tails.
    pub(crate) shutdown: CancellationToken,
}

/// The two projects that always exist.
#[derive(Debug, Clone)]
pub struct References {
    /// Project zero.
    pub platform: ProjectRef,
    /// The one served at the root.
    pub default: ProjectRef,
}

/// Addresses of this node, for URLs in responses.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// The public base URL, without a slash at its end.
    pub api_url: String,
    /// Host and port of the database proxy, if there is one.
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

    /// Sets the service that stores the files of projects.
    pub fn attach_file_store(&self, files: Arc<dyn ProjectFiles>) {
        let first = self.0.files.set(files).is_ok();
        debug_assert!(first, "the file store is attached once");
    }

    /// The service that stores the files of projects, if there is one.
    pub(crate) fn file_store(&self) -> Option<&Arc<dyn ProjectFiles>> {
        self.0.files.get()
    }

    /// Sets the service that runs functions. Without one, deployments are stored unchecked.
    pub fn attach_functions(&self, runner: Arc<dyn FunctionRunner>) {
        let first = self.0.runner.set(runner).is_ok();
        debug_assert!(first, "the function runner is attached once");
    }

    /// The service that runs functions, if there is one.
    pub(crate) fn function_runner(&self) -> Option<&Arc<dyn FunctionRunner>> {
        self.0.runner.get()
    }

    /// Ends endless responses such as log tails, so that a shutdown need not wait for them.
    pub fn begin_shutdown(&self) {
        self.0.shutdown.cancel();
    }

    /// Waits for changes in flight.
    pub async fn drain(&self) {
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

    /// Opens the project of that name.
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

    /// A pooled connection to project zero's tables.
    pub(crate) async fn tables(&self) -> Result<PooledClient, DbError> {
        self.0.pool.get().await
    }

    /// A new connection with the administrating role, for transactions and whole-database statements.
    pub(crate) async fn admin(&self) -> Result<Client, DbError> {
        self.0.admin.connect().await
    }

    /// Where to LISTEN for changes, and on which channel; payloads go to
    /// [`Platform::apply_notification`].
    pub fn notification_channel(&self) -> (Target, &'static str) {
        (self.0.admin.clone(), "plinth_platform")
    }

    /// Identifies this installation: by project zero's random ref, and, to distinguish a restored
    /// copy from its original, by the cluster's system identifier.
    pub async fn identity(&self) -> Result<String, DbError> {
        let platform = &self.0.references.platform;
        let sql = "select system_identifier::text from pg_catalog.pg_control_system()";
        let cluster = match self.tables().await?.query_one(sql, &[]).await {
            Ok(row) => row.get(0),
            // Not every external server allows it.
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => String::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(format!("{platform}.{cluster}"))
    }

    /// Readiness: whether the platform's database can be queried, and whether a login like those of
    /// all projects gets a connection. The administrating role alone would not show it: connections
    /// are reserved for it that no other role can use.
    pub async fn is_ready(&self) -> bool {
        let check = async {
            let tables = self.tables().await?;
            tables.batch_execute("select 1").await?;
            let project = self.open(&ProjectName::Platform).await?;
            project.db.as_login().await?;
            Ok::<_, PlatformError>(())
        };
        match tokio::time::timeout(READINESS_TIMEOUT, check).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!("not ready: {error}");
                false
            }
            Err(_) => {
                tracing::warn!("not ready: the database did not respond in time");
                false
            }
        }
    }

    /// Closes idle connections to the platform's own database.
    pub fn close_idle(&self) {
        self.0.pool.close_idle();
    }
}
