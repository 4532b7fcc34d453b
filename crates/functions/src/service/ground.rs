//! Folders: what all workers stand on, and the code that they run, made ready once.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, Weak},
    time::Duration,
};

use plinth_project::{BadSource, Project, ProjectRef};
use uuid::Uuid;

use super::{FunctionsService, runner::TRIAL};
use crate::{
    catalog::{self, Code, Function, Origin},
    config::FunctionsConfig,
    deno::{self, NOT_INSTALLED, Unready},
    network::{self, Network},
    worker::BOOTSTRAP,
};

/// A socket's path fits into 107 bytes; a worker adds this much.
const LONGEST_RUN_DIR: usize = 107 - "/0123456789ab/s.sock".len();

const LONGEST_TRIAL: Duration = Duration::from_secs(600);

/// What all workers stand on.
pub(super) struct Ground {
    pub(super) run_dir: PathBuf,
    pub(super) bootstrap: PathBuf,
}

impl FunctionsService {
    /// The folders that workers need, made when the first one does.
    pub(super) fn ground(&self) -> io::Result<&Ground> {
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
        clear_left_behind(&home);
        let ground = Ground {
            run_dir: run_dir(&home)?,
            bootstrap,
        };
        Ok(self.0.ground.get_or_init(|| ground))
    }

    /// Makes a function's code ready, once.
    pub(crate) async fn make_ready(
        &self,
        project: &Project,
        function: &Arc<Function>,
    ) -> Result<(), Unready> {
        let reference = project.reference();
        let Some(program) = self.0.parts.deno.program() else {
            return Err(BadSource(NOT_INSTALLED.to_owned()).into());
        };
        let mut is_prepared = function.is_prepared.lock().await;
        if *is_prepared {
            return Ok(());
        }
        let code = &function.code;
        if function.is_missing {
            let path = code.entrypoint.display().to_string();
            let told = format!("{} is not there", code.shorten(&path));
            return Err(BadSource(told).into());
        }
        // Another version may be made ready in the same folder.
        let turn = self.turn_at(&code.place);
        let _turn = turn.lock().await;
        if !function.is_in_folder() {
            self.0.in_use.add(function);
        }
        self.make_folders(reference, code)
            .map_err(|error| Unready::passing(format!("no room for the function: {error}")))?;
        if let (Origin::Deployed(deployed), Some(shelf)) = (&function.origin, self.0.shelf.get()) {
            let unpacked = catalog::unpack(&**shelf, reference, deployed, code).await;
            unpacked.map_err(|error| {
                Unready::passing(format!("its sources cannot be unpacked: {error}"))
            })?;
        }
        if !code.was_prepared() {
            let prepared = deno::prepare(program, code, &unreachable(project)).await;
            prepared.map_err(|unready| Unready {
                // Its deployment has shown that it can be made ready.
                is_passing: unready.is_passing || !function.is_in_folder(),
                ..unready
            })?;
        }
        *is_prepared = true;
        Ok(())
    }

    /// Held by whoever makes code ready in that folder.
    fn turn_at(&self, place: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let turns = &self.0.turns;
        let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = turns.get(place).and_then(Weak::upgrade);
        let turn = turn.unwrap_or_default();
        turns.insert(place.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// Clears sources of deployed functions away that nobody uses or is about to ask for.
    pub(crate) fn clear_unused(&self, project: &ProjectRef) {
        let active = {
            let projects = self.projects();
            projects
                .get(project)
                .and_then(|known| known.deployed.clone())
        };
        // Whoever reads them next clears up, too.
        let Some(active) = active else {
            return;
        };
        let home = self.project_home(project);
        if self.0.in_use.set_others_aside(&home, &active) {
            self.0
                .tasks
                .spawn_blocking(move || catalog::remove_set_aside(&home));
        }
    }

    pub(super) fn make_folders(&self, project: &ProjectRef, code: &Code) -> io::Result<()> {
        make_passable(&self.project_home(project))?;
        if let Some(above) = code.place.parent() {
            make_passable(above)?;
        }
        for folder in [&code.place, &code.deno_dir, &code.storage()] {
            if !folder.is_dir() {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)?;
            }
            if let Some(account) = code.account {
                chown(folder, Some(account.0), Some(account.0))?;
            }
        }
        Ok(())
    }
}

/// Where nothing is imported from.
pub(super) fn unreachable(project: &Project) -> Vec<Network> {
    let config = project.config::<FunctionsConfig>();
    network::denied(&config.reachable, config.speaks_ipv6())
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

/// A server that was killed leaves the folders of its workers behind, and of sources that it tried;
/// there is one server at a time.
fn clear_left_behind(home: &Path) {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let begins_with = |entry: &fs::DirEntry, name| {
        let file_name = entry.file_name();
        file_name.to_string_lossy().starts_with(name)
    };
    for entry in entries(home) {
        if begins_with(&entry, "run-") {
            _ = fs::remove_dir_all(entry.path());
            continue;
        }
        let trials = entries(&entry.path()).filter(|trial| begins_with(trial, TRIAL));
        for trial in trials.filter(is_old) {
            _ = fs::remove_dir_all(trial.path());
        }
    }
}

/// Whether nobody can be trying it any more.
fn is_old(trial: &fs::DirEntry) -> bool {
    let age = trial.metadata().and_then(|folder| folder.modified());
    let age = age.ok().and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age >= LONGEST_TRIAL)
}

/// Where workers have their sockets: beside the code, unless that path is too long.
fn run_dir(home: &Path) -> io::Result<PathBuf> {
    let name = format!("run-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let beside = home.join(&name);
    let folder = match beside.as_os_str().len() <= LONGEST_RUN_DIR {
        true => beside,
        false => short_dir().join(format!("plinth-functions-{name}")),
    };
    make_passable(&folder)?;
    Ok(folder)
}

/// Not `/tmp` if possible, which is another one for workers.
fn short_dir() -> PathBuf {
    let lasting = PathBuf::from("/var/tmp");
    match lasting.is_dir() {
        true => lasting,
        false => std::env::temp_dir(),
    }
}
