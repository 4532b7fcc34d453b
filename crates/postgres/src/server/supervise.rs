//! Keeps a server running until somebody asks for its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::failure::is_passing;
use super::process::{Launch, Postmaster};
use super::{State, leftover};
use crate::error::{Error, Result};
use crate::place::InstanceLock;

const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// A server that ran this long has recovered; its next failure is a new story.
const COUNTS_AS_STABLE: Duration = Duration::from_secs(30);
/// How long the first start waits for remains of an earlier server to go away.
const REMAINS_LIMIT: Duration = Duration::from_secs(15);
/// For a server whose handle was dropped instead of stopped.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Starts the server for the first time, and a task that watches over it from then on.
///
/// The task ends when a stop was asked for, or when the sender is dropped; its last act is to
/// publish [`State::Stopped`].
pub(super) async fn start(
    launch: Launch,
    lock: InstanceLock,
) -> Result<(mpsc::Sender<Duration>, watch::Receiver<State>)> {
    let postmaster = first_start(&launch).await?;
    let (stop, stop_requests) = mpsc::channel(1);
    let (state, watcher) = watch::channel(State::Ready);
    let supervisor = Supervisor {
        launch: Arc::new(launch),
        lock,
        state,
        stop_requests,
    };
    tokio::spawn(supervisor.run(postmaster));
    Ok((stop, watcher))
}

async fn first_start(launch: &Launch) -> Result<Postmaster> {
    let give_up_at = Instant::now() + REMAINS_LIMIT;
    loop {
        match try_start(launch).await {
            Err(Error::StartFailed { reason })
                if is_passing(&reason) && Instant::now() < give_up_at =>
            {
                tracing::info!(reason, "waiting for the remains of an earlier PostgreSQL");
                tokio::time::sleep(FIRST_DELAY).await;
            }
            result => return result,
        }
    }
}

async fn try_start(launch: &Launch) -> Result<Postmaster> {
    let mut postmaster = launch.spawn().await?;
    match postmaster.until_ready().await {
        Ok(()) => Ok(postmaster),
        Err(error) => {
            if matches!(error, Error::StartTimedOut { .. }) {
                postmaster.stop(STOP_LIMIT).await;
            }
            Err(error)
        }
    }
}

struct Supervisor {
    launch: Arc<Launch>,
    /// Kept until the server is gone.
    lock: InstanceLock,
    state: watch::Sender<State>,
    stop_requests: mpsc::Receiver<Duration>,
}

impl Supervisor {
    async fn run(mut self, mut postmaster: Postmaster) {
        let mut delay = FIRST_DELAY;
        loop {
            let ready_since = Instant::now();
            let reason = tokio::select! {
                reason = postmaster.ended() => reason,
                limit = self.stop_requests.recv() => {
                    postmaster.stop(limit.unwrap_or(STOP_LIMIT)).await;
                    break;
                }
            };
            if ready_since.elapsed() > COUNTS_AS_STABLE {
                delay = FIRST_DELAY;
            }
            match self.restart(reason, &mut delay).await {
                Some(restarted) => postmaster = restarted,
                None => break,
            }
            tracing::info!("PostgreSQL is ready again");
            self.state.send_replace(State::Ready);
        }
        // Whoever waits for the end may want to use the folder right away.
        drop((postmaster, self.lock));
        self.state.send_replace(State::Stopped);
    }

    /// Tries until it works, or returns `None` when a stop was asked for meanwhile.
    async fn restart(&mut self, mut reason: String, delay: &mut Duration) -> Option<Postmaster> {
        loop {
            tracing::error!(
                reason,
                "PostgreSQL ended unexpectedly and is started again: {reason}"
            );
            self.state.send_replace(State::Restarting { reason });
            let attempt = attempt(self.launch.clone(), *delay);
            *delay = (*delay * 2).min(LONGEST_DELAY);
            let result = tokio::select! {
                result = attempt => result,
                _ = self.stop_requests.recv() => {
                    // The attempt may have got as far as a running server.
                    _ = clear(self.launch.clone()).await;
                    return None;
                }
            };
            match result {
                Ok(postmaster) => return Some(postmaster),
                Err(error) => reason = error.to_string(),
            }
        }
    }
}

async fn attempt(launch: Arc<Launch>, delay: Duration) -> Result<Postmaster> {
    tokio::time::sleep(delay).await;
    clear(launch.clone()).await?;
    try_start(&launch).await
}

/// Backends of a killed postmaster may still hold its shared memory.
async fn clear(launch: Arc<Launch>) -> Result<()> {
    let done = tokio::task::spawn_blocking(move || leftover::clear(&launch.data_dir)).await;
    done.unwrap_or_else(|cause| {
        Err(Error::StartFailed {
            reason: cause.to_string(),
        })
    })
}
