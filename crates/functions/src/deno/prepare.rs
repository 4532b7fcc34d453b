//! Making sources ready: what they import is fetched, so that a start needs no network.

use std::{fs, io, path::Path, process::Command as StdCommand, time::Duration};

use plinth_project::BadSource;
use tokio::process::Command;

use super::{command, graph::Graph};
use crate::{catalog::Code, network::Network};

/// Registries may be slow; somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fetches and reads everything that the code imports, except from networks that are denied. The
/// words are the runtime's.
pub(crate) async fn prepare(
    program: &Path,
    code: &Code,
    denied: &[Network],
) -> Result<(), BadSource> {
    let map = code.imports().resolve();
    let map = map.map_err(|problem| BadSource(code.shorten(&problem)))?;
    let written = || -> io::Result<()> {
        code.forget_prepared();
        // What was pinned may not fit what is imported now.
        _ = fs::remove_file(code.lock_file());
        fs::write(code.import_map_file(), map.to_string())?;
        code.take_npmrc_over()?;
        if let Some(account) = code.account {
            account.own(&code.place)?;
        }
        Ok(())
    };
    written()
        .map_err(|error| BadSource(format!("the function's folder cannot be written: {error}")))?;

    run(command::cache(program, code, denied), code).await?;
    if code.is_confined {
        let told = run(command::graph(program, code, denied), code).await?;
        check(&told, code)?;
    }
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
async fn run(command: StdCommand, code: &Code) -> Result<Vec<u8>, BadSource> {
    let mut command = Command::from(command);
    let output = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).output());
    match output.await {
        Err(_) => Err(BadSource(format!(
            "what the function imports could not be fetched within {} s",
            PATIENCE.as_secs()
        ))),
        Ok(Err(error)) => Err(BadSource(format!("Deno could not be started: {error}"))),
        Ok(Ok(output)) if output.status.success() => Ok(output.stdout),
        Ok(Ok(output)) => Err(BadSource(
            code.explain(&String::from_utf8_lossy(&output.stderr)),
        )),
    }
}
