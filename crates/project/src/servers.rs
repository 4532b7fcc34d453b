//! The PostgreSQL servers that hold databases of projects: one that most projects share, and one of its
//! own for each isolated project and its branches.
//!
//! A server of an isolated project is started when it is needed and may be stopped once there is
//! no [`ServerLease`] of it. Who starts and stops it is a [`ServerRunner`], which the binary wires.

use std::{any::Any, path::PathBuf, sync::Arc};

use plinth_db::{DbError, Target};

use crate::{ADMIN_OPTIONS, BoxFuture, Cluster, ProjectRef};

/// Which server holds the database of a project. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum ServerName {
    /// The one that all projects share which are not isolated.
    #[default]
    Shared,
    /// The one made for this project; its branches are there, too.
    Isolated(ProjectRef),
}

impl ServerName {
    /// The value in the platform's table: null for the shared server.
    pub fn as_column(&self) -> Option<&str> {
        match self {
            Self::Shared => None,
            Self::Isolated(reference) => Some(reference.as_str()),
        }
    }

    /// Whether it is the server of an isolated project.
    pub fn is_isolated(&self) -> bool {
        matches!(self, Self::Isolated(_))
    }
}

/// While it exists, the server is not stopped for being idle. Cheap to clone.
#[derive(Clone, Default)]
pub struct ServerLease {
    token: Option<Arc<dyn Any + Send + Sync>>,
}

impl ServerLease {
    /// The runner counts the references to `token`.
    pub fn new(token: Arc<dyn Any + Send + Sync>) -> Self {
        Self { token: Some(token) }
    }

    /// Whether it is of a server that may be stopped once there is no lease.
    pub fn is_of_stoppable_server(&self) -> bool {
        self.token.is_some()
    }
}

/// A running server and how to administrate it. Cheap to clone.
#[derive(Clone)]
pub struct ProjectServer {
    /// The administrating role, on a database that always exists, as it is configured: logins of projects
    /// begin with its options. For its own sessions there is [`ProjectServer::administrator`].
    pub admin: Target,
    /// Properties of the server.
    pub cluster: Cluster,
    /// Keeps an isolated server running.
    pub lease: ServerLease,
}

impl ProjectServer {
    /// A server that is not stopped while the program runs.
    pub fn permanent(admin: Target, cluster: Cluster) -> Self {
        let lease = ServerLease::default();
        Self {
            admin,
            cluster,
            lease,
        }
    }

    /// The administrating role, with what its sessions need ([`ADMIN_OPTIONS`]).
    pub fn administrator(&self) -> Target {
        self.admin.options(ADMIN_OPTIONS)
    }
}

/// The servers of all projects, ready for use.
pub trait ProjectServers: Send + Sync {
    /// The server of that name; starts and prepares it if necessary.
    fn server<'a>(&'a self, name: &'a ServerName) -> BoxFuture<'a, Result<ProjectServer, DbError>>;
}

/// One server for everything.
impl ProjectServers for ProjectServer {
    fn server<'a>(&'a self, _: &'a ServerName) -> BoxFuture<'a, Result<ProjectServer, DbError>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

/// A server of an isolated project, as its process was started: reachable, its contents unchecked.
#[derive(Clone)]
pub struct RunningServer {
    /// The superuser, on a database that always exists.
    pub admin: Target,
    /// The socket for clients that speak the wire protocol without a driver.
    pub socket: PathBuf,
    /// Keeps it running.
    pub lease: ServerLease,
}

/// Starts, stops and removes the servers of isolated projects; implemented by the binary.
pub trait ServerRunner: Send + Sync {
    /// Creates the data folder of a new server and starts it.
    fn create<'a>(&'a self, reference: &'a ProjectRef) -> BoxFuture<'a, Result<(), DbError>>;

    /// Starts the server if it does not run.
    fn start<'a>(
        &'a self,
        reference: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<RunningServer, DbError>>;

    /// Stops the server and deletes its data. Succeeds if there is none.
    fn remove<'a>(&'a self, reference: &'a ProjectRef) -> BoxFuture<'a, Result<(), DbError>>;

    /// The servers with a data folder.
    fn list(&self) -> Vec<ProjectRef>;

    /// The servers that run now, with their sockets.
    fn list_running(&self) -> Vec<(ProjectRef, PathBuf)>;
}
