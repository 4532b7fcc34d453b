//! The state that a first start leaves in an empty folder, made once per test process.
//!
//! A first start takes ten times the processor time of a later one, and few tests are about it. Copies
//! have the same keys and the same project reference.

use std::{fs, path::Path, process::Command, sync::OnceLock};

use super::{Folder, Instance, is_alive};

/// Folders of this kind outlive their process: a static is not dropped.
const PREFIX: &str = "plinth-prepared-";

/// What belongs to one run, or to the folder's own place.
const LEFT_OUT: [&str; 6] = [
    "logs",
    "ports.json",
    "running.json",
    "server.log",
    "lock",
    "start-lock",
];

static PREPARED: OnceLock<Folder> = OnceLock::new();

/// Puts the state into a folder that has none.
pub(super) fn put_into(folder: &Folder) {
    if folder.state().exists() {
        return;
    }
    let prepared = PREPARED.get_or_init(prepare).state();
    if prepared.exists() {
        let copied = Command::new("cp")
            .arg("-a")
            .args([&prepared, &folder.state()])
            .status();
        assert!(
            copied.expect("cp runs").success(),
            "the state is not copied"
        );
    }
}

/// Without a state if that lies elsewhere, and so cannot be copied.
fn prepare() -> Folder {
    let folder = Folder::named(&format!("{PREFIX}{}-", std::process::id()));
    remove_stale(folder.path().parent().unwrap_or(folder.path()));
    Instance::first_start(&folder, &[]).stop();
    let state = folder.state();
    let is_elsewhere = ["data-location", "functions-location"]
        .iter()
        .any(|pointer| state.join(pointer).exists());
    let left_out: &[&str] = if is_elsewhere { &[""] } else { &LEFT_OUT };
    for name in left_out {
        let path = state.join(name);
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path).or(Ok(()))
        };
        removed.expect("it can be removed");
    }
    folder
}

fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| {
            let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
            pid.parse::<u32>().ok()
        });
        if pid.is_some_and(|pid| !is_alive(pid)) {
            _ = fs::remove_dir_all(entry.path());
        }
    }
}
