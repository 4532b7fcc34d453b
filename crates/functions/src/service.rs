//! The service: one value for all projects.

use std::{
    collections::HashMap,
    fs, io,
    net::IpAddr,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use plinth_log::Level;
use plinth_project::{
    BadSource, BoxFuture, FunctionHost, FunctionRunner, FunctionShelf, FunctionSource, Project,
    ProjectKeys, ProjectKind, ProjectRef,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;
use uuid::Uuid;

use crate::{
    catalog::{
        self, Deployed, FolderFunctions, Function, Origin, Place, Surroundings, environment,
    },
    config::FunctionsConfig,
    deno::{self, Account, Deno, NOT_INSTALLED},
    error::FunctionError,
    network::{self, Network},
    pool::{Generation, Pool, Starter},
    record::Journal,
    worker::{self, BOOTSTRAP, Launch, Reason, Worker},
};

/// A socket's path fits into 107 bytes; a worker adds this much.
const LONGEST_RUN_DIR: usize = 107 - "/0123456789ab/s.sock".len();
/// How often the folder is looked at. What looks the same twice has been saved to its end.
const LOOK: Duration = Duration::from_millis(250);

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
    folder: Option<FolderFunctions>,
    shelf: OnceLock<Arc<dyn FunctionShelf>>,
    projects: Mutex<HashMap<ProjectRef, Known>>,
    pools: Mutex<HashMap<(ProjectRef, String), Arc<Pool>>>,
    permits: Arc<Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What all workers stand on.
struct Ground {
    run_dir: PathBuf,
    bootstrap: PathBuf,
}

/// What is remembered of a project until somebody says that it changed.
#[derive(Default)]
struct Known {
    deployed: Option<Deployed>,
    /// What was known before, so that equal values stay the same.
    deployed_before: Deployed,
    /// With the keys that it was made with; without any, something has changed since.
    surroundings: Option<(Option<Arc<ProjectKeys>>, Arc<Surroundings>)>,
    /// To carry changes to running workers without waiting for a request. Let go when it is closed.
    project: Option<Project>,
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
            shelf: OnceLock::new(),
            projects: Mutex::default(),
            pools: Mutex::default(),
            permits: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    /// The folders that workers need, made when the first one does.
    fn ground(&self) -> io::Result<&Ground> {
        let turn = &self.0.ground_turn;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ground) = self.0.ground.get() {
            return Ok(ground);
        }
        make_passable(&self.0.parts.home)?;
        let home = self.0.parts.home.canonicalize()?;
        let bootstrap = home.join("bootstrap.js");
        // Another server in the same folder may read it at this moment.
        let coming = home.join(format!("bootstrap-{}", Uuid::new_v4().simple()));
        fs::write(&coming, BOOTSTRAP)?;
        fs::set_permissions(&coming, fs::Permissions::from_mode(0o644))?;
        fs::rename(&coming, &bootstrap)?;
        let ground = Ground {
            run_dir: run_dir(&home)?,
            bootstrap,
        };
        Ok(self.0.ground.get_or_init(|| ground))
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
        for (_, pool) in self.pools().drain() {
            pool.retire_all(Duration::from_secs(15));
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
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

    /// The function of that name, if the project has one.
    pub(crate) async fn find(
        &self,
        project: &Project,
        slug: &str,
    ) -> Result<Option<Arc<Function>>, FunctionError> {
        if let Some(folder) = self.folder_of(project) {
            let home = self.project_home(project.reference());
            let place = Place {
                home: &home,
                project,
            };
            if let Some(function) = folder.current(&place).get(slug) {
                return Ok(Some(function.clone()));
            }
        }
        Ok(self.deployed(project).await?.0.get(slug).cloned())
    }

    fn folder_of(&self, project: &Project) -> Option<&FolderFunctions> {
        let folder = self.0.folder.as_ref();
        folder.filter(|_| project.kind() == ProjectKind::Default)
    }

    async fn deployed(&self, project: &Project) -> Result<Deployed, FunctionError> {
        let Some(shelf) = self.0.shelf.get() else {
            return Ok(Deployed::default());
        };
        let reference = project.reference();
        let before = {
            let mut projects = self.projects();
            let known = projects.entry(reference.clone()).or_default();
            if let Some(deployed) = &known.deployed {
                return Ok(deployed.clone());
            }
            known.deployed_before.clone()
        };
        let home = self.project_home(reference);
        let deployed = match Deployed::load(&**shelf, reference, &home, &before).await {
            Ok(deployed) => deployed,
            Err(error) => {
                tracing::error!("functions of {reference} cannot be listed: {error}");
                // What runs needs no database to go on.
                return match before.0.is_empty() {
                    true => Err(FunctionError::Unreadable),
                    false => Ok(before),
                };
            }
        };
        let mut projects = self.projects();
        let known = projects.entry(reference.clone()).or_default();
        known.deployed = Some(deployed.clone());
        known.deployed_before = deployed.clone();
        Ok(deployed)
    }

    /// What workers of the function are to be made from now.
    pub(crate) async fn generation(
        &self,
        project: &Project,
        function: Arc<Function>,
    ) -> Result<Generation, FunctionError> {
        Ok(Generation {
            function,
            surroundings: self.surroundings(project).await?,
            config: project.config::<FunctionsConfig>(),
        })
    }

    async fn surroundings(&self, project: &Project) -> Result<Arc<Surroundings>, FunctionError> {
        let reference = project.reference();
        let keys = project.keys();
        let before = {
            let mut projects = self.projects();
            let known = projects.entry(reference.clone()).or_default();
            match &known.surroundings {
                Some((Some(made_with), surroundings)) if Arc::ptr_eq(made_with, &keys) => {
                    return Ok(surroundings.clone());
                }
                before => before
                    .as_ref()
                    .map(|(_, surroundings)| surroundings.clone()),
            }
        };
        let surroundings = match (self.read_surroundings(project).await, before) {
            // Equal ones stay the same, so that nobody is replaced for nothing.
            (Ok(now), Some(before)) if now == *before => before,
            (Ok(now), _) => Arc::new(now),
            (Err(error), before) => {
                tracing::error!("what functions of {reference} are told cannot be read: {error}");
                // What runs needs no database to go on.
                return before.ok_or(FunctionError::Unreadable);
            }
        };
        self.projects()
            .entry(reference.clone())
            .or_default()
            .surroundings = Some((Some(keys), surroundings.clone()));
        self.leave_with(project);
        Ok(surroundings)
    }

    async fn read_surroundings(
        &self,
        project: &Project,
    ) -> Result<Surroundings, Box<dyn std::error::Error + Send + Sync>> {
        let reference = project.reference();
        let told = self.0.parts.host.surroundings(reference).await?;
        let secrets = match self.0.shelf.get() {
            Some(shelf) => shelf.secrets(reference).await?,
            None => Default::default(),
        };
        Ok(Surroundings::new(project, told, secrets))
    }

    /// Workers go when their project is closed: paused, removed, or used by nobody.
    fn leave_with(&self, project: &Project) {
        let reference = project.reference().clone();
        {
            let mut projects = self.projects();
            let known = projects.entry(reference.clone()).or_default();
            let is_open = |project: &Project| !project.closed().is_cancelled();
            if known.project.as_ref().is_some_and(is_open) {
                return;
            }
            known.project = Some(project.clone());
        }
        let (service, project) = (self.clone(), project.clone());
        self.0.tasks.spawn(async move {
            let stop = service.stopping();
            if stop
                .run_until_cancelled(project.closed().cancelled())
                .await
                .is_none()
            {
                return;
            }
            let is_gone = |known: &Known| {
                let open = known.project.as_ref();
                open.is_none_or(|open| open.closed().is_cancelled())
            };
            let mut projects = service.projects();
            if projects.get(&reference).is_some_and(is_gone) {
                projects.remove(&reference);
                drop(projects);
                service.retire_pools(&reference, worker_grace());
            }
        });
    }

    fn retire_pools(&self, project: &ProjectRef, within: Duration) {
        self.pools().retain(|(reference, _), pool| {
            let is_of_project = reference == project;
            if is_of_project {
                pool.retire_all(within);
            }
            !is_of_project
        });
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

    /// A share of what all workers together may be; somebody idle goes for it.
    async fn permit(&self, patience: Duration) -> Result<OwnedSemaphorePermit, FunctionError> {
        let permits = self.0.permits.clone();
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let idle = self
            .pools()
            .values()
            .filter_map(|pool| pool.longest_idle())
            .max_by_key(|(time, _)| *time);
        if let Some((_, worker)) = idle {
            worker.retire(Reason::EarlyDrop, worker_grace());
        }
        match tokio::time::timeout(patience, permits.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(FunctionError::NoCapacity),
        }
    }

    /// Makes a function's code ready, once.
    pub(crate) async fn make_ready(
        &self,
        project: &ProjectRef,
        function: &Function,
    ) -> Result<(), BadSource> {
        let Some(program) = self.0.parts.deno.program() else {
            return Err(BadSource(NOT_INSTALLED.to_owned()));
        };
        let mut is_prepared = function.is_prepared.lock().await;
        if *is_prepared {
            return Ok(());
        }
        let code = &function.code;
        self.make_folders(project, code)
            .map_err(|error| BadSource(format!("no room for the function: {error}")))?;
        if let (Origin::Deployed(deployed), Some(shelf)) = (&function.origin, self.0.shelf.get()) {
            let unpacked = catalog::unpack(&**shelf, project, deployed, code).await;
            unpacked
                .map_err(|error| BadSource(format!("its sources cannot be unpacked: {error}")))?;
        }
        if !code.was_prepared() {
            deno::prepare(program, code).await?;
        }
        *is_prepared = true;
        Ok(())
    }

    fn make_folders(&self, project: &ProjectRef, code: &catalog::Code) -> io::Result<()> {
        make_passable(&self.project_home(project))?;
        if let Some(above) = code.place.parent() {
            make_passable(above)?;
        }
        for folder in [&code.place, &code.deno_dir] {
            if !folder.is_dir() {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)?;
            }
            if let Some(account) = code.account {
                std::os::unix::fs::chown(folder, Some(account.0), Some(account.0))?;
            }
        }
        Ok(())
    }

    /// Looks at the folder until the service stops, and takes over what changed.
    pub async fn watch_folder(
        &self,
        project: impl Fn() -> BoxFuture<'static, Option<Project>> + Send,
    ) {
        let Some(folder) = &self.0.folder else {
            return;
        };
        let mut last = folder.look();
        let mut is_first = true;
        let mut pace = tokio::time::interval(LOOK);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while self.0.stop.run_until_cancelled(pace.tick()).await.is_some() {
            let looks = folder.look();
            let is_settled = looks == last;
            last = looks;
            if !is_settled || !(is_first || folder.differs(&last)) {
                continue;
            }
            let Some(project) = project().await else {
                continue;
            };
            is_first = false;
            let home = self.project_home(project.reference());
            let place = Place {
                home: &home,
                project: &project,
            };
            let functions = folder.take_over(folder.look(), &place);
            for function in functions.values() {
                self.take_over(&project, function).await;
            }
        }
    }

    /// Makes a function of the folder ready before anybody asks for it, and replaces its workers.
    async fn take_over(&self, project: &Project, function: &Arc<Function>) {
        if !self.0.parts.deno.is_installed() {
            tracing::warn!("{NOT_INSTALLED}");
            return;
        }
        let was_prepared = *function.is_prepared.lock().await;
        let ready = self
            .0
            .stop
            .run_until_cancelled(self.make_ready(project.reference(), function));
        if let Some(Err(BadSource(told))) = ready.await {
            let config = project.config::<FunctionsConfig>();
            let journal = Journal::new(project, function, &config.region);
            let message = format!("The function did not start: {told}");
            journal.event(
                "BootFailure",
                Level::Error,
                &message,
                "",
                &[("msg", told.into())],
            );
        }
        if !was_prepared && let Ok(generation) = self.generation(project, function.clone()).await {
            let pool = self.pool(project, &generation);
            if pool.is_alive() {
                let starter = Starter {
                    service: self.clone(),
                    project: project.clone(),
                };
                pool.refresh(&starter, &generation);
            }
        }
    }

    /// Replaces workers of a project whose functions or secrets changed.
    async fn follow(&self, project: &Project) {
        let pools: Vec<_> = {
            let pools = self.pools();
            let of_project = pools
                .iter()
                .filter(|((reference, _), _)| reference == project.reference());
            of_project
                .map(|((_, slug), pool)| (slug.clone(), pool.clone()))
                .collect()
        };
        for (slug, pool) in pools {
            match self.find(project, &slug).await {
                Ok(Some(function)) if pool.is_alive() => {
                    if let Ok(generation) = self.generation(project, function).await {
                        let starter = Starter {
                            service: self.clone(),
                            project: project.clone(),
                        };
                        pool.refresh(&starter, &generation);
                    }
                }
                Ok(None) => {
                    pool.retire_all(worker_grace());
                    self.pools().remove(&(project.reference().clone(), slug));
                }
                _ => {}
            }
        }
    }
}

impl Starter {
    /// A worker that serves.
    pub(crate) async fn boot(
        &self,
        generation: &Generation,
        freed: &Arc<Notify>,
    ) -> Result<Arc<Worker>, FunctionError> {
        let Self { service, project } = self;
        let Generation {
            function,
            surroundings,
            config,
        } = generation;
        let inner = &service.0;
        let boot_error = |told: String| FunctionError::Boot {
            told: (inner.parts.is_developing && function.is_in_folder()).then_some(told),
        };
        let journal = Arc::new(Journal::new(project, function, &config.region));
        if let Err(BadSource(told)) = service.make_ready(project.reference(), function).await {
            let message = format!("The function did not start: {told}");
            journal.event(
                "BootFailure",
                Level::Error,
                &message,
                "",
                &[("msg", told.clone().into())],
            );
            return Err(boot_error(told));
        }
        let Some(program) = inner.parts.deno.program() else {
            return Err(boot_error(NOT_INSTALLED.to_owned()));
        };
        let ground = service.ground();
        let ground = ground.map_err(|error| boot_error(format!("no room for workers: {error}")))?;
        let permit = service.permit(config.limits.wait).await?;
        let id = Uuid::new_v4().to_string();
        let mut reachable = config.reachable.clone();
        reachable.extend(own_addresses(&surroundings.told).await);
        let launch = Launch {
            variables: environment(project, function, surroundings, config, &id),
            denied: network::denied(&reachable),
            program: program.to_owned(),
            bootstrap: ground.bootstrap.clone(),
            run_dir: ground.run_dir.clone(),
            function: function.clone(),
            limits: config.limits.clone(),
            is_single: config.is_oneshot,
            freed: freed.clone(),
            tasks: inner.tasks.clone(),
            journal,
            permit,
            id,
        };
        match worker::start(launch).await {
            Ok(worker) => Ok(worker),
            Err(failure) => {
                // What was fetched may have been cleared away.
                *function.is_prepared.lock().await = false;
                function.code.forget_prepared();
                Err(boot_error(failure.told))
            }
        }
    }
}

/// Plinth itself and its database, as far as they are addresses or names of some.
async fn own_addresses(told: &plinth_project::FunctionSurroundings) -> Vec<Network> {
    let mut networks = Vec::new();
    for text in [told.api_url.as_str(), told.database_url.expose()] {
        let Ok(url) = Url::parse(text) else {
            continue;
        };
        match url.host() {
            Some(url::Host::Ipv4(address)) => networks.push(IpAddr::from(address).into()),
            Some(url::Host::Ipv6(address)) => networks.push(IpAddr::from(address).into()),
            Some(url::Host::Domain(name)) => {
                // The scheme of databases is none that the library knows hosts of.
                let found = tokio::net::lookup_host((name.trim_matches(['[', ']']), 0)).await;
                networks.extend(
                    found
                        .into_iter()
                        .flatten()
                        .map(|address| Network::from(address.ip())),
                );
            }
            None => {}
        }
    }
    networks
}

fn worker_grace() -> Duration {
    Duration::from_secs(15)
}

/// A folder that strangers may pass, and not list.
fn make_passable(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o711)
        .create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711))
}

