//! The PostgreSQL servers of projects: the shared one, and those of isolated projects, which are
//! prepared like the shared one when they are first used: roles, template, no leftovers.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use plinth_db::{DbError, Target};
use plinth_project::{
    ADMIN_OPTIONS, BoxFuture, Cluster, ClusterError, LoginLimits, ProjectName, ProjectRef,
    ProjectServer, ProjectServers, ProjectStatus, RunningServer, ServerLease, ServerName,
    ServerRunner, prepare_cluster,
};
use tokio::sync::OnceCell;
use tokio_postgres::Client;

use crate::{Platform, PlatformError, databases};

/// What this process knows about the servers of isolated projects.
#[derive(Default)]
pub(crate) struct Isolated {
    /// Prepared by this process.
    prepared: Mutex<HashMap<ProjectRef, Arc<OnceCell<Cluster>>>>,
    /// Which server has which project. An entry never becomes wrong.
    names: Mutex<HashMap<ProjectRef, ServerName>>,
}

/// The servers of isolated projects, as they are now.
pub(crate) struct Servers {
    /// Those with a data folder.
    pub(crate) existing: Vec<ProjectRef>,
    /// Those that run.
    pub(crate) running: Vec<ProjectRef>,
}

/// A server of an isolated project, for connections of owners and their tools.
pub struct IsolatedServer {
    /// The project that it was made for.
    pub name: ProjectRef,
    /// The process.
    pub running: RunningServer,
    /// How many connections it has for tools.
    pub tool_connections: u32,
}

impl ProjectServers for Platform {
    fn server<'a>(&'a self, name: &'a ServerName) -> BoxFuture<'a, Result<ProjectServer, DbError>> {
        Box::pin(async move {
            match name {
                ServerName::Shared => Ok(self.shared_server()),
                ServerName::Isolated(reference) => self.isolated_server(reference).await,
            }
        })
    }
}

impl Platform {
    /// Sets who runs the servers of isolated projects. Without one, none can be created.
    pub fn attach_server_runner(&self, runner: Arc<dyn ServerRunner>) {
        let first = self.0.servers.set(runner).is_ok();
        debug_assert!(first, "the server runner is attached once");
    }

    /// Whether new projects can be isolated: only where Plinth runs PostgreSQL.
    pub(crate) fn can_isolate(&self) -> bool {
        self.0.servers.get().is_some()
    }

    fn shared_server(&self) -> ProjectServer {
        ProjectServer::permanent(self.0.maintenance.clone(), self.0.cluster.clone())
    }

    fn server_runner(&self) -> Result<&Arc<dyn ServerRunner>, DbError> {
        self.0.servers.get().ok_or_else(|| {
            DbError::Unavailable("isolated projects need the managed PostgreSQL".to_owned())
        })
    }

    async fn isolated_server(&self, reference: &ProjectRef) -> Result<ProjectServer, DbError> {
        let running = self.server_runner()?.start(reference).await?;
        let admin = running.admin.options(ADMIN_OPTIONS);
        let prepared = self.0.isolated.prepared();
        let prepared = { prepared }.entry(reference.clone()).or_default().clone();
        let cluster = match prepared.get() {
            Some(cluster) => cluster.clone(),
            None => self.prepare_once(prepared, &admin, &running.lease).await?,
        };
        Ok(ProjectServer {
            admin: running.admin,
            cluster,
            lease: running.lease,
        })
    }

    /// A task of its own, so that a request that goes away does not make the next one begin again.
    async fn prepare_once(
        &self,
        prepared: Arc<OnceCell<Cluster>>,
        admin: &Target,
        lease: &ServerLease,
    ) -> Result<Cluster, DbError> {
        let (platform, admin, lease) = (self.clone(), admin.clone(), lease.clone());
        let preparing = tokio::spawn(async move {
            let prepare = || platform.prepare_isolated(&admin);
            let cluster = prepared.get_or_try_init(prepare).await.cloned();
            drop(lease);
            cluster
        });
        let done = preparing.await;
        done.unwrap_or_else(|error| Err(DbError::Unavailable(error.to_string())))
    }

