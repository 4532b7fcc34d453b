//! A process that does not serve yet.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Child;
use url::Url;
use uuid::Uuid;

use super::folder::WorkerFolder;
use crate::{
    catalog::Code,
    deno::{self, Run},
    network::{Network, is_without_ipv6},
    spawner,
};

/// The share of the memory that V8 may use for its heap; the rest is for everything else.
const HEAP_SHARE: (u64, u64) = (4, 5);

/// Started, and waiting to be told what to do. It ends when it is dropped.
pub(crate) struct Process {
    /// What records and answers will call it.
    pub(crate) id: String,
    // Goes before its folder does.
    pub(super) child: Child,
    pub(super) folder: WorkerFolder,
    /// Sources of everything that it may become, if it was not started for one function.
    candidates: Option<Vec<PathBuf>>,
}

/// What a process is started with.
pub(crate) struct Birth<'a> {
    pub(crate) program: &'a Path,
    pub(crate) bootstrap: &'a Path,
    pub(crate) run_dir: &'a Path,
    pub(crate) code: &'a Code,
    pub(crate) denied: &'a [Network],
    pub(crate) memory_bytes: u64,
    pub(crate) scratch_bytes: u64,
}

impl Process {
    /// A process for the code, or for any with these sources that agrees with it.
    pub(crate) async fn start(
        birth: &Birth<'_>,
        candidates: Option<Vec<PathBuf>>,
    ) -> Result<Self, String> {
        let id = Uuid::new_v4().to_string();
        let folder = WorkerFolder::create(birth.run_dir, &id, birth.code.account)
            .map_err(|error| format!("no folder for the worker: {error}"))?;
        let command = deno::run(&Run {
            program: birth.program,
            code: birth.code,
            bootstrap: birth.bootstrap,
            folder: folder.path(),
            socket: &folder.socket(),
            denied: birth.denied,
            heap_bytes: birth.memory_bytes / HEAP_SHARE.1 * HEAP_SHARE.0,
            scratch_bytes: birth.scratch_bytes,
            candidates: candidates.as_deref(),
        });
        let child = spawner::spawn(command, is_without_ipv6(birth.denied))
            .await
            .map_err(|error| format!("Deno could not be started: {error}"))?;
        Ok(Self {
            id,
            child,
            folder,
            candidates,
        })
    }

    /// Whether it was started before anybody knew what for.
    pub(super) fn is_spare(&self) -> bool {
        self.candidates.is_some()
    }

    /// Whether it waits, and may read the sources.
    pub(crate) fn can_become(&mut self, root: &Path) -> bool {
        let mut candidates = self.candidates.iter().flatten();
        candidates.any(|candidate| candidate == root) && matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it, and waits until it has.
    pub(crate) async fn end(mut self) {
        // It may have ended by itself.
        _ = self.child.kill().await;
    }

    /// What one that was not started for the code must know to run it, and nothing else.
    pub(super) fn assignment(&self, code: &Code) -> Option<Value> {
        let candidates = self.candidates.as_ref()?;
        let module = Url::from_file_path(&code.entrypoint).ok()?;
        // To close a part of its own sources would close all of them.
        let is_other = |candidate: &&PathBuf| !candidate.starts_with(&code.root);
        let closed: Vec<_> = candidates.iter().filter(is_other).collect();
        Some(json!({
            "module": module.as_str(),
            "file": code.entrypoint,
            "folder": code.working_folder(),
            "closed": closed,
        }))
    }
}
