//! Processes that live no longer than the program that started them.
//!
//! Linux sends the signal for "your parent died" when the *thread* that started a process ends, not
//! its whole process. A thread of a runtime may end at any time, so there is one of our own, made
//! on first use and never ended.

use std::{
    io,
    process::Command as StdCommand,
    sync::{
        OnceLock,
        mpsc::{Sender, channel},
    },
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
    if_unwanted: Signal,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts the command on the lasting thread; the current runtime watches over the process. One that
/// nobody waits for any more when it begins gets the signal `if_unwanted`.
///
/// With [`die_with_us`] it ends when we do, not when the thread does that asked for it.
pub async fn spawn(command: Command, if_unwanted: Signal) -> io::Result<Child> {
    let gone = || io::Error::other("the thread that starts processes is gone");
    let (reply, answer) = oneshot::channel();
    let request = Request {
        command,
        runtime: Handle::current(),
        if_unwanted,
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
                let spawned = request.command.spawn();
                if let Err(Ok(child)) = request.reply.send(spawned) {
                    signal(&child, request.if_unwanted);
                }
            }
        };
        let thread = std::thread::Builder::new().name("child-spawner".to_owned());
        thread.spawn(run).ok()?;
        Some(sender)
    });
    let sender = sender.as_ref();
    sender.ok_or_else(|| io::Error::other("no thread could be started"))
}

/// Sends a signal to a process that was not waited for yet, and so cannot be somebody else's.
pub fn signal(child: &Child, signal: Signal) {
    let number = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = number.and_then(Pid::from_raw) {
        _ = kill_process(pid, signal);
    }
}

/// Has the signal sent to the process when the thread ends that starts it. To be asked for last: a
/// change of the user would clear the request.
#[cfg(target_os = "linux")]
pub fn die_with_us(command: &mut StdCommand, signal: Signal) {
    use std::os::unix::process::CommandExt as _;

    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only two system calls are made, nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal))?;
            // We may have died before the request was made.
            match rustix::process::getppid() == Some(parent) {
                true => Ok(()),
                false => Err(rustix::io::Errno::SRCH.into()),
            }
        });
    }
}

/// Other systems have no such request.
#[cfg(not(target_os = "linux"))]
pub fn die_with_us(_command: &mut StdCommand, _signal: Signal) {}

#[cfg(test)]
mod tests {
    use std::{process::Stdio, time::Duration};

    use super::*;

    fn sleep() -> StdCommand {
        let mut command = StdCommand::new("sleep");
        command.arg("60").stdin(Stdio::null());
        command
    }

    /// As it is used: on the lasting thread, and with an end together with ours.
    async fn start(mut command: StdCommand) -> io::Result<Child> {
        die_with_us(&mut command, Signal::KILL);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        spawn(command, Signal::KILL).await
    }

    fn is_alive(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    #[tokio::test]
    async fn a_process_outlives_the_thread_that_asked_for_it() {
        let runtime = Handle::current();
        let asking = std::thread::spawn(move || runtime.block_on(start(sleep())));
        let joined = tokio::task::spawn_blocking(|| asking.join()).await;
        let child = joined.expect("no panic").expect("no panic");
        let mut child = child.expect("a process");

        tokio::time::sleep(Duration::from_millis(100)).await;

        assert!(child.try_wait().expect("watched").is_none(), "it is dead");
        signal(&child, Signal::KILL);
        child.wait().await.expect("its end");
    }

    #[tokio::test]
    async fn nothing_stays_that_nobody_waits_for() {
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
    async fn what_cannot_be_started_says_so() {
        let command = StdCommand::new("/there/is/no/such/program");
        let error = start(command).await.expect_err("no process");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_ends_with_the_thread_that_started_it() {
        use std::os::unix::process::ExitStatusExt as _;

        let starting = std::thread::spawn(|| {
            let mut command = sleep();
            die_with_us(&mut command, Signal::TERM);
            command.spawn()
        });
        let child = starting.join().expect("no panic");
        let status = child.expect("a process").wait().expect("its end");

        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    }
}
