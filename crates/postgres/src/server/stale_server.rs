//! Cleans up after an earlier server on the data folder: a running postmaster whose Plinth was
//! killed, backends whose postmaster was killed, or only a stale pid file. Blocking.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::process_table::{processes_in, runs_in, signal_all, wait_until};
use crate::error::{Error, Result};

/// Long enough for the checkpoint of a fast shutdown.
const FAST_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);
const IMMEDIATE_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(7);
/// Idle backends notice within a second that their postmaster is gone.
const BACKEND_EXIT_TIMEOUT: Duration = Duration::from_millis(1500);

/// Stops every PostgreSQL process still running on the folder. The caller holds the state folder's
/// lock, so none of them belongs to a living Plinth.
pub(super) fn clean_up(data_dir: &Path) -> Result<()> {
    if !data_dir.exists() {
        return Ok(());
    }
    let data_dir = &data_dir
        .canonicalize()
        .map_err(|cause| Error::file("find", data_dir, &cause))?;
    let pid_file = data_dir.join("postmaster.pid");
    let postmaster = fs::read_to_string(&pid_file)
        .ok()
        .and_then(|text| PidFile::parse(&text));
    let postmaster = postmaster
        .map(|file| file.pid)
        .filter(|pid| runs_in(*pid, data_dir));

    if let Some(pid) = postmaster {
        tracing::info!(
            pid = pid.as_raw_nonzero(),
            "stopping a stale PostgreSQL of an earlier Plinth"
        );
        stop(pid, data_dir)?;
    }
    stop_backends(data_dir)?;
    // The pid may have been reused, and PostgreSQL would take that process for a postmaster.
    if cfg!(target_os = "linux") {
        _ = fs::remove_file(&pid_file);
    }
    Ok(())
}

fn stop(postmaster: Pid, data_dir: &Path) -> Result<()> {
    for (signal, limit) in [
        (Signal::INT, FAST_SHUTDOWN_TIMEOUT),
        (Signal::QUIT, IMMEDIATE_SHUTDOWN_TIMEOUT),
    ] {
        _ = kill_process(postmaster, signal);
        if wait_until(limit, || !runs_in(postmaster, data_dir)) {
            return Ok(());
        }
    }
    let pid = postmaster.as_raw_nonzero().get().unsigned_abs();
    Err(Error::StaleServer {
        pid,
        path: data_dir.to_owned(),
    })
}

/// Waits for orphaned backends to exit; busy ones are terminated.
pub(super) fn stop_backends(data_dir: &Path) -> Result<()> {
    let none_left = || processes_in(data_dir).is_empty();
    if none_left() || wait_until(BACKEND_EXIT_TIMEOUT, none_left) {
        return Ok(());
    }
    for signal in [Signal::QUIT, Signal::KILL] {
        signal_all(&processes_in(data_dir), signal);
        if wait_until(Duration::from_secs(3), none_left) {
            return Ok(());
        }
    }
    let pid = processes_in(data_dir)
        .first()
        .map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
    Err(Error::StaleServer {
        pid,
        path: data_dir.to_owned(),
    })
}

/// `postmaster.pid`: the pid in line 1 and the status in line 8.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: Pid,
    pub(super) is_ready: bool,
}

impl PidFile {
    /// `None` while the file is being written, or where it is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let number: i32 = lines.next()?.trim().parse().ok()?;
        // A standalone backend writes its pid with a minus sign.
        let pid = Pid::from_raw(number.checked_abs()?)?;
        let is_ready = lines.nth(6).is_some_and(|status| status.trim() == "ready");
        Some(Self { pid, is_ready })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn the_pid_file_has_pid_and_readiness() {
        let text = |status: &str| format!("42\n/data\n1763175600\n5432\n/run\n\n  1 2\n{status}\n");

        let ready = PidFile::parse(&text("ready   "));
        assert_eq!(
            ready,
            Some(PidFile {
                pid: pid(42),
                is_ready: true
            })
        );
        let starting = PidFile::parse(&text("starting"));
        assert_eq!(
            starting,
            Some(PidFile {
                pid: pid(42),
                is_ready: false
            })
        );
        assert_eq!(
            PidFile::parse("42\n"),
            Some(PidFile {
                pid: pid(42),
                is_ready: false
            })
        );
        assert_eq!(
            PidFile::parse("-7\n/data"),
            Some(PidFile {
                pid: pid(7),
                is_ready: false
            })
        );
        for broken in ["", "x\n", "0\n", "-2147483648\n"] {
            assert_eq!(PidFile::parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_reused_pid_is_left_alone_and_the_pid_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("postmaster.pid");
        // This very process is alive, but not in that folder.
        fs::write(&pid_file, format!("{}\n/data\n", std::process::id())).unwrap();

        clean_up(folder.path()).unwrap();

        if cfg!(target_os = "linux") {
            assert!(!pid_file.exists());
        }
    }
}
