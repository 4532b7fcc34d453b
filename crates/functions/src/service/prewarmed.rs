//! Prewarmed processes (functions contract §14.4): started before they are needed, so that the first
//! request of a function need not wait for the runtime.
//!
//! Import resolution, packages, memory limit and denied networks are fixed when a process starts
//! ([`ProcessProfile`]). So a prewarmed process belongs to a project, has the profile of the worker that
//! was started last, and serves every function with the same profile; others start a process of their
//! own. It may read the sources of all functions that it may serve. `bootstrap.js` revokes those of the
//! other functions before any code of a user runs.

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
    account::Account,
    catalog::Function,
    code::Code,
    config::FunctionsConfig,
    network::Network,
    worker::{Process, ProcessSpec},
};

/// How many functions a prewarmed process may serve: revoking their sources takes time.
const MAX_CANDIDATES: usize = 64;

/// Everything that is fixed when a process starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessProfile {
    account: Option<Account>,
    deno_dir: PathBuf,
    resolution_hash: u64,
    denied: Vec<Network>,
    memory_bytes: u64,
    scratch_bytes: u64,
}

impl ProcessProfile {
    /// `None` if the function needs a process of its own.
    pub(super) fn for_function(function: &Function, spec: &ProcessSpec<'_>) -> Option<Self> {
        let code = &function.code;
        if function.needs_own_process.load(Ordering::Relaxed) {
            return None;
        }
        Some(Self {
            account: code.account,
            deno_dir: code.deno_dir.clone(),
            resolution_hash: code.resolution_hash()?,
            denied: spec.denied.to_owned(),
            memory_bytes: spec.memory_bytes,
            scratch_bytes: spec.scratch_bytes,
        })
    }

    /// Whether both come from the same settings, which all functions of a project share.
    fn has_same_settings(&self, other: &Self) -> bool {
        self.denied == other.denied
            && self.memory_bytes == other.memory_bytes
            && self.scratch_bytes == other.scratch_bytes
    }
}

/// A process that waits for a function. Dropping it kills it.
pub(super) struct PrewarmedProcess {
    profile: ProcessProfile,
    pub(super) process: Process,
    // Released after the process is killed.
    pub(super) permit: OwnedSemaphorePermit,
}

impl PrewarmedProcess {
    fn fits(&mut self, profile: &ProcessProfile, root: &Path) -> bool {
        self.profile == *profile && self.process.can_serve(root)
    }
}

/// The prewarmed processes of all projects.
#[derive(Default)]
pub(super) struct PrewarmedProcesses(Mutex<HashMap<ProjectRef, OfProject>>);

/// Those of one project.
#[derive(Default)]
struct OfProject {
    /// The oldest first.
    ready: Vec<PrewarmedProcess>,
    starting: usize,
    /// The profile that the last boot looked for in vain.
    last_miss: Option<ProcessProfile>,
    /// Whether a task evicts them when the project is not used.
    is_watched: bool,
}

impl PrewarmedProcesses {
    fn all(&self) -> MutexGuard<'_, HashMap<ProjectRef, OfProject>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that can serve the code.
    pub(super) fn take(
        &self,
        project: &ProjectRef,
        profile: &ProcessProfile,
        code: &Code,
    ) -> Option<PrewarmedProcess> {
        let mut all = self.all();
        let ready = &mut all.get_mut(project)?.ready;
        let fitting = ready
            .iter_mut()
            .position(|process| process.fits(profile, &code.root))?;
        Some(ready.remove(fitting))
    }

    /// Kills one, to release its permit.
    pub(super) fn evict_one(&self) {
        let mut all = self.all();
        if let Some(project) = all.values_mut().find(|project| !project.ready.is_empty()) {
            project.ready.remove(0);
        }
    }

    pub(super) fn evict_project(&self, project: &ProjectRef) {
        self.all().remove(project);
    }

    /// Kills all of them, and reaps them.
    pub(super) async fn kill_all(&self) {
        let all = std::mem::take(&mut *self.all());
        for prewarmed in all.into_values().flat_map(|project| project.ready) {
            prewarmed.process.kill().await;
        }
    }

    /// Evicts what no longer fits after a boot with that profile, and returns how many to start.
    fn adjust(
        &self,
        project: &ProjectRef,
        profile: &ProcessProfile,
        root: &Path,
        wanted: usize,
    ) -> usize {
        let mut all = self.all();
        let project = all.entry(project.clone()).or_default();
        project.evict_unfit(profile, root, wanted);
        let missing = wanted.saturating_sub(project.ready.len() + project.starting);
        project.starting += missing;
        missing
    }

    /// One has started, or failed to. Returns whether a task must watch the project from now on.
    fn finish_start(&self, project: &ProjectRef, started: Option<PrewarmedProcess>) -> bool {
        let mut all = self.all();
        let project = all.entry(project.clone()).or_default();
        project.starting = project.starting.saturating_sub(1);
        project.ready.extend(started);
        !std::mem::replace(&mut project.is_watched, true)
    }
}

