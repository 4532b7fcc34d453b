//! Changes: those that are saved in the folder, and those that somebody tells of.

use std::{collections::HashMap, sync::Arc, time::Duration};

use plinth_project::{BoxFuture, Project};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::FunctionsService;
use crate::{
    catalog::{Function, Place},
    config::FunctionsConfig,
    deno::{NOT_INSTALLED, Unready},
    pool::Starter,
    record::Journal,
};

/// How often the folder is looked at. What looks the same twice has been saved to its end.
const LOOK: Duration = Duration::from_millis(250);

/// How many functions are made ready at once. Most of that is waiting for somebody else's server.
const AT_ONCE: usize = 4;

/// A function of the folder that was taken over, or is about to be.
struct Coming {
    function: Arc<Function>,
    /// Ends when a newer version comes.
    task: AbortOnDropHandle<()>,
}

impl FunctionsService {
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
        let mut coming = HashMap::<String, Coming>::new();
        let turns = Arc::new(Semaphore::new(AT_ONCE));
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
            if !functions.is_empty() && !self.0.parts.deno.is_installed() {
                tracing::warn!("{NOT_INSTALLED}");
                continue;
            }
            self.note_change();
            coming.retain(|slug, _| functions.contains_key(slug));
            for (slug, function) in &*functions {
                let known = coming.get(slug);
                if known.is_some_and(|known| Arc::ptr_eq(&known.function, function)) {
                    continue;
                }
                let (service, project, turns) = (self.clone(), project.clone(), turns.clone());
                let (slug, function) = (slug.clone(), function.clone());
                let its = function.clone();
                // Whatever it imports may take long to come, and nobody else waits for that.
                let task = self.0.tasks.spawn(async move {
                    let _turn = turns.acquire().await;
                    service.take_over(&project, &its).await;
                });
                let task = AbortOnDropHandle::new(task);
                coming.insert(slug, Coming { function, task });
            }
            // Workers of those that are there no more go; those that come follow by themselves.
            for slug in self.slugs_with_pools(&project) {
                let comes = |coming: &Coming| !coming.task.is_finished();
                if !coming.get(&slug).is_some_and(comes) {
                    self.follow_one(&project, &slug).await;
                }
            }
        }
    }

    /// Makes a function of the folder ready before anybody asks for it, and replaces its workers.
    async fn take_over(&self, project: &Project, function: &Arc<Function>) {
        let was_prepared = *function.is_prepared.lock().await;
        let ready = self
            .0
            .stop
            .run_until_cancelled(self.make_ready(project, function));
        if let Some(Err(Unready { told, .. })) = ready.await
            && !self.is_another_served(project, function).await
        {
            let config = project.config::<FunctionsConfig>();
            let journal = Journal::new(project, function, &config.region);
            journal.boot_failed(&told, None);
        }
        if !was_prepared {
            self.follow_one(project, &function.slug).await;
        }
    }

    /// Whether one of the same name is, such as a deployed one that the settings name as well.
    async fn is_another_served(&self, project: &Project, function: &Arc<Function>) -> bool {
        let found = self.find(project, &function.slug).await;
        found.is_ok_and(|found| found.is_some_and(|found| !Arc::ptr_eq(&found.function, function)))
    }

    /// Brings the workers of a function up to date, where there are some.
    async fn follow_one(&self, project: &Project, slug: &str) {
        match self.find(project, slug).await {
            Ok(Some(found)) => {
                if let Ok(generation) = self.generation(project, &found).await {
                    let starter = Starter {
                        service: self.clone(),
                        project: project.clone(),
                    };
                    let pool = self.pool(project, &generation);
                    pool.refresh(&starter, &generation);
                }
            }
            Ok(None) => {
                let pool = (project.reference().clone(), slug.to_owned());
                let pool = self.pools().remove(&pool);
                if let Some(pool) = pool {
                    pool.retire_all();
                }
            }
            Err(_) => {}
        }
    }

    /// Replaces workers of a project whose functions or secrets changed.
    pub(super) async fn follow(&self, project: &Project) {
        for slug in self.slugs_with_pools(project) {
            self.follow_one(project, &slug).await;
        }
    }

    fn slugs_with_pools(&self, project: &Project) -> Vec<String> {
        let reference = project.reference();
        let pools = self.pools();
        let of_project = pools.keys().filter(|(owner, _)| owner == reference);
        of_project.map(|(_, slug)| slug.clone()).collect()
    }
}
