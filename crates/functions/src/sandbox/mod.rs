//! How the runtime is started: every limit that is set between fork and exec.
//!
//! `seccomp` denies system calls, `scratch` gives a worker its temporary files. What the runtime
//! itself can deny is on its command line (`deno::command`).

mod scratch;
mod seccomp;

use std::{fs, io, os::unix::process::CommandExt as _, process::Command as StdCommand};

use rustix::process::{Resource, Rlimit, Signal};
use tokio::process::{Child, Command};

pub(crate) use self::scratch::Scratch;
use self::seccomp::{deny_ipv6, deny_listening};

/// Open files of a worker: its connections, both ways.
const MAX_OPEN_FILES: u64 = 65_536;
/// Below the priority of the server.
const NICE: i32 = 5;
/// Added to the server's own `oom_score_adj`, of 1,000.
const OOM_SCORE_OFFSET: i32 = 500;

/// Starts the command. The process ends when we do, and when its handle is dropped.
pub(crate) async fn spawn(mut command: StdCommand, denies_ipv6: bool) -> io::Result<Child> {
    limit_process(&mut command);
    deny_listening(&mut command);
    if denies_ipv6 {
        deny_ipv6(&mut command);
    }
    plinth_child::die_with_parent(&mut command, Signal::KILL);
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let child = plinth_child::spawn(command, Signal::KILL).await?;
    raise_oom_score(&child);
    Ok(child)
}

/// When memory runs out, the kernel kills a worker before the server and the database. A process that
/// has changed its user cannot set this itself.
fn raise_oom_score(child: &Child) {
    // Other systems have no such file.
    let own = fs::read_to_string("/proc/self/oom_score_adj").ok();
    let own = own.and_then(|text| text.trim().parse::<i32>().ok());
    if let (Some(pid), Some(own)) = (child.id(), own) {
        let score = (own + OOM_SCORE_OFFSET).min(1000);
        _ = fs::write(format!("/proc/{pid}/oom_score_adj"), score.to_string());
    }
}

/// No core dumps, many open files, a lower priority, and none of our descriptors.
fn limit_process(command: &mut StdCommand) {
    let files = rustix::process::getrlimit(Resource::Nofile);
    let files = files.maximum.unwrap_or(MAX_OPEN_FILES).min(MAX_OPEN_FILES);
    let files = soft_and_hard_limit(files);
    let no_core = soft_and_hard_limit(0);
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

/// A limit that cannot be raised again.
fn soft_and_hard_limit(limit: u64) -> Rlimit {
    Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    }
}

#[cfg(target_os = "linux")]
fn close_descriptors() {
    // SAFETY: sets a flag of whichever descriptors there are. Where the kernel lacks the call, the
    // standard library has opened all of them with it.
    unsafe {
        libc::close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as i32);
    }
}

#[cfg(not(target_os = "linux"))]
fn close_descriptors() {}