    async fn prepare_isolated(&self, admin: &Target) -> Result<Cluster, DbError> {
        let mut client = admin.connect().await?;
        let mut cluster =
            prepare_cluster(&mut client, true)
                .await
                .map_err(|error| match error {
                    ClusterError::Database(error) => error,
                    error => DbError::Unavailable(error.to_string()),
                })?;
        let share = self.0.connections;
        cluster.login_limits = Some(LoginLimits::new(
            cluster.connection_slots,
            share.owner,
            share.pool_size,
        ));
        for database in [admin.database_name(), "postgres"] {
            databases::revoke_public_connect(&client, database).await?;
        }
        databases::ensure_template(admin, &mut client, &self.0.schemas)
            .await
            .map_err(|error| match error {
                PlatformError::Unavailable(error) => error,
                error => DbError::Unavailable(format!("the template cannot be made: {error}")),
            })?;
        drop_leftovers(&client).await?;
        Ok(cluster)
    }

    /// Creates the server of a new isolated project.
    pub(crate) async fn create_server(&self, name: &ServerName) -> Result<(), PlatformError> {
        if let ServerName::Isolated(reference) = name {
            self.server_runner()?.create(reference).await?;
        }
        Ok(())
    }

    /// Removes the server of an isolated project with everything in it.
    pub(crate) async fn remove_server(&self, reference: &ProjectRef) -> Result<(), PlatformError> {
        self.server_runner()?.remove(reference).await?;
        self.0.isolated.prepared().remove(reference);
        let mut names = self.0.isolated.names();
        names.retain(|_, name| *name != ServerName::Isolated(reference.clone()));
        Ok(())
    }

    /// Whether a project can be used without starting a server.
    pub fn is_running(&self, name: &ServerName) -> bool {
        match (name, self.0.servers.get()) {
            (ServerName::Shared, _) => true,
            (ServerName::Isolated(reference), Some(runner)) => {
                let running = runner.list_running();
                running.iter().any(|(name, _)| name == reference)
            }
            (ServerName::Isolated(_), None) => false,
        }
    }

    /// The servers of isolated projects.
    pub(crate) fn isolated_servers(&self) -> Servers {
        let runner = self.0.servers.get();
        let running = runner.map_or_else(Vec::new, |runner| runner.list_running());
        Servers {
            existing: runner.map_or_else(Vec::new, |runner| runner.list()),
            running: running.into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// Starts the server of an isolated project for a connection of its owner; `None` if it is on the
    /// shared server, or unknown. For one that is paused or in the trash nothing is started.
    pub async fn isolated_server_of(
        &self,
        reference: &ProjectRef,
    ) -> Result<Option<IsolatedServer>, PlatformError> {
        let name = match self.server_name(reference).await {
            Ok(ServerName::Isolated(name)) => name,
            Ok(ServerName::Shared) | Err(PlatformError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        // If the server slept when the project was paused, its database still accepts connections.
        let project = ProjectName::Ref(reference.clone());
        let status = self.load_project(&project).await?.status;
        if status != ProjectStatus::ActiveHealthy {
            let message = format!("project {reference} is {status}");
            return Err(PlatformError::Conflict(message));
        }
        // Until it is started for the connection, its lease keeps it from being stopped.
        let server = self.isolated_server(&name).await?;
        Ok(Some(IsolatedServer {
            running: self.server_runner()?.start(&name).await?,
            tool_connections: server.cluster.connection_slots.for_tools(),
            name,
        }))
    }

    /// The sockets of all isolated servers that run.
    pub fn isolated_sockets(&self) -> Vec<PathBuf> {
        let runner = self.0.servers.get();
        let running = runner.map_or_else(Vec::new, |runner| runner.list_running());
        running.into_iter().map(|(_, socket)| socket).collect()
    }

    pub(crate) async fn server_name(
        &self,
        reference: &ProjectRef,
    ) -> Result<ServerName, PlatformError> {
        if let Some(name) = self.0.isolated.names().get(reference) {
            return Ok(name.clone());
        }
        let name = ProjectName::Ref(reference.clone());
        let name = self.load_project(&name).await?.server;
        let mut names = self.0.isolated.names();
        names.insert(reference.clone(), name.clone());
        Ok(name)
    }
}

impl Isolated {
    fn prepared(&self) -> MutexGuard<'_, HashMap<ProjectRef, Arc<OnceCell<Cluster>>>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, HashMap<ProjectRef, ServerName>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Databases of an interrupted reset.
async fn drop_leftovers(admin: &Client) -> Result<(), DbError> {
    let sql = "select datname::text from pg_catalog.pg_database
               where datname ~ '^[a-z]{20}_(new|old)$'";
    for row in &admin.query(sql, &[]).await? {
        let name: String = row.get(0);
        databases::drop_database(admin, &name).await?;
        tracing::info!("dropped the leftover database {name}");
    }
    Ok(())
}
