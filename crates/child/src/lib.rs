//! Child processes that live no longer than the program that started them.
//!
//! Linux sends the parent-death signal when the *thread* that forked a process ends, not when its
//! whole process does. A thread of an async runtime may end at any time, so all processes are started
//! by one thread of our own, which is created on first use and never ends.
//!
//! [`public_folder`] holds copies of programs for users who cannot reach the originals.

pub mod public_folder;

use std::{
    io,
    process::Command as StdCommand,
    sync::{
        OnceLock,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

struct Request {
    command: Command,
    /// The runtime that will wait for the process.
    runtime: Handle,
    signal_if_abandoned: Signal,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts the command on the spawner thread; the current runtime reaps the process. If the caller has
/// stopped waiting when the process starts, the process gets the signal `signal_if_abandoned`.
///
/// With [`die_with_parent`] it ends when we do, not when the calling thread does.
pub async fn spawn(command: Command, signal_if_abandoned: Signal) -> io::Result<Child> {
    let ended = || io::Error::other("the spawner thread has ended");
    let (reply, spawned) = oneshot::channel();
    let request = Request {
        command,
        runtime: Handle::current(),
        signal_if_abandoned,
        reply,
    };
    let spawner = Spawner::get()?;
    spawner.requests.send(request).map_err(|_| ended())?;
    spawned.await.map_err(|_| ended())?
}

/// The spawner thread.
struct Spawner {
    requests: Sender<Request>,
    /// Never joined: the thread must live as long as our process, or its children get their signal.
    _thread: JoinHandle<()>,
}

impl Spawner {
    fn get() -> io::Result<&'static Self> {
        static SPAWNER: OnceLock<Option<Spawner>> = OnceLock::new();
        let spawner = SPAWNER.get_or_init(|| Self::start().ok());
        let spawner = spawner.as_ref();
        spawner.ok_or_else(|| io::Error::other("the spawner thread could not be started"))
    }

    fn start() -> io::Result<Self> {
        let (requests, receiver) = channel();
        let thread = thread::Builder::new().name("child-spawner".to_owned());
        let thread = thread.spawn(move || spawn_requested(receiver))?;
        Ok(Self {
            requests,
            _thread: thread,
        })
    }
}

fn spawn_requested(requests: Receiver<Request>) {
    for mut request in requests {
        let _entered = request.runtime.enter();
        let spawned = request.command.spawn();
        if let Err(Ok(child)) = request.reply.send(spawned) {
            signal(&child, request.signal_if_abandoned);
        }
    }
}

/// Sends a signal to a process that was not reaped yet, so that its id cannot have been reused.
pub fn signal(child: &Child, signal: Signal) {
    let number = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = number.and_then(Pid::from_raw) {
        _ = kill_process(pid, signal);
    }
}

/// Has the kernel send the signal to the process when the thread that starts it ends. Call it last: a
/// change of user clears the request.
#[cfg(target_os = "linux")]
pub fn die_with_parent(command: &mut StdCommand, signal: Signal) {
    use std::os::unix::process::CommandExt as _;

    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only two system calls are made, nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal))?;
            // The parent may have ended before the request was made.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(rustix::io::Errno::SRCH.into())
            }
        });
    }
}

/// Other systems have no parent-death signal.
#[cfg(not(target_os = "linux"))]
pub fn die_with_parent(_command: &mut StdCommand, _signal: Signal) {}

#[cfg(test)]
mod tests {
    use std::{process::Stdio, time::Duration};

    use super::*;

    fn sleep() -> StdCommand {
        let mut command = StdCommand::new("sleep");
        command.arg("60").stdin(Stdio::null());
        command
    }

    /// As it is used: on the spawner thread, with the parent-death signal.
    async fn start(mut command: StdCommand) -> io::Result<Child> {
        die_with_parent(&mut command, Signal::KILL);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        spawn(command, Signal::KILL).await
    }

    fn is_alive(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    #[tokio::test]
    async fn a_process_outlives_the_thread_that_requested_it() {
        let runtime = Handle::current();
        let caller = thread::spawn(move || runtime.block_on(start(sleep())));
        let joined = tokio::task::spawn_blocking(|| caller.join()).await;
        let child = joined.expect("no panic").expect("no panic");
        let mut child = child.expect("a process");

        // A signal because of the ended thread would arrive at once.
        tokio::time::sleep(Duration::from_millis(100)).await;

        assert!(child.try_wait().expect("watched").is_none(), "it has ended");
        signal(&child, Signal::KILL);
        child.wait().await.expect("its end");
    }

    #[tokio::test]
    async fn a_process_ends_when_its_handle_is_dropped() {
        let child = start(sleep()).await.expect("a process");
        let pid = child.id().expect("its number");
        assert!(is_alive(pid));

        drop(child);

        let gone = async {
            while is_alive(pid) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let gone = tokio::time::timeout(Duration::from_secs(10), gone).await;
        assert!(gone.is_ok(), "it goes on");
    }

    #[tokio::test]
    async fn a_program_that_does_not_exist_is_an_error() {
        let command = StdCommand::new("/there/is/no/such/program");
        let error = start(command).await.expect_err("no process");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_ends_with_the_thread_that_started_it() {
        use std::os::unix::process::ExitStatusExt as _;

        let starting = thread::spawn(|| {
            let mut command = sleep();
            die_with_parent(&mut command, Signal::TERM);
            command.spawn()
        });
        let child = starting.join().expect("no panic");
        let status = child.expect("a process").wait().expect("its end");

        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    }
}
