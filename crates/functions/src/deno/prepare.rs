//! Making sources ready: what they import is fetched, so that a start needs no network.

use std::{fs, io, path::Path, process::Command, time::Duration};

use plinth_project::BadSource;

use super::{command, graph::Graph, npmrc};
use crate::{
    catalog::Code,
    network::{Network, is_without_ipv6},
    spawner,
};

/// Registries may be slow; somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why a function cannot be started.
#[derive(Debug)]
pub(crate) struct Unready {
    pub(crate) told: String,
    /// Whether it is not to blame, and may be ready when it is tried again.
    pub(crate) is_passing: bool,
}

impl Unready {
    pub(crate) fn passing(told: String) -> Self {
        Self {
            told,
            is_passing: true,
        }
    }
}

impl From<BadSource> for Unready {
    fn from(BadSource(told): BadSource) -> Self {
        Self {
            told,
            is_passing: false,
        }
    }
}

/// Fetches and reads everything that the code imports, except from networks that are denied. The
/// words are the runtime's.
pub(crate) async fn prepare(
    program: &Path,
    code: &Code,
    denied: &[Network],
) -> Result<(), Unready> {
    let map = code.resolve_imports();
    let map = map.map_err(|problem| BadSource(code.shorten(&problem)))?;
    npmrc::check(code, denied).await?;
    let lock = code.own_lock();
    let lock = lock.map_err(|problem| BadSource(code.shorten(&problem)))?;
    let written = || -> io::Result<()> {
        code.forget_prepared();
        let coming = code.import_map_file().with_extension("coming");
        fs::write(&coming, map.to_string())?;
        fs::rename(coming, code.import_map_file())?;
        code.take_npmrc_over()?;
        code.pin(lock.as_ref())?;
        if let Some(account) = code.account {
            account.own(&code.place)?;
        }
        Ok(())
    };
    let not_written = |error: io::Error| {
        Unready::passing(format!("the function's folder cannot be written: {error}"))
    };
    written().map_err(not_written)?;

    let run = |command| run(command, code, is_without_ipv6(denied));
    run(command::cache(program, code, denied)).await?;
    if code.is_confined {
        let told = run(command::graph(program, code, denied)).await?;
        check(&told, code)?;
    }
    let pinned = match fs::rename(code.coming_lock_file(), code.lock_file()) {
        // Nothing is imported that could be pinned.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            _ = fs::remove_file(code.lock_file());
            Ok(())
        }
        renamed => renamed,
    };
    pinned.map_err(not_written)?;
    // Without the note it is made ready once more.
    _ = code.note_prepared();
    Ok(())
}

/// Nothing is imported that does not belong to the function.
fn check(told: &[u8], code: &Code) -> Result<(), BadSource> {
    let graph: Graph = serde_json::from_slice(told)
        .map_err(|error| BadSource(format!("its modules cannot be listed: {error}")))?;
    match graph.outside(&code.root) {
        None => Ok(()),
        Some(file) => Err(BadSource(format!(
            "{file} is imported, which is not among the function's own files"
        ))),
    }
}

/// What the runtime prints, or why it does not.
async fn run(command: Command, code: &Code, is_without_ipv6: bool) -> Result<Vec<u8>, Unready> {
    let not_started =
        |error: io::Error| Unready::passing(format!("Deno could not be started: {error}"));
    let process = spawner::spawn(command, is_without_ipv6).await;
    let process = process.map_err(not_started)?;
    match tokio::time::timeout(PATIENCE, process.wait_with_output()).await {
        Err(_) => Err(Unready::passing(format!(
            "what the function imports could not be fetched within {} s",
            PATIENCE.as_secs()
        ))),
        Ok(Err(error)) => Err(not_started(error)),
        Ok(Ok(output)) if output.status.success() => Ok(output.stdout),
        Ok(Ok(output)) => {
            Err(BadSource(code.explain(&String::from_utf8_lossy(&output.stderr))).into())
        }
    }
}
