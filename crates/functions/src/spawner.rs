//! The thread that starts the runtime, and what is settled between fork and exec.
//!
//! Linux sends the signal for "your parent died" when the *thread* that started a process ends. A
//! thread of a runtime may end at any time, so there is one of our own, made on first use and never
//! ended.

use std::{
    io,
    os::unix::process::CommandExt as _,
    process::Command as StdCommand,
    sync::{
        OnceLock,
        mpsc::{Sender, channel},
    },
};

use rustix::process::{Resource, Rlimit, Signal};
use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

use crate::ipv6;

/// Connections of a worker, both ways.
const OPEN_FILES: u64 = 65_536;
/// Below the server itself.
const NICE: i32 = 5;

struct Request {
    command: Command,
    /// The runtime that will wait for the process.
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts the command on the lasting thread; the current runtime watches over it.
pub(crate) async fn spawn(mut command: StdCommand, is_without_ipv6: bool) -> io::Result<Child> {
    let gone = || io::Error::other("the thread that starts workers is gone");
    settle(&mut command);
    if is_without_ipv6 {
        ipv6::refuse(&mut command);
    }
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let (reply, answer) = oneshot::channel();
    let request = Request {
        command,
        runtime: Handle::current(),
        reply,
    };
    thread()?.send(request).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn thread() -> io::Result<&'static Sender<Request>> {
    static THREAD: OnceLock<Option<Sender<Request>>> = OnceLock::new();
    let sender = THREAD.get_or_init(|| {
        let (sender, requests) = channel::<Request>();
        let run = move || {
            for mut request in requests {
                let _entered = request.runtime.enter();
                // A child that nobody takes is dropped, and killed with that.
                _ = request.reply.send(request.command.spawn());
            }
        };
        let thread = std::thread::Builder::new().name("worker-spawner".to_owned());
        thread.spawn(run).ok()?;
        Some(sender)
    });
    let sender = sender.as_ref();
    sender.ok_or_else(|| io::Error::other("no thread could be started"))
}

/// No core dumps, many open files, a place behind the server, no descriptor of ours, and an end
/// together with us.
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
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setrlimit(Resource::Core, no_core)?;
            rustix::process::setrlimit(Resource::Nofile, files)?;
            _ = rustix::process::nice(NICE);
            close_descriptors();
            die_with(parent)
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

#[cfg(target_os = "linux")]
fn die_with(parent: rustix::process::Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // We may have died before the request was made.
    match rustix::process::getppid() == Some(parent) {
        true => Ok(()),
        false => Err(rustix::io::Errno::SRCH.into()),
    }
}

/// Other systems have no such request; a worker ends when its standard input does.
#[cfg(not(target_os = "linux"))]
fn die_with(_parent: rustix::process::Pid) -> io::Result<()> {
    let _ = Signal::KILL;
    Ok(())
}