/// Where workers have their sockets: beside the code, unless that path is too long.
fn run_dir(home: &Path) -> io::Result<PathBuf> {
    let name = format!("run-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let beside = home.join(&name);
    let folder = match beside.as_os_str().len() <= LONGEST_RUN_DIR {
        true => beside,
        false => std::env::temp_dir().join(format!("plinth-functions-{name}")),
    };
    make_passable(&folder)?;
    Ok(folder)
}

impl FunctionRunner for FunctionsService {
    fn prepare<'a>(
        &'a self,
        project: &'a Project,
        source: &'a FunctionSource,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), BadSource>> {
        Box::pin(async move {
            let Some(program) = self.0.parts.deno.program() else {
                return Err(BadSource(NOT_INSTALLED.to_owned()));
            };
            let home = self.project_home(project.reference());
            let place = home.join(format!("trial-{}", Uuid::new_v4().simple()));
            let account = Account::of(project.reference());
            let code = catalog::deployed_code(source, place.clone(), &home, account);
            let copied = self
                .make_folders(project.reference(), &code)
                .and_then(|()| {
                    copy_folder(folder, &code.root)?;
                    account.map_or(Ok(()), |account| account.own(&place))
                });
            let outcome = match copied {
                Ok(()) => deno::prepare(program, &code).await,
                Err(error) => Err(BadSource(format!("the sources cannot be copied: {error}"))),
            };
            _ = fs::remove_dir_all(&place);
            outcome
        })
    }

    fn changed<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let open = {
                let mut projects = self.projects();
                let Some(known) = projects.get_mut(project) else {
                    return;
                };
                known.deployed = None;
                if let Some((made_with, _)) = &mut known.surroundings {
                    *made_with = None;
                }
                known.project.clone()
            };
            if let Some(open) = open {
                self.follow(&open).await;
            }
        })
    }

    fn forget<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            self.projects().remove(project);
            self.retire_pools(project, Duration::ZERO);
            match fs::remove_dir_all(self.project_home(project)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        })
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
