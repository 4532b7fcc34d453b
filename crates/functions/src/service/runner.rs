//! What the platform asks of the service.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use plinth_project::{BadSource, BoxFuture, FunctionRunner, FunctionSource, Project, ProjectRef};
use uuid::Uuid;

use super::{FunctionsService, ground::unreachable};
use crate::{
    catalog,
    deno::{self, Account, NOT_INSTALLED},
};

/// What folders of sources that are only tried begin with.
pub(super) const TRIAL: &str = "trial-";
/// How long a process that was killed may take to be gone.
const LAST_WRITES: Duration = Duration::from_secs(5);

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
            let place = home.join(format!("{TRIAL}{}", Uuid::new_v4().simple()));
            let _trial = Trial(place.clone());
            let account = Account::of(project.reference());
            let code = catalog::deployed_code(source, place.clone(), &home, account);
            let copied = self
                .make_folders(project.reference(), &code)
                .and_then(|()| {
                    copy_folder(folder, &code.root)?;
                    account.map_or(Ok(()), |account| account.own(&place))
                });
            match copied {
                Ok(()) => deno::prepare(program, &code, &unreachable(project))
                    .await
                    .map_err(|unready| BadSource(unready.told)),
                Err(error) => Err(BadSource(format!("the sources cannot be copied: {error}"))),
            }
        })
    }

    fn changed<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let open = {
                let mut projects = self.projects();
                self.note_change();
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
            {
                let mut projects = self.projects();
                self.note_change();
                projects.remove(project);
            }
            self.retire_pools(project, Some(Duration::ZERO));
            remove_home(&self.project_home(project)).await
        })
    }
}

/// Removes a folder that processes which are about to end may still write to.
async fn remove_home(home: &Path) -> io::Result<()> {
    let until = Instant::now() + LAST_WRITES;
    loop {
        match fs::remove_dir_all(home) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() >= until => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
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

/// Sources that are only tried. They go even if nobody waits for the outcome any more.
struct Trial(PathBuf);

impl Drop for Trial {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
