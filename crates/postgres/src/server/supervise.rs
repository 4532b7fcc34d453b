//! Supervisor: restarts the server until a stop is requested.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::exit_reason::is_transient;
use super::process::{Launch, Postmaster};
use super::{State, stale_lock, stale_server};
use crate::error::{Error, Result};
use crate::layout::InstanceLock;

const MIN_RESTART_BACKOFF: Duration = Duration::from_millis(100);
const MAX_RESTART_BACKOFF: Duration = Duration::from_secs(5);
/// A server that ran this long resets the restart backoff.
const STABLE_AFTER: Duration = Duration::from_secs(30);
/// How long the first start retries while a stale server releases its resources.
const STALE_SERVER_TIMEOUT: Duration = Duration::from_secs(15);
/// Shutdown timeout of a server whose handle was dropped instead of stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts the server and its supervisor task.
///
/// The task ends when a stop was asked for, or when the sender is dropped; its last act is to
/// publish [`State::Stopped`].
pub(super) async fn start(
    launch: Launch,
    lock: InstanceLock,
) -> Result<(mpsc::Sender<Duration>, watch::Receiver<State>)> {
    let launch = Arc::new(launch);
    let postmaster = first_start(&launch).await?;
    let (stop, stop_requests) = mpsc::channel(1);
    let (state, watcher) = watch::channel(State::Ready);
    let supervisor = Supervisor {
        launch,
        lock,
        state,
        stop_requests,
    };
    tokio::spawn(supervisor.run(postmaster));
    Ok((stop, watcher))
}

async fn first_start(launch: &Arc<Launch>) -> Result<Postmaster> {
    let give_up_at = Instant::now() + STALE_SERVER_TIMEOUT;
    clean_up(launch.clone()).await?;
    loop {
        match try_start(launch).await {
            Err(Error::StartFailed { reason })
                if is_transient(&reason) && Instant::now() < give_up_at =>
            {
                tracing::info!(
                    reason,
                    "retrying the start: an earlier PostgreSQL has not released its resources yet"
                );
                tokio::time::sleep(MIN_RESTART_BACKOFF).await;
            }
            result => return result,
        }
    }
}

async fn try_start(launch: &Launch) -> Result<Postmaster> {
    let mut postmaster = launch.spawn().await?;
    match postmaster.wait_until_ready().await {
        Ok(()) => Ok(postmaster),
        Err(error) => {
            if matches!(error, Error::StartTimedOut { .. }) {
                postmaster.stop(STOP_TIMEOUT).await;
            }
            Err(error)
        }
    }
}

struct Supervisor {
    launch: Arc<Launch>,
    /// Held until the server has exited.
    lock: InstanceLock,
    state: watch::Sender<State>,
    stop_requests: mpsc::Receiver<Duration>,
}

impl Supervisor {
    async fn run(mut self, mut postmaster: Postmaster) {
        let mut backoff = MIN_RESTART_BACKOFF;
        loop {
            let ready_since = Instant::now();
            let reason = tokio::select! {
                reason = postmaster.wait_for_exit() => reason,
                limit = self.stop_requests.recv() => {
                    postmaster.stop(limit.unwrap_or(STOP_TIMEOUT)).await;
                    break;
                }
            };
            if ready_since.elapsed() > STABLE_AFTER {
                backoff = MIN_RESTART_BACKOFF;
            }
            match self.restart(reason, &mut backoff).await {
                Some(restarted) => postmaster = restarted,
                None => break,
            }
            tracing::info!("PostgreSQL is ready again");
            self.state.send_replace(State::Ready);
        }
        // Released before `Stopped` is published: the waiter may use the folder right away.
        drop((postmaster, self.lock));
        self.state.send_replace(State::Stopped);
    }

    /// Retries with backoff until the server is ready; `None` when a stop is requested meanwhile.
    async fn restart(&mut self, mut reason: String, backoff: &mut Duration) -> Option<Postmaster> {
        loop {
            tracing::error!(
                reason,
                "PostgreSQL exited unexpectedly, restarting: {reason}"
            );
            self.state.send_replace(State::Restarting { reason });
            let attempt = attempt(self.launch.clone(), *backoff);
            *backoff = (*backoff * 2).min(MAX_RESTART_BACKOFF);
            let result = tokio::select! {
                result = attempt => result,
                _ = self.stop_requests.recv() => {
                    // The attempt may have got as far as a running server.
                    _ = clean_up(self.launch.clone()).await;
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

async fn attempt(launch: Arc<Launch>, backoff: Duration) -> Result<Postmaster> {
    tokio::time::sleep(backoff).await;
    clean_up(launch.clone()).await?;
    try_start(&launch).await
}

/// Backends of a killed postmaster may still hold its shared memory, and its lock files remain.
async fn clean_up(launch: Arc<Launch>) -> Result<()> {
    let done = tokio::task::spawn_blocking(move || {
        stale_server::clean_up(&launch.data_dir)?;
        stale_lock::remove(&launch.socket)
    });
    done.await.unwrap_or_else(|cause| {
        Err(Error::StartFailed {
            reason: cause.to_string(),
        })
    })
}
