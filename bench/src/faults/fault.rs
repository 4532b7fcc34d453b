//! What is killed.

use std::{
    fmt, fs, thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};

use crate::{functions, processes, random::Random};

/// The processes of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Fault {
    /// `plinth` itself; PostgreSQL and workers go with it.
    Server,
    /// PostgreSQL's main process.
    Postmaster,
    /// One of PostgreSQL's other processes, drawn anew each time.
    Backend,
    /// The Deno process of a function.
    Worker,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Server => "plinth",
            Fault::Postmaster => "PostgreSQL's postmaster",
            Fault::Backend => "a child process of PostgreSQL",
            Fault::Worker => "a function's Deno",
        })
    }
}

/// How long others may take to end after those that were killed.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to look for a process that can be killed.
const DRAW_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(1);

/// What to kill, and what ends with it.
struct Victims {
    killed: Vec<u32>,
    /// Those that were killed among them.
    ending: Vec<u32>,
}

impl Fault {
    pub(super) const ALL: [Self; 4] = [Self::Server, Self::Postmaster, Self::Backend, Self::Worker];

    /// Whether clients lose their connections.
    pub(super) fn closes_sockets(self) -> bool {
        self == Fault::Server
    }

    /// Kills processes below the server's, and waits until all have ended that end with them. Returns
    /// when it killed them.
    pub(super) fn kill_below(self, server: u32, random: &mut Random) -> anyhow::Result<Instant> {
        let end = Instant::now() + DRAW_TIMEOUT;
        while Instant::now() < end {
            let victims = self.draw(server, random)?;
            let killed_at = Instant::now();
            let mut is_any_killed = false;
            for pid in &victims.killed {
                is_any_killed |= kill(*pid)?;
            }
            // One that was drawn may have ended by itself, and then nothing else does.
            if is_any_killed && have_ended(&victims.ending) {
                return Ok(killed_at);
            }
            thread::sleep(POLL);
        }
        bail!("there is no {self} to kill");
    }

    fn draw(self, server: u32, random: &mut Random) -> anyhow::Result<Victims> {
        let mut tree = processes::tree(server);
        tree.retain(|pid| processes::is_alive(*pid));
        // Parents come before their children, so the postmaster is the first.
        let postgres: Vec<u32> = tree
            .iter()
            .copied()
            .filter(|pid| is_postgres(*pid))
            .collect();
        let postmaster = postgres.first().copied();
        let children = postgres.get(1..).unwrap_or_default();
        Ok(match self {
            Fault::Server => Victims {
                killed: vec![server],
                ending: vec![server],
            },
            Fault::Postmaster => Victims {
                killed: postmaster.into_iter().collect(),
                ending: postgres,
            },
            // PostgreSQL ends all others as well, since they share memory with it.
            Fault::Backend => Victims {
                killed: draw_one(children, random)?.into_iter().collect(),
                ending: children.to_vec(),
            },
            Fault::Worker => {
                let workers: Vec<u32> = tree
                    .into_iter()
                    .filter(|pid| functions::is_worker(*pid))
                    .collect();
                Victims {
                    killed: workers.clone(),
                    ending: workers,
                }
            }
        })
    }
}

fn draw_one(pids: &[u32], random: &mut Random) -> anyhow::Result<Option<u32>> {
    if pids.is_empty() {
        return Ok(None);
    }
    let drawn = random.between_one_and(i32::try_from(pids.len())?) - 1;
    Ok(pids.get(usize::try_from(drawn)?).copied())
}

/// Waits for it; false if some still run after [`END_TIMEOUT`].
fn have_ended(pids: &[u32]) -> bool {
    let end = Instant::now() + END_TIMEOUT;
    while pids.iter().any(|pid| processes::is_alive(*pid)) {
        if Instant::now() > end {
            return false;
        }
        thread::sleep(POLL);
    }
    true
}

fn is_postgres(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "postgres")
}

/// False if it has ended already.
fn kill(pid: u32) -> anyhow::Result<bool> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    match kill_process(pid.context("no pid")?, Signal::KILL) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_has_ended_is_not_killed() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id();

        assert!(kill(pid).unwrap());
        assert!(have_ended(&[pid]));
        child.wait().unwrap();
        assert!(!kill(pid).unwrap());
    }
}
