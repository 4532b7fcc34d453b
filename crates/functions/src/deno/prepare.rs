//! Prepares sources: fetches what they import, so that a boot needs no network.

use std::{fs, io, path::Path, process::Command, time::Duration};

use plinth_project::SourceError;

use super::{command, graph::Graph, npmrc};
use crate::{
    code::Code,
    network::{Network, denies_ipv6},
    sandbox,
};

/// Registries may be slow, and requests wait for it.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);

/// Why a function cannot be started.
#[derive(Debug)]
pub(crate) struct PrepareError {
    pub(crate) message: String,
    /// Whether the function is not to blame, and another attempt may succeed.
    pub(crate) is_transient: bool,
}

impl PrepareError {
    pub(crate) fn transient(message: String) -> Self {
        Self {
            message,
            is_transient: true,
        }
    }
}

impl From<SourceError> for PrepareError {
    fn from(SourceError(message): SourceError) -> Self {
        Self {
            message,
            is_transient: false,
        }
    }
}

/// Fetches and parses everything that the code imports, except from denied networks. Error messages are
/// those of the runtime.
pub(crate) async fn prepare(
    program: &Path,
    code: &Code,
    denied: &[Network],
) -> Result<(), PrepareError> {
    let map = code.resolve_imports();
    let map = map.map_err(|problem| SourceError(code.shorten_paths(&problem)))?;
    npmrc::check(code, denied).await?;
    let lock = code.user_lock();
    let lock = lock.map_err(|problem| SourceError(code.shorten_paths(&problem)))?;
    let write_files = || -> io::Result<()> {
        code.clear_prepared();
        let partial = code.import_map_file().with_extension("new");
        fs::write(&partial, map.to_string())?;
        fs::rename(partial, code.import_map_file())?;
        code.copy_npmrc()?;
        code.begin_lock_file(lock.as_ref())?;
        if let Some(account) = code.account {
            account.take_ownership(&code.work_dir)?;
        }
        Ok(())
    };
    let not_written = |error: io::Error| {
        PrepareError::transient(format!(
            "the work directory of the function cannot be written: {error}"
        ))
    };
    write_files().map_err(not_written)?;

    let run = |command| run(command, code, denies_ipv6(denied));
    run(command::cache(program, code, denied)).await?;
    if code.is_confined {
        let graph = run(command::graph(program, code, denied)).await?;
        check_graph(&graph, code)?;
    }
    let pinned = match fs::rename(code.new_lock_file(), code.lock_file()) {
        // There is nothing to pin.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            _ = fs::remove_file(code.lock_file());
            Ok(())
        }
        renamed => renamed,
    };
    pinned.map_err(not_written)?;
    // If that fails, it is prepared once more.
    _ = code.mark_prepared();
    Ok(())
}

/// Rejects imports of files that do not belong to the function.
fn check_graph(output: &[u8], code: &Code) -> Result<(), SourceError> {
    let graph: Graph = serde_json::from_slice(output).map_err(|error| {
        SourceError(format!(
            "the modules of the function cannot be listed: {error}"
        ))
    })?;
    match graph.find_outside(&code.root) {
        None => Ok(()),
        Some(file) => Err(SourceError(format!(
            "{file} is imported, which is not among the function's own files"
        ))),
    }
}

/// Runs the runtime to its end. Its output, or why it failed.
async fn run(command: Command, code: &Code, denies_ipv6: bool) -> Result<Vec<u8>, PrepareError> {
    let not_started =
        |error: io::Error| PrepareError::transient(format!("Deno could not be started: {error}"));
    let process = sandbox::spawn(command, denies_ipv6).await;
    let process = process.map_err(not_started)?;
    match tokio::time::timeout(FETCH_TIMEOUT, process.wait_with_output()).await {
        Err(_) => Err(PrepareError::transient(format!(
            "timeout: the imports of the function could not be fetched within {} s",
            FETCH_TIMEOUT.as_secs()
        ))),
        Ok(Err(error)) => Err(not_started(error)),
        Ok(Ok(output)) if output.status.success() => Ok(output.stdout),
        Ok(Ok(output)) => {
            Err(SourceError(code.explain_error(&String::from_utf8_lossy(&output.stderr))).into())
        }
    }
}
