//! Changes: those that are saved in the folder, and those that somebody tells of.

use std::{sync::Arc, time::Duration};

use plinth_log::Level;
use plinth_project::{BoxFuture, Project};

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
            self.note_change();
            for function in functions.values() {
                self.take_over(&project, function).await;
            }
            // Workers of those that are there no more go.
            self.follow(&project).await;
        }
    }

    /// Makes a function of the folder ready before anybody asks for it, and replaces its workers.
    async fn take_over(&self, project: &Project, function: &Arc<Function>) {
        let was_prepared = *function.is_prepared.lock().await;
        let ready = self
            .0
            .stop
            .run_until_cancelled(self.make_ready(project, function));
        if let Some(Err(Unready { told, .. })) = ready.await {
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
        if !was_prepared {
            self.follow_one(project, &function.slug).await;
        }
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
        let reference = project.reference();
        let slugs: Vec<_> = {
            let pools = self.pools();
            let of_project = pools.keys().filter(|(owner, _)| owner == reference);
            of_project.map(|(_, slug)| slug.clone()).collect()
        };
        for slug in slugs {
            self.follow_one(project, &slug).await;
        }
    }
}
