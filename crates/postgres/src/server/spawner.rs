//! The thread that starts servers.
//!
//! Linux sends the signal for "your parent died" when the *thread* that started a process ends, not
//! its whole process. A thread of a runtime may end at any time, so there is one of our own, made
//! on first use and never ended.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct Request {
    command: Command,
    /// The runtime that will wait for the process.
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts the command on the lasting thread; the current runtime watches over it.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    let gone = || io::Error::other("the thread that starts servers is gone");
    let (reply, answer) = oneshot::channel();
    let request = Request {
        command,
        runtime: Handle::current(),
        reply,
    };
    thread()?.send(request).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

/// Sends a signal to a process that was not waited for yet, and so cannot be somebody else's.
pub(super) fn signal(child: &Child, signal: Signal) {
    let number = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = number.and_then(Pid::from_raw) {
        _ = kill_process(pid, signal);
    }
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
                    // Nobody waits for it any more, so it must not stay either.
                    signal(&child, Signal::INT);
                }
            }
        };
        std::thread::Builder::new()
            .name("postgres-spawner".to_owned())
            .spawn(run)
            .ok()?;
        Some(sender)
    });
    sender
        .as_ref()
        .ok_or_else(|| io::Error::other("no thread could be started"))
}
