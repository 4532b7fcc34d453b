//! Processes that are started before anybody needs them (functions contract §14.4), so that the first
//! request of a function need not wait for the runtime.
//!
//! How imports are found, whose packages they come from, how much memory there is and what is out of
//! reach: all that is settled when a process starts. So a spare belongs to a project, is made like a
//! worker that was started, and serves every function that agrees with it; others start as usual.
//! It may read the sources of all functions that it may become. Its own script, before anything of a
//! user's runs, closes all but those of the one that it is given.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use plinth_project::{Project, ProjectRef};
use tokio::sync::OwnedSemaphorePermit;

use super::FunctionsService;
use crate::{
    catalog::{Code, Function},
    config::FunctionsConfig,
    deno::Account,
    network::Network,
    worker::{Birth, Process},
};

/// Most functions that a spare may become: it takes time to close sources, the more the longer.
const MOST_CANDIDATES: usize = 64;

/// Everything that is settled when a process starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mold {
    account: Option<Account>,
    deno_dir: PathBuf,
    resolution: u64,
    denied: Vec<Network>,
    memory_bytes: u64,
    scratch_bytes: u64,
}

impl Mold {
    /// Of a process for the function; nothing where it must be the function's own.
    pub(super) fn of(function: &Function, birth: &Birth<'_>) -> Option<Self> {
        let code = &function.code;
        let needs_own = function.needs_own_process.load(Ordering::Relaxed);
        Some(Self {
            account: code.account,
            deno_dir: code.deno_dir.clone(),
            resolution: code.resolution().filter(|_| !needs_own)?,
            denied: birth.denied.to_owned(),
            memory_bytes: birth.memory_bytes,
            scratch_bytes: birth.scratch_bytes,
        })
    }

    /// Whether both are of the same time, in which all functions of a project have the same settings.
    fn has_settings_of(&self, other: &Self) -> bool {
        self.denied == other.denied
            && self.memory_bytes == other.memory_bytes
            && self.scratch_bytes == other.scratch_bytes
    }
}

/// A process that waits. Dropping it ends it.
pub(super) struct Spare {
    mold: Mold,
    pub(super) process: Process,
    // Free for others once the process has been told to go.
    pub(super) permit: OwnedSemaphorePermit,
}

impl Spare {
    fn fits(&mut self, mold: &Mold, root: &Path) -> bool {
        self.mold == *mold && self.process.can_become(root)
    }
}

/// The spares of all projects.
#[derive(Default)]
pub(super) struct Spares(Mutex<HashMap<ProjectRef, Kept>>);

/// Those of one project, the oldest first.
#[derive(Default)]
struct Kept {
    waiting: Vec<Spare>,
    coming: usize,
    /// What the last start looked for in vain.
    missed: Option<Mold>,
    /// Whether somebody sees to it that they go.
    is_watched: bool,
}

impl Spares {
    fn all(&self) -> MutexGuard<'_, HashMap<ProjectRef, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that can serve the code.
    pub(super) fn take(&self, project: &ProjectRef, mold: &Mold, code: &Code) -> Option<Spare> {
        let mut all = self.all();
        let waiting = &mut all.get_mut(project)?.waiting;
        let fitting = waiting
            .iter_mut()
            .position(|spare| spare.fits(mold, &code.root))?;
        Some(waiting.remove(fitting))
    }

    /// Ends one, so that somebody who is needed can come.
    pub(super) fn give_up_one(&self) {
        let mut all = self.all();
        if let Some(kept) = all.values_mut().find(|kept| !kept.waiting.is_empty()) {
            kept.waiting.remove(0);
        }
    }

    pub(super) fn give_up(&self, project: &ProjectRef) {
        self.all().remove(project);
    }

    /// Ends all, and waits until they have.
    pub(super) async fn end_all(&self) {
        let all = std::mem::take(&mut *self.all());
        for spare in all.into_values().flat_map(|kept| kept.waiting) {
            spare.process.end().await;
        }
    }

    /// How many like the worker that was just started should come.
    fn make_room(&self, project: &ProjectRef, mold: &Mold, root: &Path, wanted: usize) -> usize {
        let mut all = self.all();
        let kept = all.entry(project.clone()).or_default();
        kept.make_room(mold, root, wanted);
        let missing = wanted.saturating_sub(kept.waiting.len() + kept.coming);
        kept.coming += missing;
        missing
    }

