//! Connection pool of our own driver, based on `deadpool`.
//!
//! A connection dropped in the middle of its work (a client that disconnects) is cleaned up before it
//! returns to the pool: an idle transaction is rolled back, a running statement is cancelled and its
//! session closed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use deadpool::{
    Runtime,
    managed::{self, Metrics, PoolError, RecycleError, RecycleResult},
};

use crate::{
    DbError, Params, Row, Target,
    wire::{Connection, Status},
};

/// Timeout for rolling back or cancelling an abandoned transaction.
const RECLAIM_TIMEOUT: Duration = Duration::from_secs(5);

/// Size and timeouts of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolConfig {
    /// Maximum number of open connections.
    pub size: usize,
    /// How long a request waits for a free one before [`DbError::PoolTimeout`].
    pub acquire_timeout: Duration,
    /// A connection older than this is replaced when next asked for.
    pub max_lifetime: Duration,
    /// A connection unused for this long is closed by [`Pool::close_idle`].
    pub idle_timeout: Duration,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            size: 10,
            acquire_timeout: Duration::from_secs(10),
            max_lifetime: Duration::from_secs(1800),
            idle_timeout: Duration::from_secs(30),
        }
    }
}

/// Connections to one [`Target`]. Cheap to clone; opens nothing until a connection is needed.
#[derive(Clone)]
pub struct Pool {
    inner: managed::Pool<Connector>,
    config: PoolConfig,
    /// Incremented to invalidate all prepared statements.
    epoch: Arc<AtomicU64>,
}

impl Pool {
    /// A pool that connects on demand.
    pub fn new(target: Target, config: PoolConfig) -> Self {
        let manager = Connector {
            target,
            max_lifetime: config.max_lifetime,
        };
        let inner = managed::Pool::builder(manager)
            .max_size(config.size)
            .wait_timeout(Some(config.acquire_timeout))
            // LIFO: few, always busy connections keep their caches warm, here and in PostgreSQL.
            .queue_mode(managed::QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .expect("a runtime is configured, the only requirement of the builder");
        Self {
            inner,
            config,
            epoch: Arc::default(),
        }
    }

    /// Has every connection discard its prepared statements at its next checkout.
    pub fn discard_statements(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks out a connection that is in no transaction.
    pub async fn get(&self) -> Result<PooledConnection, DbError> {
        let mut connection = self.inner.get().await.map_err(failed)?;
        connection.enter_epoch(self.epoch.load(Ordering::Relaxed));
        Ok(PooledConnection(Some(connection)))
    }

    /// Closes connections that exceeded the idle timeout. Called periodically.
    pub fn close_idle(&self) {
        let idle_timeout = self.config.idle_timeout;
        self.inner
            .retain(|_, metrics| metrics.last_used() < idle_timeout);
    }

    /// Closes idle connections now and busy ones when they return; checkouts fail from now on.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Current gauges of the pool.
    pub fn usage(&self) -> Usage {
        let status = self.inner.status();
        Usage {
            open: status.size,
            in_use: status.size.saturating_sub(status.available),
            waiting: status.waiting,
            max: status.max_size,
        }
    }
}

/// Gauges of one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Open connections.
    pub open: usize,
    /// Checked-out connections.
    pub in_use: usize,
    /// Callers waiting for a connection.
    pub waiting: usize,
    /// The maximum.
    pub max: usize,
}

/// Maps the errors of `deadpool`.
pub(crate) fn failed(error: PoolError<DbError>) -> DbError {
    match error {
        PoolError::Timeout(_) => DbError::PoolTimeout,
        PoolError::Backend(error) => error,
        PoolError::Closed => DbError::Unavailable("the project is closed".to_owned()),
        error => DbError::Unavailable(error.to_string()),
    }
}

/// A checked-out connection, in no transaction. Returns to its pool when dropped.
pub struct PooledConnection(Option<managed::Object<Connector>>);

impl PooledConnection {
    /// Runs one statement; returns its rows.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.connection().query(sql, params).await
    }

    /// Runs one statement; returns the number of affected rows.
    pub async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        Ok(self.connection().run("", sql, params).await?.affected)
    }

    /// Runs statements without parameters, discarding their rows.
    pub async fn batch_execute(&mut self, sql: &str) -> Result<(), DbError> {
        self.connection().batch_execute(sql).await
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        self.0.as_mut().expect("present until dropped")
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(connection) = self.0.take() else {
            return;
        };
        let status = connection.status();
        if status == Status::Idle {
            return;
        }
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if status == Status::InTransaction => {
                drop(runtime.spawn(roll_back(connection)));
            }
            Ok(runtime) if status == Status::Working => drop(runtime.spawn(cancel(connection))),
            _ => discard(connection),
        }
    }
}

async fn roll_back(mut connection: managed::Object<Connector>) {
    let rolled_back = connection.batch_execute("rollback");
    let rolled_back = tokio::time::timeout(RECLAIM_TIMEOUT, rolled_back).await;
    if !matches!(rolled_back, Ok(Ok(()))) {
        discard(connection);
    }
}

/// The connection is closed afterwards: a cancel request may arrive late and would hit the next user's
/// statement.
async fn cancel(connection: managed::Object<Connector>) {
    _ = tokio::time::timeout(RECLAIM_TIMEOUT, connection.cancel()).await;
    discard(connection);
}

/// Removes the connection from the pool, which closes it.
fn discard(connection: managed::Object<Connector>) {
    drop(managed::Object::take(connection));
}

/// Opens and checks the pool's connections.
struct Connector {
    target: Target,
    max_lifetime: Duration,
}

impl managed::Manager for Connector {
    // Boxed because a checkout moves it several times.
    type Type = Box<Connection>;
    type Error = DbError;

    async fn create(&self) -> Result<Box<Connection>, DbError> {
        // Boxed: otherwise every checkout future would be as large as the one that connects.
        Box::pin(self.target.open()).await.map(Box::new)
    }

    async fn recycle(
        &self,
        connection: &mut Box<Connection>,
        metrics: &Metrics,
    ) -> RecycleResult<DbError> {
        if !connection.is_usable() {
            return Err(RecycleError::message("closed by the server"));
        }
        if metrics.created.elapsed() > self.max_lifetime {
            return Err(RecycleError::message("older than its lifetime"));
        }
        Ok(())
    }
}
