//! Pooled `tokio-postgres` connections for the platform's own tables, whose code uses that driver's
//! transactions.

use std::ops::Deref;

use deadpool::{
    Runtime,
    managed::{self, Metrics, RecycleError, RecycleResult},
};
use tokio_postgres::Client;

use crate::{DbError, PoolConfig, Target, pool::failed};

/// Connections to one [`Target`]. Cheap to clone; opens nothing until a connection is needed.
#[derive(Clone)]
pub struct ClientPool {
    inner: managed::Pool<Connector>,
    config: PoolConfig,
}

impl ClientPool {
    /// A pool that connects on demand.
    pub fn new(target: Target, config: PoolConfig) -> Self {
        let inner = managed::Pool::builder(Connector { target, config })
            .max_size(config.size)
            .wait_timeout(Some(config.acquire_timeout))
            .queue_mode(managed::QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .expect("a runtime is configured, the only requirement of the builder");
        Self { inner, config }
    }

    /// Checks out a connection.
    pub async fn get(&self) -> Result<PooledClient, DbError> {
        self.inner.get().await.map(PooledClient).map_err(failed)
    }

    /// Closes connections that exceeded the idle timeout. Called periodically.
    pub fn close_idle(&self) {
        let idle_timeout = self.config.idle_timeout;
        self.inner
            .retain(|_, metrics| metrics.last_used() < idle_timeout);
    }
}

/// A checked-out connection. Returns to its pool when dropped; derefs to [`Client`].
pub struct PooledClient(managed::Object<Connector>);

impl Deref for PooledClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.0
    }
}

/// Opens and checks the pool's connections.
struct Connector {
    target: Target,
    config: PoolConfig,
}

impl managed::Manager for Connector {
    type Type = Client;
    type Error = DbError;

    async fn create(&self) -> Result<Client, DbError> {
        self.target.connect().await
    }

    async fn recycle(&self, client: &mut Client, metrics: &Metrics) -> RecycleResult<DbError> {
        if client.is_closed() {
            return Err(RecycleError::message("closed by the server"));
        }
        if metrics.created.elapsed() > self.config.max_lifetime {
            return Err(RecycleError::message("older than its lifetime"));
        }
        Ok(())
    }
}
