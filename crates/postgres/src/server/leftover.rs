//! What an earlier server may have left on the data folder: a running postmaster whose Plinth was
//! killed, backends whose postmaster was killed, or only its pid file. Blocking.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::processes::{signal_all, wait_until, working_in, works_in};
use crate::error::{Error, Result};

/// Long enough for the checkpoint of an ordinary shutdown.
const FAST_STOP: Duration = Duration::from_secs(20);
const IMMEDIATE_STOP: Duration = Duration::from_secs(7);
/// Backends notice within a second that their postmaster is gone, unless they are busy.
const BACKENDS_NOTICE: Duration = Duration::from_millis(1500);

/// Ends whatever still works on the folder, so that a new server can have it. The caller holds the
/// state folder's lock: no living Plinth can be the owner of what is found.
pub(super) fn clear(data_dir: &Path) -> Result<()> {
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
        .filter(|pid| works_in(*pid, data_dir));

    if let Some(pid) = postmaster {
        tracing::info!(
            pid = pid.as_raw_nonzero(),
            "stopping a PostgreSQL that was left running"
        );
        stop(pid, data_dir)?;
    }
    end_backends(data_dir)?;
    // Its number may belong to somebody else by now, whom Postgres would take for a postmaster.
    if cfg!(target_os = "linux") {
        _ = fs::remove_file(&pid_file);
    }
    Ok(())
}

fn stop(postmaster: Pid, data_dir: &Path) -> Result<()> {
    for (signal, limit) in [(Signal::INT, FAST_STOP), (Signal::QUIT, IMMEDIATE_STOP)] {
        _ = kill_process(postmaster, signal);
        if wait_until(limit, || !works_in(postmaster, data_dir)) {
            return Ok(());
        }
    }
    let pid = postmaster.as_raw_nonzero().get().unsigned_abs();
    Err(Error::LeftoverServer {
        pid,
        path: data_dir.to_owned(),
    })
}

/// Backends without a postmaster end by themselves; those that are busy are told to.
pub(super) fn end_backends(data_dir: &Path) -> Result<()> {
    let is_clear = || working_in(data_dir).is_empty();
    if is_clear() || wait_until(BACKENDS_NOTICE, is_clear) {
        return Ok(());
    }
    for signal in [Signal::QUIT, Signal::KILL] {
        signal_all(&working_in(data_dir), signal);
        if wait_until(Duration::from_secs(3), is_clear) {
            return Ok(());
        }
    }
    let pid = working_in(data_dir)
        .first()
        .map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
    Err(Error::LeftoverServer {
        pid,
        path: data_dir.to_owned(),
    })
}

/// What `postmaster.pid` says: the number in line 1 and the status in line 8.
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
        // A standalone backend writes its number with a minus.
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
    fn the_pid_file_tells_number_and_readiness() {
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
    fn the_number_of_a_stranger_is_left_alone_and_the_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("postmaster.pid");
        // This very process is alive, but works elsewhere.
        fs::write(&pid_file, format!("{}\n/data\n", std::process::id())).unwrap();

        clear(folder.path()).unwrap();

        if cfg!(target_os = "linux") {
            assert!(!pid_file.exists());
        }
    }
}