    /// One has come, or could not; tells whether somebody must see to it from now on.
    fn settle(&self, project: &ProjectRef, spare: Option<Spare>) -> bool {
        let mut all = self.all();
        let kept = all.entry(project.clone()).or_default();
        kept.coming = kept.coming.saturating_sub(1);
        kept.waiting.extend(spare);
        !std::mem::replace(&mut kept.is_watched, true)
    }
}

impl Kept {
    /// Ends those that nobody will need, and one of another kind where there was none for the second
    /// time: functions that take turns should not start two processes each time.
    fn make_room(&mut self, mold: &Mold, root: &Path, wanted: usize) {
        self.waiting.retain_mut(|spare| {
            let is_like = spare.mold == *mold;
            spare.mold.has_settings_of(mold) && (!is_like || spare.process.can_become(root))
        });
        let is_like = |spare: &Spare| spare.mold == *mold;
        let is_missing = !self.waiting.iter().any(is_like);
        let is_full = self.waiting.len() + self.coming >= wanted;
        let missed = self.missed.take();
        if is_full && is_missing && missed.as_ref() == Some(mold) {
            self.waiting.drain(..self.waiting.len().min(1));
        } else if is_full && is_missing {
            self.missed = Some(mold.clone());
        }
        let too_many = (self.waiting.len() + self.coming).saturating_sub(wanted);
        self.waiting.drain(..self.waiting.len().min(too_many));
    }
}

impl FunctionsService {
    /// Starts as many as there should be, like a worker of the function.
    pub(super) fn replenish(
        &self,
        project: &Project,
        function: &Arc<Function>,
        mold: &Mold,
        wanted: usize,
    ) {
        let (reference, root) = (project.reference(), &function.code.root);
        let spares = &self.0.spares;
        let missing = spares.make_room(reference, mold, root, wanted);
        for _ in 0..missing {
            let (service, project) = (self.clone(), project.clone());
            let (function, mold) = (function.clone(), mold.clone());
            self.0.tasks.spawn(async move {
                let end = &service.0.end;
                let coming = end.run_until_cancelled(service.spare(&project, &function, mold));
                let Some(spare) = coming.await else {
                    return;
                };
                // Its sources may go before the spares do.
                drop(function);
                if service.0.spares.settle(project.reference(), spare) {
                    service.watch_spares(&project).await;
                }
            });
        }
    }

    async fn spare(&self, project: &Project, function: &Function, mold: Mold) -> Option<Spare> {
        // Nobody who is needed waits for one who is not.
        let permit = self.0.permits.clone().try_acquire_owned().ok()?;
        let ground = self.ground().ok()?;
        let birth = Birth {
            program: self.0.parts.deno.program()?,
            bootstrap: &ground.bootstrap,
            run_dir: &ground.run_dir,
            code: &function.code,
            denied: &mold.denied,
            memory_bytes: mold.memory_bytes,
            scratch_bytes: mold.scratch_bytes,
        };
        let candidates = self.candidates(project, &function.code);
        match Process::start(&birth, Some(candidates)).await {
            Ok(process) => Some(Spare {
                mold,
                process,
                permit,
            }),
            Err(error) => {
                tracing::warn!("no process could be started ahead: {error}");
                None
            }
        }
    }

    /// Sources that a process like the code's own may be given.
    fn candidates(&self, project: &Project, code: &Code) -> Vec<PathBuf> {
        let is_like = |other: &&Code| other.account == code.account;
        let functions = self.known_functions(project);
        let others = functions.iter().map(|function| &function.code);
        let others: BTreeSet<_> = others.filter(is_like).map(|other| &other.root).collect();
        let others = others.into_iter().filter(|root| **root != code.root);
        let all = std::iter::once(&code.root).chain(others);
        all.take(MOST_CANDIDATES).cloned().collect()
    }

    /// Spares go when nobody has used the project's functions for as long as a worker may be idle.
    async fn watch_spares(&self, project: &Project) {
        let reference = project.reference();
        loop {
            let limit = project.config::<FunctionsConfig>().limits.idle;
            let unused = self.unused_for(reference).unwrap_or(Duration::MAX);
            let left = limit.saturating_sub(unused);
            if left.is_zero() {
                return self.0.spares.give_up(reference);
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = project.closed().cancelled() => return self.0.spares.give_up(reference),
                () = self.0.end.cancelled() => return,
            }
        }
    }

    /// How long nobody has used any function of the project.
    fn unused_for(&self, project: &ProjectRef) -> Option<Duration> {
        let pools = self.pools();
        let of_project = pools
            .iter()
            .filter(|((reference, _), _)| reference == project);
        of_project.map(|(_, pool)| pool.unused_for()).min()
    }
}
