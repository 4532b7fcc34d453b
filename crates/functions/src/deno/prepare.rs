//! Making sources ready: what they import is fetched, so that a start needs no network.

use std::{fs, io, path::Path, time::Duration};

use plinth_project::BadSource;
use tokio::process::Command;

use super::command;
use crate::catalog::Code;

/// Registries may be slow; somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fetches and reads everything that the code imports. The words are the runtime's.
pub(crate) async fn prepare(program: &Path, code: &Code) -> Result<(), BadSource> {
    let map = code.imports().resolve();
    let map = map.map_err(|problem| BadSource(code.shorten(&problem)))?;
    let written = || -> io::Result<()> {
        code.forget_prepared();
        // What was pinned may not fit what is imported now.
        _ = fs::remove_file(code.lock_file());
        fs::write(code.import_map_file(), map.to_string())?;
        if let Some(account) = code.account {
            account.own(&code.place)?;
        }
        Ok(())
    };
    written()
        .map_err(|error| BadSource(format!("the function's folder cannot be written: {error}")))?;

    let mut cache = Command::from(command::cache(program, code));
    let output = tokio::time::timeout(PATIENCE, cache.kill_on_drop(true).output());
    match output.await {
        Err(_) => Err(BadSource(format!(
            "what the function imports could not be fetched within {} s",
            PATIENCE.as_secs()
        ))),
        Ok(Err(error)) => Err(BadSource(format!("Deno could not be started: {error}"))),
        Ok(Ok(output)) if output.status.success() => {
            // Without the note it is made ready once more.
            _ = code.note_prepared();
            Ok(())
        }
        Ok(Ok(output)) => Err(BadSource(
            code.explain(&String::from_utf8_lossy(&output.stderr)),
        )),
    }
}
