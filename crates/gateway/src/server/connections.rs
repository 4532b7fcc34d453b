//! All connections of a listener: graceful shutdown first, abort after the drain timeout.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use hyper_util::server::graceful::GracefulConnection;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Outcome of draining a listener at shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that had not finished within the drain timeout.
    pub aborted: usize,
}

/// All connections of one listener.
pub(crate) struct Connections {
    tasks: TaskTracker,
    connection: Connection,
}

/// Shutdown signals, as one connection sees them.
#[derive(Clone)]
pub(crate) struct Connection {
    /// Finish requests in flight, take no new ones.
    shutdown: CancellationToken,
    /// The drain timeout has passed: end at once.
    abort: CancellationToken,
    aborted: Arc<AtomicUsize>,
}

impl Connections {
    pub(crate) fn new(shutdown: CancellationToken) -> Self {
        let abort = CancellationToken::new();
        Self {
            tasks: TaskTracker::new(),
            connection: Connection {
                shutdown,
                abort,
                aborted: Arc::default(),
            },
        }
    }

    /// Runs a connection in a task of its own.
    pub(crate) fn spawn<F>(&self, serve: impl FnOnce(Connection) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(serve(self.connection.clone()));
    }

    /// Waits for all of them up to the timeout, then aborts the rest. Their shutdown token has to be
    /// cancelled already.
    pub(crate) async fn drain(self, timeout: Duration) -> Drained {
        self.tasks.close();
        if tokio::time::timeout(timeout, self.tasks.wait())
            .await
            .is_err()
        {
            self.connection.abort.cancel();
            self.tasks.wait().await;
        }
        Drained {
            aborted: self.connection.aborted.load(Relaxed),
        }
    }
}

impl Connection {
    /// Runs the connection until it ends by itself, is shut down, or is aborted.
    pub(crate) async fn drive<C>(&self, connection: C)
    where
        C: GracefulConnection,
        C::Error: std::fmt::Debug,
    {
        let mut connection = pin!(connection);
        let mut is_stopping = false;
        loop {
            tokio::select! {
                biased;
                ended = &mut connection => {
                    if let Err(error) = ended {
                        tracing::debug!("connection ended with an error: {error:?}");
                    }
                    return;
                }
                () = self.abort.cancelled() => {
                    self.aborted.fetch_add(1, Relaxed);
                    return;
                }
                () = self.shutdown.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    /// Runs the work until shutdown; `Err(None)` is the shutdown.
    pub(crate) async fn until_shutdown<T, E, F>(&self, work: F) -> Result<T, Option<E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => Err(None),
            done = work => done.map_err(Some),
        }
    }
}
