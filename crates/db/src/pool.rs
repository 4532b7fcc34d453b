//! Pooled connections of our own driver. `deadpool` lends them.
//!
//! Whoever drops one half-way (a client that disconnects) leaves a session behind that still
//! works. It never returns to the pool like that: a transaction that only waits is rolled back, a
//! running statement is cancelled and its session closed.

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

/// How long ending an abandoned transaction may take.
const RECLAIM_TIMEOUT: Duration = Duration::from_secs(5);

/// How many connections a pool may hold and for how long.
#[derive(Debug, Clone, Copy)]
pub struct PoolConfig {
    /// Most connections open at once.
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

/// Connections to one [`Target`]. Cheap to clone; opens nothing until asked.
#[derive(Clone)]
pub struct Pool {
    inner: managed::Pool<Connector>,
    config: PoolConfig,
    /// How often all statements were to be forgotten.
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
            // Few connections that are always busy have warm caches, here and in PostgreSQL.
            .queue_mode(managed::QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .expect("a runtime is given, which is all that building asks for");
        Self {
            inner,
            config,
            epoch: Arc::default(),
        }
    }

    /// Lets every connection forget what it prepared, when it is next lent.
    pub fn forget_statements(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Lends a connection that is in no transaction.
    pub async fn get(&self) -> Result<PooledConnection, DbError> {
        let mut connection = self.inner.get().await.map_err(failed)?;
        connection.enter_epoch(self.epoch.load(Ordering::Relaxed));
        Ok(PooledConnection(Some(connection)))
    }

    /// Closes connections that nobody used for the idle time. Called periodically.
    pub fn close_idle(&self) {
        let idle_timeout = self.config.idle_timeout;
        self.inner
            .retain(|_, metrics| metrics.last_used() < idle_timeout);
    }

    /// Ends all idle connections now and those in use when they come back; no new ones are lent.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Open connections, and those of them that are in use.
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

/// Numbers of one pool at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Connections that exist.
    pub open: usize,
    /// Those of them that are lent.
    pub in_use: usize,
    /// Requests waiting for one.
    pub waiting: usize,
    /// The upper limit.
    pub max: usize,
}

/// Why there is no connection.
pub(crate) fn failed(error: PoolError<DbError>) -> DbError {
    match error {
        PoolError::Timeout(_) => DbError::PoolTimeout,
        PoolError::Backend(error) => error,
        PoolError::Closed => DbError::Unavailable("the project is closed".to_owned()),
        error => DbError::Unavailable(error.to_string()),
    }
}

/// A lent connection, in no transaction. Goes back to its pool when dropped.
pub struct PooledConnection(Option<managed::Object<Connector>>);

impl PooledConnection {
    /// Runs one statement; gives its rows.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.connection().query(sql, params).await
    }

    /// Runs one statement; gives the number of rows that it touched.
    pub async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        Ok(self.connection().run("", sql, params).await?.touched)
    }

    /// Runs statements that have neither parameters nor rows worth reading.
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

/// The connection is closed afterwards: a cancellation may arrive late, and would then hit the
/// statement of whoever got the connection next.
async fn cancel(connection: managed::Object<Connector>) {
    _ = tokio::time::timeout(RECLAIM_TIMEOUT, connection.cancel()).await;
    discard(connection);
}

/// Out of the pool for good, which closes it.
fn discard(connection: managed::Object<Connector>) {
    drop(managed::Object::take(connection));
}

/// Opens and checks the pool's connections.
struct Connector {
    target: Target,
    max_lifetime: Duration,
}

impl managed::Manager for Connector {
    // Lending moves it several times.
    type Type = Box<Connection>;
    type Error = DbError;

    async fn create(&self) -> Result<Box<Connection>, DbError> {
        // Everybody who asks for a connection would carry the room that opening one takes.
        Box::pin(self.target.open()).await.map(Box::new)
    }

    async fn recycle(
        &self,
        connection: &mut Box<Connection>,
        metrics: &Metrics,
    ) -> RecycleResult<DbError> {
        if !connection.is_sound() {
            return Err(RecycleError::message("closed by the server"));
        }
        if metrics.created.elapsed() > self.max_lifetime {
            return Err(RecycleError::message("older than its lifetime"));
        }
        Ok(())
    }
}
