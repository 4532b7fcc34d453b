//! Prepares the code of functions, and removes sources that are no longer used.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, chown},
    path::Path,
    sync::{Arc, PoisonError, Weak},
};

use plinth_project::{Project, ProjectRef, SourceError};

use super::FunctionsService;
use crate::{
    account::create_traversable,
    catalog::{self, Function, Origin},
    code::Code,
    config::FunctionsConfig,
    deno::{self, NOT_INSTALLED, PrepareError},
    network::{self, Network},
};

impl FunctionsService {
    /// Prepares the code of a function, once.
    pub(super) async fn prepare_function(
        &self,
        project: &Project,
        function: &Arc<Function>,
    ) -> Result<(), PrepareError> {
        let reference = project.reference();
        let Some(program) = self.0.parts.deno.program() else {
            return Err(SourceError(NOT_INSTALLED.to_owned()).into());
        };
        let mut is_prepared = function.is_prepared.lock().await;
        if *is_prepared {
            return Ok(());
        }
        let code = &function.code;
        if function.is_missing {
            let path = code.entrypoint.display().to_string();
            let message = format!("{} does not exist", code.shorten_paths(&path));
            return Err(SourceError(message).into());
        }
        // Another version may be prepared in the same directory.
        let lock = self.work_dir_lock(&code.work_dir);
        let _lock = lock.lock().await;
        if !function.is_in_folder() {
            self.0.sources_in_use.add(function);
        }
        // Held before anything is written as the user: a project that is being removed must not be
        // unpacked again.
        let hold = self.0.accounts.hold(reference, code.account);
        let _hold = hold.map_err(|error| PrepareError::transient(error.to_string()))?;
        self.create_directories(reference, code).map_err(|error| {
            PrepareError::transient(format!(
                "the directories of the function cannot be created: {error}"
            ))
        })?;
        if let (Origin::Deployed(deployed), Some(store)) = (&function.origin, self.0.store.get()) {
            let unpacked = catalog::unpack(&**store, reference, deployed, code).await;
            unpacked.map_err(|error| {
                PrepareError::transient(format!("its sources cannot be unpacked: {error}"))
            })?;
        }
        if !code.was_prepared() {
            let prepared = deno::prepare(program, code, &denied_for_imports(project)).await;
            prepared.map_err(|error| PrepareError {
                // A deployed function was prepared when it was deployed.
                is_transient: error.is_transient || !function.is_in_folder(),
                ..error
            })?;
        }
        *is_prepared = true;
        Ok(())
    }

    /// Held while code is prepared in that directory.
    fn work_dir_lock(&self, work_dir: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let locks = &self.0.work_dir_locks;
        let mut locks = locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = locks.get(work_dir).and_then(Weak::upgrade);
        let lock = lock.unwrap_or_default();
        locks.insert(work_dir.to_owned(), Arc::downgrade(&lock));
        lock
    }

    /// Removes the sources of deployed functions that are neither active nor in use.
    pub(super) fn remove_unused_sources(&self, project: &ProjectRef) {
        let active = {
            let projects = self.projects();
            projects
                .get(project)
                .and_then(|cached| cached.deployed.clone())
        };
        // Where they are not known, they are removed after the next read.
        let Some(active) = active else {
            return;
        };
        let home = self.project_home(project);
        if self.0.sources_in_use.set_unused_aside(&home, &active) {
            self.0
                .tasks
                .spawn_blocking(move || catalog::remove_set_aside(&home));
        }
    }

    /// Creates the directories of the code, owned by its user.
    pub(super) fn create_directories(&self, project: &ProjectRef, code: &Code) -> io::Result<()> {
        create_traversable(&self.0.parts.home)?;
        create_traversable(&self.project_home(project))?;
        if let Some(parent) = code.work_dir.parent() {
            create_traversable(parent)?;
        }
        for dir in [&code.work_dir, &code.deno_dir, &code.web_caches()] {
            if !dir.is_dir() {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(dir)?;
            }
            if let Some(account) = code.account {
                chown(dir, Some(account.0), Some(account.0))?;
            }
        }
        Ok(())
    }
}

/// Networks that nothing is imported from.
pub(super) fn denied_for_imports(project: &Project) -> Vec<Network> {
    let config = project.config::<FunctionsConfig>();
    network::denied_networks(&config.reachable_networks, config.allows_ipv6())
}
