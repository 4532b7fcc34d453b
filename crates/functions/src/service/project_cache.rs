//! The cached functions and environment of projects. They are read again after an announced change.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use plinth_project::{Project, ProjectKeys, ProjectKind, ProjectRef};

use super::FunctionsService;
use crate::{
    account::Account,
    catalog::{Deployed, FolderFunctions, Function, ProjectEnvironment, ProjectHome},
    config::FunctionsConfig,
    error::FunctionError,
    pool::Generation,
};

/// What is cached of a project until a change is announced.
#[derive(Default)]
pub(super) struct ProjectCache {
    pub(super) deployed: Option<Deployed>,
    /// The value before the last change, so that what did not change stays the same `Arc`.
    deployed_before: Deployed,
    environment: Option<CachedEnvironment>,
    /// To carry changes to running workers without waiting for a request. Dropped when it is closed.
    pub(super) project: Option<Project>,
}

struct CachedEnvironment {
    /// The keys that it was made with; `None` after a change.
    keys: Option<Arc<ProjectKeys>>,
    value: Arc<ProjectEnvironment>,
}

impl ProjectCache {
    /// Has everything read again.
    pub(super) fn invalidate(&mut self) {
        self.deployed = None;
        if let Some(environment) = &mut self.environment {
            environment.keys = None;
        }
    }
}

/// A function as it was at some time.
#[derive(Clone)]
pub(crate) struct FoundFunction {
    pub(crate) function: Arc<Function>,
    /// The epoch in which the lookup began.
    epoch: u64,
}

impl FunctionsService {
    /// The function of that name, if the project has one.
    pub(crate) async fn find(
        &self,
        project: &Project,
        slug: &str,
    ) -> Result<Option<FoundFunction>, FunctionError> {
        let epoch = self.epoch();
        let function = self.find_function(project, slug).await?;
        Ok(function.map(|function| FoundFunction { function, epoch }))
    }

    async fn find_function(
        &self,
        project: &Project,
        slug: &str,
    ) -> Result<Option<Arc<Function>>, FunctionError> {
        let mut in_folder = None;
        if let Some(folder) = self.folder_of(project) {
            in_folder = folder.current(&self.home(project)?).get(slug).cloned();
            if in_folder.as_ref().is_some_and(|found| !found.is_missing) {
                return Ok(in_folder);
            }
        }
        let deployed = self.deployed(project).await?.0.get(slug).cloned();
        Ok(deployed.or(in_folder))
    }

    /// The functions of the project that are cached.
    pub(super) fn cached_functions(&self, project: &Project) -> Vec<Arc<Function>> {
        let in_folder = self.folder_of(project).and_then(|folder| {
            let home = self.home(project).ok()?;
            Some(folder.current(&home))
        });
        let deployed = {
            let projects = self.projects();
            let cached = projects.get(project.reference());
            cached.and_then(|cached| Some(cached.deployed.as_ref()?.0.clone()))
        };
        let all = in_folder.iter().chain(&deployed);
        all.flat_map(|functions| functions.values().cloned())
            .collect()
    }

