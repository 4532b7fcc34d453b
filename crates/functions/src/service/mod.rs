//! The service: one value for all projects.
//!
//! `project_cache` knows functions and their environment, `prepare` readies their code, `boot` and
//! `prewarmed` start workers, `watch` follows changes of the folder, `runner` serves the platform.

mod boot;
mod directories;
mod prepare;
mod prewarmed;
mod process_permits;
mod project_cache;
mod runner;
mod watch;

use std::{
    collections::HashMap,
    fs,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak, atomic::AtomicU64},
};

use plinth_project::{FunctionHost, FunctionStore, Project, ProjectRef};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::project_cache::FoundFunction;
use self::{directories::RuntimeDirs, prewarmed::PrewarmedProcesses, project_cache::ProjectCache};
use crate::{
    accounts::{Accounts, UserTable},
    catalog::{FolderFunctions, SourcesInUse},
    deno::Deno,
    pool::{Generation, Pool},
};

/// What the service is made from.
pub struct FunctionsParts {
    /// The runtime.
    pub deno: Deno,
    /// Where prepared code and packages are kept. It may be deleted while Plinth is stopped.
    pub home: PathBuf,
    /// Which project has which system user.
    pub users: UserTable,
    /// The folder with `supabase/functions` in it, whose functions are the default project's.
    pub folder: Option<PathBuf>,
    /// Whether callers of the folder's functions develop them, and get detailed errors.
    pub is_developing: bool,
    /// Limit on the worker processes of all functions together.
    pub max_workers: Option<usize>,
    /// An address that only workers connect to, where there is one.
    pub internal_address: Option<IpAddr>,
    /// Knows the URLs and keys of projects.
    pub host: Arc<dyn FunctionHost>,
}

/// The functions service. Cheap to clone.
#[derive(Clone)]
pub struct FunctionsService(Arc<Inner>);

struct Inner {
    parts: FunctionsParts,
    runtime_dirs: OnceLock<RuntimeDirs>,
    runtime_dirs_lock: Mutex<()>,
    /// Directories in which code is being prepared.
    work_dir_locks: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
    folder: Option<FolderFunctions>,
    store: OnceLock<Arc<dyn FunctionStore>>,
    projects: Mutex<HashMap<ProjectRef, ProjectCache>>,
    /// Counts announced changes: what was read before one is not cached after it.
    epoch: AtomicU64,
    sources_in_use: SourcesInUse,
    accounts: Accounts,
    pools: Mutex<HashMap<(ProjectRef, String), Arc<Pool>>>,
    prewarmed: PrewarmedProcesses,
    /// One per worker process, prewarmed ones included.
    process_permits: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Cancelled first: websockets close.
    closing_connections: CancellationToken,
    /// Cancelled then: no worker is started any more, and all of them retire.
    shutdown: CancellationToken,
}

impl FunctionsService {
    /// A service without workers. It can be made without the runtime; functions respond with an error
    /// then.
    pub fn new(parts: FunctionsParts) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let permits = parts.max_workers.unwrap_or(cores * 8);
        let folder = parts.folder.as_deref().map(FolderFunctions::new);
        Self(Arc::new(Inner {
            folder,
            accounts: Accounts::new(parts.home.clone(), parts.users.clone()),
            parts,
            runtime_dirs: OnceLock::new(),
            runtime_dirs_lock: Mutex::default(),
            work_dir_locks: Mutex::default(),
            store: OnceLock::new(),
            projects: Mutex::default(),
            epoch: AtomicU64::new(0),
            sources_in_use: SourcesInUse::default(),
            pools: Mutex::default(),
            prewarmed: PrewarmedProcesses::default(),
            process_permits: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
            tasks: TaskTracker::new(),
            closing_connections: CancellationToken::new(),
            shutdown: CancellationToken::new(),
        }))
    }

    /// Whether only workers connect to the address.
    pub(crate) fn is_internal_address(&self, address: IpAddr) -> bool {
        self.0.parts.internal_address == Some(address)
    }

    /// Sets the store of deployed functions and secrets. Only the first one counts.
    pub fn attach_store(&self, store: Arc<dyn FunctionStore>) {
        _ = self.0.store.set(store);
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// Cancelled when websockets must close.
    pub(crate) fn closing_connections(&self) -> &CancellationToken {
        &self.0.closing_connections
    }

    /// Closes open websockets. The gateway waits for requests in flight.
    pub fn begin_stop(&self) {
        self.0.closing_connections.cancel();
    }

    /// Shuts all workers down, with a grace period for work after responses, and waits for them.
    pub async fn finish(&self) {
        self.0.closing_connections.cancel();
        self.0.shutdown.cancel();
        for (_, pool) in self.pools().drain() {
            pool.shut_down(None);
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.prewarmed.kill_all().await;
        if let Some(dirs) = self.0.runtime_dirs.get() {
            _ = fs::remove_dir_all(&dirs.run_dir);
        }
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<(ProjectRef, String), Arc<Pool>>> {
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectRef, ProjectCache>> {
        self.0
            .projects
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn project_home(&self, project: &ProjectRef) -> PathBuf {
        self.0.parts.home.join(project.as_str())
    }

    /// The pool of a function.
    pub(crate) fn pool(&self, project: &Project, generation: &Generation) -> Arc<Pool> {
        let key = (
            project.reference().clone(),
            generation.function.slug.clone(),
        );
        let mut pools = self.pools();
        let pool = pools
            .entry(key)
            .or_insert_with(|| Arc::new(Pool::new(generation.clone())));
        pool.clone()
    }
}
