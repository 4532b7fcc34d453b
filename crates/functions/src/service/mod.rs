//! The service: one value for all projects.

mod boot;
mod ground;
mod known;
mod runner;
mod spares;
mod watch;

use std::{
    collections::HashMap,
    fs,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak, atomic::AtomicU64},
};

use plinth_project::{FunctionHost, FunctionShelf, Project, ProjectRef};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::known::Found;
use self::{ground::Ground, known::Known, spares::Spares};
use crate::{
    catalog::{FolderFunctions, InUse},
    deno::Deno,
    pool::{Generation, Pool},
};

/// What the service is made from.
pub struct FunctionsParts {
    /// The runtime.
    pub deno: Deno,
    /// Where code and packages are kept ready; nothing is lost with it.
    pub home: PathBuf,
    /// The folder with `supabase/functions` in it, whose functions are the default project's.
    pub folder: Option<PathBuf>,
    /// Whether whoever calls functions of the folder is developing them.
    pub is_developing: bool,
    /// Most workers of all functions together.
    pub max_workers: Option<usize>,
    /// An address at which nobody but workers calls, where there is one.
    pub door: Option<IpAddr>,
    /// Tells what functions are told about their project.
    pub host: Arc<dyn FunctionHost>,
}

/// The functions service. Cheap to clone.
#[derive(Clone)]
pub struct FunctionsService(Arc<Inner>);

struct Inner {
    parts: FunctionsParts,
    ground: OnceLock<Ground>,
    ground_turn: Mutex<()>,
    /// Folders in which code is made ready at the moment.
    turns: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
    folder: Option<FolderFunctions>,
    shelf: OnceLock<Arc<dyn FunctionShelf>>,
    projects: Mutex<HashMap<ProjectRef, Known>>,
    /// How often somebody said that something changed: what was read before is not kept.
    changes: AtomicU64,
    /// Deployed functions whose sources must stay on the disk.
    in_use: InUse,
    pools: Mutex<HashMap<(ProjectRef, String), Arc<Pool>>>,
    spares: Spares,
    permits: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Connections that stay go.
    stop: CancellationToken,
    /// Nobody is started any more.
    end: CancellationToken,
}

impl FunctionsService {
    /// A service without a single worker. Without the runtime it can be made too, and says so when it
    /// is asked.
    pub fn new(parts: FunctionsParts) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let permits = parts.max_workers.unwrap_or(cores * 8);
        let folder = parts.folder.as_deref().map(FolderFunctions::new);
        Self(Arc::new(Inner {
            folder,
            parts,
            ground: OnceLock::new(),
            ground_turn: Mutex::default(),
            turns: Mutex::default(),
            shelf: OnceLock::new(),
            projects: Mutex::default(),
            changes: AtomicU64::new(0),
            in_use: InUse::default(),
            pools: Mutex::default(),
            spares: Spares::default(),
            permits: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            end: CancellationToken::new(),
        }))
    }

    /// Whether nobody but workers calls at the address.
    pub(crate) fn is_inner_door(&self, address: IpAddr) -> bool {
        self.0.parts.door == Some(address)
    }

    /// Says who keeps deployed functions and secrets.
    pub fn attach_shelf(&self, shelf: Arc<dyn FunctionShelf>) {
        // Whoever was first stays.
        _ = self.0.shelf.set(shelf);
    }

    pub(crate) fn tasks(&self) -> TaskTracker {
        self.0.tasks.clone()
    }

    /// Cancelled when connections that stay must go.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Ends open websockets. Requests are the edge's to wait for.
    pub fn begin_stop(&self) {
        self.0.stop.cancel();
    }

    /// Ends all workers, with time to finish what goes on after answers, and waits for them.
    pub async fn finish(&self) {
        self.0.stop.cancel();
        self.0.end.cancel();
        for (_, pool) in self.pools().drain() {
            pool.end_all(None);
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.spares.end_all().await;
        if let Some(ground) = self.0.ground.get() {
            _ = fs::remove_dir_all(&ground.run_dir);
        }
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<(ProjectRef, String), Arc<Pool>>> {
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectRef, Known>> {
        self.0
            .projects
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn project_home(&self, project: &ProjectRef) -> PathBuf {
        self.0.parts.home.join(project.as_str())
    }

    /// The workers of a function.
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
