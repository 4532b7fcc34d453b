//! Changes: those that are saved in the folder, and those that somebody tells of.

use std::{sync::Arc, time::Duration};

use plinth_log::Level;
use plinth_project::{BadSource, BoxFuture, Project};

use super::FunctionsService;
use crate::{
    catalog::{Function, Place},
    config::FunctionsConfig,
    deno::NOT_INSTALLED,
    pool::Starter,
    record::Journal,
};

/// How often the folder is looked at. What looks the same twice has been saved to its end.
const LOOK: Duration = Duration::from_millis(250);

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
            for function in functions.values() {
                self.take_over(&project, function).await;
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
    pub(super) async fn follow(&self, project: &Project) {
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
                    pool.retire_all(None);
                    self.pools().remove(&(project.reference().clone(), slug));
                }
                _ => {}
            }
        }
    }
}
