//! `plinth stop`.

use std::time::{Duration, Instant};

use super::Global;
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

/// Covers the drain timeout (30 s by default) and the stop of PostgreSQL (20 s).
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) async fn run(global: &Global) -> Outcome {
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    let Some(running) = folder.running() else {
        eprintln!("Nothing runs for {}.", folder.root.display());
        return Ok(());
    };
    let pid = i32::try_from(running.pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or_else(|| anyhow::anyhow!("the recorded process id is not usable"))?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let started = Instant::now();
    while running.is_alive() {
        if started.elapsed() > STOP_TIMEOUT {
            return Err(Failure::new(
                Kind::Failure,
                format!(
                    "timeout: the server (pid {}) has not stopped after a minute",
                    running.pid
                ),
            ));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    eprintln!("Stopped. The data stays in {}.", folder.state().display());
    Ok(())
}
