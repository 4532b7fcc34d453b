//! What the platform asks of the service.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use plinth_project::{
    BoxFuture, FunctionRunner, FunctionSource, PreparationError, Project, ProjectRef, SourceError,
};
use uuid::Uuid;

use super::{FunctionsService, directories::TRIAL_PREFIX, prepare::denied_for_imports};
use crate::{
    accounts::Processes,
    catalog,
    deno::{self, NOT_INSTALLED},
};

/// How long processes that were killed, or are being started, may still use a directory that is removed.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(20);
const REMOVE_RETRY_INTERVAL: Duration = Duration::from_millis(50);

impl FunctionRunner for FunctionsService {
    fn prepare<'a>(
        &'a self,
        project: &'a Project,
        source: &'a FunctionSource,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), PreparationError>> {
        Box::pin(async move {
            let Some(program) = self.0.parts.deno.program() else {
                return Err(SourceError(NOT_INSTALLED.to_owned()).into());
            };
            let home = self.project_home(project.reference());
            let trial = home.join(format!("{TRIAL_PREFIX}{}", Uuid::new_v4().simple()));
            let _trial = Trial(trial.clone());
            let account = self.0.accounts.of(project.reference())?;
            let _hold = self.0.accounts.hold(project.reference(), account)?;
            let code = catalog::deployed_code(source, trial.clone(), &home, account);
            self.create_directories(project.reference(), &code)?;
            copy_folder(folder, &code.root)?;
            if let Some(account) = account {
                account.take_ownership(&trial)?;
            }
            deno::prepare(program, &code, &denied_for_imports(project))
                .await
                .map_err(|error| SourceError(error.message).into())
        })
    }

    fn reload<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let open = {
                let mut projects = self.projects();
                self.begin_epoch();
                let Some(cached) = projects.get_mut(project) else {
                    return;
                };
                cached.invalidate();
                cached.project.clone()
            };
            if let Some(open) = open {
                self.refresh_project(&open).await;
            }
        })
    }

    fn remove_project<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            {
                let mut projects = self.projects();
                self.begin_epoch();
                projects.remove(project);
            }
            self.retire_pools(project, Some(Duration::ZERO));
            let deadline = Instant::now() + REMOVE_TIMEOUT;
            loop {
                let is_last = Instant::now() >= deadline;
                let processes = if is_last {
                    Processes::MayRemain
                } else {
                    Processes::MustEnd
                };
                let (service, project) = (self.clone(), project.clone());
                let removing = self
                    .0
                    .tasks
                    .spawn_blocking(move || service.remove_traces(&project, processes));
                match removing.await.unwrap_or_else(|error| Err(error.into())) {
                    Err(_) if !is_last => tokio::time::sleep(REMOVE_RETRY_INTERVAL).await,
                    removed => return removed,
                }
            }
        })
    }
}

impl FunctionsService {
    /// Removes the directory of a project and releases its user. Fails while processes that are being
    /// killed may still write to it: another project with the same user could read that.
    fn remove_traces(&self, project: &ProjectRef, processes: Processes) -> io::Result<()> {
        self.0.accounts.ensure_unused(project, processes)?;
        match fs::remove_dir_all(self.project_home(project)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.0.accounts.release(project, processes)
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

/// Sources that are prepared before a deployment. Removed on drop, also if the request is cancelled.
struct Trial(PathBuf);

impl Drop for Trial {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
