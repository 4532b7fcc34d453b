//! What is known of a project: its functions, and what they are told. Until somebody says that it
//! changed, nobody is asked twice.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use plinth_project::{Project, ProjectKeys, ProjectKind, ProjectRef};

use super::FunctionsService;
use crate::{
    catalog::{Deployed, FolderFunctions, Function, Place, Surroundings},
    config::FunctionsConfig,
    error::FunctionError,
    pool::Generation,
};

/// What is remembered of a project until somebody says that it changed.
#[derive(Default)]
pub(super) struct Known {
    pub(super) deployed: Option<Deployed>,
    /// What was known before, so that equal values stay the same.
    deployed_before: Deployed,
    /// With the keys that it was made with; without any, something has changed since.
    pub(super) surroundings: Option<(Option<Arc<ProjectKeys>>, Arc<Surroundings>)>,
    /// To carry changes to running workers without waiting for a request. Let go when it is closed.
    pub(super) project: Option<Project>,
}

/// A function as it was at some time.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) function: Arc<Function>,
    /// How many changes there had been before anybody looked.
    time: u64,
}

impl FunctionsService {
    /// The function of that name, if the project has one.
    pub(crate) async fn find(
        &self,
        project: &Project,
        slug: &str,
    ) -> Result<Option<Found>, FunctionError> {
        let time = self.changes();
        let function = self.look_for(project, slug).await?;
        Ok(function.map(|function| Found { function, time }))
    }

    async fn look_for(
        &self,
        project: &Project,
        slug: &str,
    ) -> Result<Option<Arc<Function>>, FunctionError> {
        let mut of_folder = None;
        if let Some(folder) = self.folder_of(project) {
            let home = self.project_home(project.reference());
            let place = Place {
                home: &home,
                project,
            };
            of_folder = folder.current(&place).get(slug).cloned();
            if of_folder.as_ref().is_some_and(|found| !found.is_missing) {
                return Ok(of_folder);
            }
        }
        let deployed = self.deployed(project).await?.0.get(slug).cloned();
        Ok(deployed.or(of_folder))
    }

    /// All functions of the project, as far as anybody has asked for them.
    pub(super) fn known_functions(&self, project: &Project) -> Vec<Arc<Function>> {
        let home = self.project_home(project.reference());
        let place = Place {
            home: &home,
            project,
        };
        let of_folder = self.folder_of(project).map(|folder| folder.current(&place));
        let deployed = {
            let projects = self.projects();
            let known = projects.get(project.reference());
            known.and_then(|known| Some(known.deployed.as_ref()?.0.clone()))
        };
        let all = of_folder.iter().chain(&deployed);
        all.flat_map(|functions| functions.values().cloned())
            .collect()
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
        let home = self.project_home(reference);
        loop {
            let changes = self.changes();
            let before = {
                let mut projects = self.projects();
                let known = projects.entry(reference.clone()).or_default();
                if let Some(deployed) = &known.deployed {
                    return Ok(deployed.clone());
                }
                known.deployed_before.clone()
            };
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
            let is_kept = self.keep(reference, changes, |known| {
                known.deployed = Some(deployed.clone());
                known.deployed_before = deployed.clone();
            });
            if is_kept {
                self.clear_unused(reference);
                return Ok(deployed);
            }
        }
    }

    fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::SeqCst)
    }

    /// Whether something may have changed since it was found.
    pub(crate) fn is_outdated(&self, found: &Found) -> bool {
        found.time != self.changes()
    }

    /// What is read from now on is newer than everything before.
    pub(super) fn note_change(&self) {
        self.0.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Remembers what was read, unless something has changed since there were that many changes: what
    /// was read later may be known already.
    fn keep(&self, project: &ProjectRef, changes: u64, note: impl FnOnce(&mut Known)) -> bool {
        let mut projects = self.projects();
        let is_current = self.changes() == changes;
        if is_current {
            note(projects.entry(project.clone()).or_default());
        }
        is_current
    }

    /// What workers of the function are to be made from now.
    pub(crate) async fn generation(
        &self,
        project: &Project,
        found: &Found,
    ) -> Result<Generation, FunctionError> {
        Ok(Generation {
            function: found.function.clone(),
            time: found.time,
            surroundings: self.surroundings(project).await?,
            config: project.config::<FunctionsConfig>(),
        })
    }

    async fn surroundings(&self, project: &Project) -> Result<Arc<Surroundings>, FunctionError> {
        let reference = project.reference();
        loop {
            let changes = self.changes();
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
                    tracing::error!(
                        "what functions of {reference} are told cannot be read: {error}"
                    );
                    // What runs needs no database to go on.
                    return before.ok_or(FunctionError::Unreadable);
                }
            };
            let is_kept = self.keep(reference, changes, |known| {
                known.surroundings = Some((Some(keys), surroundings.clone()));
            });
            if is_kept {
                self.leave_with(project);
                return Ok(surroundings);
            }
        }
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
                service.retire_pools(&reference, None);
            }
        });
    }

    pub(super) fn retire_pools(&self, project: &ProjectRef, within: Option<Duration>) {
        self.pools().retain(|(reference, _), pool| {
            let is_of_project = reference == project;
            if is_of_project {
                pool.end_all(within);
            }
            !is_of_project
        });
        self.0.spares.give_up(project);
    }
}