impl OfProject {
    /// Evicts those with outdated settings or sources, and one with another profile where this profile
    /// was missing for the second time: functions that alternate should not start two processes each time.
    fn evict_unfit(&mut self, profile: &ProcessProfile, root: &Path, wanted: usize) {
        self.ready.retain_mut(|prewarmed| {
            let is_like = prewarmed.profile == *profile;
            prewarmed.profile.has_same_settings(profile)
                && (!is_like || prewarmed.process.can_serve(root))
        });
        let is_like = |prewarmed: &PrewarmedProcess| prewarmed.profile == *profile;
        let is_missing = !self.ready.iter().any(is_like);
        let is_full = self.ready.len() + self.starting >= wanted;
        let last_miss = self.last_miss.take();
        if is_full && is_missing && last_miss.as_ref() == Some(profile) {
            self.ready.drain(..self.ready.len().min(1));
        } else if is_full && is_missing {
            self.last_miss = Some(profile.clone());
        }
        let excess = (self.ready.len() + self.starting).saturating_sub(wanted);
        self.ready.drain(..self.ready.len().min(excess));
    }
}

impl FunctionsService {
    /// Starts as many as are wanted, with the profile of the function.
    pub(super) fn replenish_prewarmed(
        &self,
        project: &Project,
        function: &Arc<Function>,
        profile: &ProcessProfile,
        wanted: usize,
    ) {
        let (reference, root) = (project.reference(), &function.code.root);
        let missing = self.0.prewarmed.adjust(reference, profile, root, wanted);
        for _ in 0..missing {
            let (service, project) = (self.clone(), project.clone());
            let (function, profile) = (function.clone(), profile.clone());
            self.0.tasks.spawn(async move {
                let started = service.prewarm(&project, &function, profile);
                let shutdown = &service.0.shutdown;
                let Some(started) = shutdown.run_until_cancelled(started).await else {
                    return;
                };
                // Its sources may be removed before the process is.
                drop(function);
                let reference = project.reference();
                if service.0.prewarmed.finish_start(reference, started) {
                    service.evict_when_unused(&project).await;
                }
            });
        }
    }

    async fn prewarm(
        &self,
        project: &Project,
        function: &Function,
        profile: ProcessProfile,
    ) -> Option<PrewarmedProcess> {
        // Without waiting: workers come first.
        let permits = self.0.process_permits.clone();
        let permit = permits.try_acquire_owned().ok()?;
        let dirs = self.runtime_dirs().ok()?;
        let spec = ProcessSpec {
            program: self.0.parts.deno.program()?,
            bootstrap: &dirs.bootstrap,
            run_dir: &dirs.run_dir,
            code: &function.code,
            denied: &profile.denied,
            memory_bytes: profile.memory_bytes,
            scratch_bytes: profile.scratch_bytes,
        };
        let candidates = self.candidates(project, &function.code);
        let accounts = &self.0.accounts;
        let _hold = accounts.hold(project.reference(), profile.account).ok()?;
        match Process::start(&spec, Some(candidates)).await {
            Ok(process) => Some(PrewarmedProcess {
                profile,
                process,
                permit,
            }),
            Err(error) => {
                tracing::warn!("cannot start a prewarmed process: {error}");
                None
            }
        }
    }

    /// The source roots that a process with the code's user may serve, the code's own first.
    fn candidates(&self, project: &Project, code: &Code) -> Vec<PathBuf> {
        let has_same_user = |other: &&Code| other.account == code.account;
        let functions = self.cached_functions(project);
        let others = functions.iter().map(|function| &function.code);
        let others = others.filter(has_same_user).map(|other| &other.root);
        let others: BTreeSet<_> = others.filter(|root| **root != code.root).collect();
        let all = std::iter::once(&code.root).chain(others);
        all.take(MAX_CANDIDATES).cloned().collect()
    }

    /// Evicts them when the functions of the project were not used for the idle timeout of workers.
    async fn evict_when_unused(&self, project: &Project) {
        let reference = project.reference();
        loop {
            let limit = project.config::<FunctionsConfig>().limits.idle;
            let unused = self.unused_for(reference).unwrap_or(Duration::MAX);
            let left = limit.saturating_sub(unused);
            if left.is_zero() {
                return self.0.prewarmed.evict_project(reference);
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = project.closed().cancelled() => {
                    return self.0.prewarmed.evict_project(reference);
                }
                () = self.0.shutdown.cancelled() => return,
            }
        }
    }

    /// How long no function of the project was used.
    fn unused_for(&self, project: &ProjectRef) -> Option<Duration> {
        let pools = self.pools();
        let of_project = pools
            .iter()
            .filter(|((reference, _), _)| reference == project);
        of_project.map(|(_, pool)| pool.unused_for()).min()
    }
}
