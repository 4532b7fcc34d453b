//! Follows changes: of the folder, and of deployed functions and secrets.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use plinth_project::{BoxFuture, Project};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::FunctionsService;
use crate::{
    catalog::{FolderFunctions, FolderSnapshot, Function},
    config::FunctionsConfig,
    deno::{NOT_INSTALLED, PrepareError},
    error::FunctionError,
    function_log::FunctionLog,
};

/// How often the folder is scanned. Two equal snapshots in a row mean that files are completely saved.
const SCAN_INTERVAL: Duration = Duration::from_millis(250);

/// How many functions are prepared at once. Most of that is waiting for package registries.
const MAX_PREPARATIONS: usize = 4;

/// Functions of the folder whose current version is deployed to workers, or about to be.
type Updates = HashMap<String, Update>;

struct Update {
    function: Arc<Function>,
    /// Aborted when a newer version replaces it.
    task: AbortOnDropHandle<()>,
}

impl FunctionsService {
    /// Watches the folder until the service stops, and replaces workers of functions that changed.
    pub async fn watch_folder(
        &self,
        project: impl Fn() -> BoxFuture<'static, Option<Project>> + Send,
    ) {
        let Some(folder) = &self.0.folder else {
            return;
        };
        let mut last = folder.snapshot();
        let mut is_first = true;
        let mut updates = Updates::new();
        let preparations = Arc::new(Semaphore::new(MAX_PREPARATIONS));
        let mut interval = tokio::time::interval(SCAN_INTERVAL);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let closing = self.closing_connections();
        while closing.run_until_cancelled(interval.tick()).await.is_some() {
            let snapshot = folder.snapshot();
            let is_settled = snapshot == last;
            last = snapshot;
            if !is_settled || !(is_first || folder.has_changed(&last)) {
                continue;
            }
            let Some(project) = project().await else {
                continue;
            };
            let was_first = is_first;
            let Ok(functions) = self.reload_folder(folder, folder.snapshot(), &project) else {
                continue;
            };
            is_first = false;
            if !functions.is_empty() && !self.0.parts.deno.is_installed() {
                // For those that were there at the start, `warn_without_deno` has said it.
                if !was_first {
                    tracing::warn!("{NOT_INSTALLED}");
                }
                continue;
            }
            self.begin_epoch();
            self.start_updates(&mut updates, &functions, &project, &preparations);
            self.refresh_others(&updates, &project).await;
        }
    }

    /// Warns if the folder has functions and there is nothing to run them. Called before the server is
    /// ready, so that a start in the background shows it.
    pub fn warn_without_deno(&self, project: &Project) {
        let Some(folder) = &self.0.folder else {
            return;
        };
        if self.0.parts.deno.is_installed() {
            return;
        }
        // Without a home nothing can be run either, and the first request says why.
        let has_functions = |home| !folder.current(&home).is_empty();
        if self.home(project).is_ok_and(has_functions) {
            tracing::warn!("{NOT_INSTALLED}");
        }
    }

    fn reload_folder(
        &self,
        folder: &FolderFunctions,
        snapshot: FolderSnapshot,
        project: &Project,
    ) -> Result<Arc<BTreeMap<String, Arc<Function>>>, FunctionError> {
        Ok(folder.reload(snapshot, &self.home(project)?))
    }

    /// Starts a task for every function that is new or changed. Each may wait long for its imports.
    fn start_updates(
        &self,
        updates: &mut Updates,
        functions: &BTreeMap<String, Arc<Function>>,
        project: &Project,
        preparations: &Arc<Semaphore>,
    ) {
        updates.retain(|slug, _| functions.contains_key(slug));
        for (slug, function) in functions {
            let is_same = |update: &Update| Arc::ptr_eq(&update.function, function);
            if updates.get(slug).is_some_and(is_same) {
                continue;
            }
            let (service, project) = (self.clone(), project.clone());
            let (preparations, updated) = (preparations.clone(), function.clone());
            let task = self.0.tasks.spawn(async move {
                let _permit = preparations.acquire().await;
                service.update_function(&project, &updated).await;
            });
            let update = Update {
                function: function.clone(),
                task: AbortOnDropHandle::new(task),
            };
            updates.insert(slug.clone(), update);
        }
    }

    /// Retires the workers of functions that are gone. Updates that still run refresh their own.
    async fn refresh_others(&self, updates: &Updates, project: &Project) {
        for slug in self.slugs_with_pools(project) {
            let is_running = |update: &Update| !update.task.is_finished();
            if !updates.get(&slug).is_some_and(is_running) {
                self.refresh_function(project, &slug).await;
            }
        }
    }

    /// Prepares a function of the folder before the first request, and replaces its workers.
    async fn update_function(&self, project: &Project, function: &Arc<Function>) {
        let was_prepared = *function.is_prepared.lock().await;
        let prepared = self.prepare_function(project, function);
        let prepared = self.closing_connections().run_until_cancelled(prepared);
        if let Some(Err(PrepareError { message, .. })) = prepared.await
            && !self.is_another_served(project, function).await
        {
            let config = project.config::<FunctionsConfig>();
            let log = FunctionLog::new(project, function, &config.region);
            log.boot_failed(&message, None);
        }
        if !was_prepared {
            self.refresh_function(project, &function.slug).await;
        }
    }

    /// Whether another function of the same name is served, such as a deployed one that the settings
    /// name as well.
    async fn is_another_served(&self, project: &Project, function: &Arc<Function>) -> bool {
        let found = self.find(project, &function.slug).await;
        found.is_ok_and(|found| found.is_some_and(|found| !Arc::ptr_eq(&found.function, function)))
    }

    /// Replaces the workers of a function by current ones, or retires them if it is gone.
    async fn refresh_function(&self, project: &Project, slug: &str) {
        match self.find(project, slug).await {
            Ok(Some(found)) => {
                if let Ok(generation) = self.generation(project, &found).await {
                    let pool = self.pool(project, &generation);
                    pool.refresh(&self.worker_factory(project), &generation);
                }
            }
            Ok(None) => {
                let key = (project.reference().clone(), slug.to_owned());
                let pool = self.pools().remove(&key);
                if let Some(pool) = pool {
                    pool.retire_all();
                }
            }
            Err(_) => {}
        }
    }

    /// Replaces the workers of a project whose functions or secrets changed.
    pub(super) async fn refresh_project(&self, project: &Project) {
        for slug in self.slugs_with_pools(project) {
            self.refresh_function(project, &slug).await;
        }
    }

    fn slugs_with_pools(&self, project: &Project) -> Vec<String> {
        let reference = project.reference();
        let pools = self.pools();
        let of_project = pools.keys().filter(|(owner, _)| owner == reference);
        of_project.map(|(_, slug)| slug.clone()).collect()
    }
}