    /// The directory and the user of a project.
    pub(super) fn home<'a>(&self, project: &'a Project) -> Result<ProjectHome<'a>, FunctionError> {
        let reference = project.reference();
        Ok(ProjectHome {
            path: self.project_home(reference),
            account: self.account(reference)?,
            project,
        })
    }

    fn account(&self, project: &ProjectRef) -> Result<Option<Account>, FunctionError> {
        self.0.accounts.of(project).map_err(|error| {
            tracing::error!("project {project} has no system user for its functions: {error}");
            FunctionError::Boot {
                detail: None,
                is_transient: true,
            }
        })
    }

    fn folder_of(&self, project: &Project) -> Option<&FolderFunctions> {
        let folder = self.0.folder.as_ref();
        folder.filter(|_| project.kind() == ProjectKind::Default)
    }

    async fn deployed(&self, project: &Project) -> Result<Deployed, FunctionError> {
        let Some(store) = self.0.store.get() else {
            return Ok(Deployed::default());
        };
        let reference = project.reference();
        let home = self.project_home(reference);
        loop {
            let epoch = self.epoch();
            let before = {
                let mut projects = self.projects();
                let cached = projects.entry(reference.clone()).or_default();
                if let Some(deployed) = &cached.deployed {
                    return Ok(deployed.clone());
                }
                cached.deployed_before.clone()
            };
            let stored = match store.functions(reference).await {
                Ok(stored) => stored,
                Err(error) => {
                    tracing::error!("cannot list the functions of project {reference}: {error}");
                    // Running workers need no database to go on.
                    return if before.0.is_empty() {
                        Err(FunctionError::Unreadable)
                    } else {
                        Ok(before)
                    };
                }
            };
            // A project without functions needs no user.
            let account = if stored.is_empty() {
                None
            } else {
                self.account(reference)?
            };
            let deployed = Deployed::new(stored, reference, &home, account, &before);
            let is_cached = self.cache_if_current(reference, epoch, |cached| {
                cached.deployed = Some(deployed.clone());
                cached.deployed_before = deployed.clone();
            });
            if is_cached {
                self.remove_unused_sources(reference);
                return Ok(deployed);
            }
        }
    }

    fn epoch(&self) -> u64 {
        self.0.epoch.load(Ordering::SeqCst)
    }

    /// Whether something may have changed since the function was found.
    pub(crate) fn is_outdated(&self, found: &FoundFunction) -> bool {
        found.epoch != self.epoch()
    }

    /// What is read from now on is newer than everything before.
    pub(super) fn begin_epoch(&self) {
        self.0.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Caches what was read in that epoch, unless it is over: a newer value may be cached already.
    fn cache_if_current(
        &self,
        project: &ProjectRef,
        epoch: u64,
        store: impl FnOnce(&mut ProjectCache),
    ) -> bool {
        let mut projects = self.projects();
        let is_current = self.epoch() == epoch;
        if is_current {
            store(projects.entry(project.clone()).or_default());
        }
        is_current
    }

    /// What workers of the function are made from now.
    pub(crate) async fn generation(
        &self,
        project: &Project,
        found: &FoundFunction,
    ) -> Result<Generation, FunctionError> {
        Ok(Generation {
            function: found.function.clone(),
            epoch: found.epoch,
            environment: self.environment(project).await?,
            config: project.config::<FunctionsConfig>(),
        })
    }

    async fn environment(
        &self,
        project: &Project,
    ) -> Result<Arc<ProjectEnvironment>, FunctionError> {
        let reference = project.reference();
        loop {
            let epoch = self.epoch();
            let keys = project.keys();
            let before = {
                let mut projects = self.projects();
                let cached = projects.entry(reference.clone()).or_default();
                match &cached.environment {
                    Some(CachedEnvironment {
                        keys: Some(made_with),
                        value,
                    }) if Arc::ptr_eq(made_with, &keys) => return Ok(value.clone()),
                    before => before.as_ref().map(|before| before.value.clone()),
                }
            };
            let value = match (self.read_environment(project).await, before) {
                // An equal one stays the same `Arc`, so that no worker is replaced for nothing.
                (Ok(now), Some(before)) if now == *before => before,
                (Ok(now), _) => Arc::new(now),
                (Err(error), before) => {
                    tracing::error!(
                        "cannot read the function environment of project {reference}: {error}"
                    );
                    // Running workers need no database to go on.
                    return before.ok_or(FunctionError::Unreadable);
                }
            };
            let is_cached = self.cache_if_current(reference, epoch, |cached| {
                cached.environment = Some(CachedEnvironment {
                    keys: Some(keys),
                    value: value.clone(),
                });
            });
            if is_cached {
                self.retire_when_closed(project);
                return Ok(value);
            }
        }
    }

    async fn read_environment(
        &self,
        project: &Project,
    ) -> Result<ProjectEnvironment, Box<dyn std::error::Error + Send + Sync>> {
        let reference = project.reference();
        let known = self.0.parts.host.environment(reference).await?;
        let secrets = match self.0.store.get() {
            Some(store) => store.secrets(reference).await?,
            None => Default::default(),
        };
        Ok(ProjectEnvironment::new(project, known, secrets))
    }

    /// Retires the workers of a project when it is closed: paused, removed, or unused.
    fn retire_when_closed(&self, project: &Project) {
        let reference = project.reference().clone();
        {
            let mut projects = self.projects();
            let cached = projects.entry(reference.clone()).or_default();
            let is_open = |project: &Project| !project.closed().is_cancelled();
            if cached.project.as_ref().is_some_and(is_open) {
                return;
            }
            cached.project = Some(project.clone());
        }
        let (service, project) = (self.clone(), project.clone());
        self.0.tasks.spawn(async move {
            let closed = project.closed().cancelled();
            let closing = service.closing_connections();
            if closing.run_until_cancelled(closed).await.is_none() {
                return;
            }
            let is_closed = |cached: &ProjectCache| {
                let open = cached.project.as_ref();
                open.is_none_or(|open| open.closed().is_cancelled())
            };
            let mut projects = service.projects();
            if projects.get(&reference).is_some_and(is_closed) {
                projects.remove(&reference);
                drop(projects);
                service.retire_pools(&reference, None);
            }
        });
    }

    /// Retires all workers of a project within that time, or the grace period.
    pub(super) fn retire_pools(&self, project: &ProjectRef, within: Option<Duration>) {
        self.pools().retain(|(reference, _), pool| {
            let is_of_project = reference == project;
            if is_of_project {
                pool.shut_down(within);
            }
            !is_of_project
        });
        self.0.prewarmed.evict_project(project);
    }
}
