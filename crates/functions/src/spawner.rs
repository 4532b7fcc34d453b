//! How the runtime is started: what is settled between fork and exec.

use std::{fs, io, os::unix::process::CommandExt as _, process::Command as StdCommand};

use rustix::process::{Resource, Rlimit, Signal};
use tokio::process::{Child, Command};

use crate::refused_calls::{refuse_ipv6, refuse_listening};

/// Connections of a worker, both ways.
const OPEN_FILES: u64 = 65_536;
/// Below the server itself.
const NICE: i32 = 5;
/// How much sooner than the server it goes where memory runs out, of 1,000.
const SOONER: i32 = 500;

/// Starts the command; it ends when we do, or when nobody holds it.
pub(crate) async fn spawn(mut command: StdCommand, is_without_ipv6: bool) -> io::Result<Child> {
    settle(&mut command);
    refuse_listening(&mut command);
    if is_without_ipv6 {
        refuse_ipv6(&mut command);
    }
    plinth_child::die_with_us(&mut command, Signal::KILL);
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let child = plinth_child::spawn(command, Signal::KILL).await?;
    go_first(&child);
    Ok(child)
}

/// Where memory runs out, the kernel ends a process: better this one than the database. A process that
/// has become somebody else cannot ask for it itself.
fn go_first(child: &Child) {
    // Other systems have no such file.
    let ours = fs::read_to_string("/proc/self/oom_score_adj").ok();
    let ours = ours.and_then(|text| text.trim().parse::<i32>().ok());
    if let (Some(pid), Some(ours)) = (child.id(), ours) {
        let score = (ours + SOONER).min(1000);
        _ = fs::write(format!("/proc/{pid}/oom_score_adj"), score.to_string());
    }
}

/// No core dumps, many open files, a place behind the server, and no descriptor of ours.
fn settle(command: &mut StdCommand) {
    let files = rustix::process::getrlimit(Resource::Nofile);
    let most = files
        .maximum
        .map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    let files = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // SAFETY: between fork and exec only system calls are made, nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setrlimit(Resource::Core, no_core)?;
            rustix::process::setrlimit(Resource::Nofile, files)?;
            _ = rustix::process::nice(NICE);
            close_descriptors();
            Ok(())
        });
    }
}

#[cfg(target_os = "linux")]
fn close_descriptors() {
    // SAFETY: marks descriptors, whichever there are; a system without the call has marked its own.
    unsafe {
        libc::close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as i32);
    }
}

#[cfg(not(target_os = "linux"))]
fn close_descriptors() {}
