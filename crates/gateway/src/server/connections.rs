//! Connections as a crowd: each learns that it is time to end, and later that time is up.

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

/// How a shutdown went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that had not finished when the time was up.
    pub cut_off: usize,
}

/// All connections of one listener.
pub(crate) struct Connections {
    tasks: TaskTracker,
    connection: Connection,
}

/// What one of them needs to know.
#[derive(Clone)]
pub(crate) struct Connection {
    /// Finish what is under way, begin nothing new.
    stop: CancellationToken,
    /// Time is up.
    cut: CancellationToken,
    cut_off: Arc<AtomicUsize>,
}

impl Connections {
    pub(crate) fn new(stop: CancellationToken) -> Self {
        let cut = CancellationToken::new();
        Self {
            tasks: TaskTracker::new(),
            connection: Connection {
                stop,
                cut,
                cut_off: Arc::default(),
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

    /// Waits for all of them, then drops the rest. They have been told to stop.
    pub(crate) async fn finish(self, drain: Duration) -> Drained {
        self.tasks.close();
        if tokio::time::timeout(drain, self.tasks.wait())
            .await
            .is_err()
        {
            self.connection.cut.cancel();
            self.tasks.wait().await;
        }
        Drained {
            cut_off: self.connection.cut_off.load(Relaxed),
        }
    }
}

impl Connection {
    /// Runs the connection to its end, whichever it is.
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
                        tracing::debug!("a connection ended early: {error:?}");
                    }
                    return;
                }
                () = self.cut.cancelled() => {
                    self.cut_off.fetch_add(1, Relaxed);
                    return;
                }
                () = self.stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    /// Does the work unless it is time to end.
    pub(crate) async fn unless_stopped<T, E, F>(&self, work: F) -> Result<T, Option<E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(None),
            done = work => done.map_err(Some),
        }
    }
}
