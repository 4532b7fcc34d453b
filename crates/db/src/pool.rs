//! Pooled connections, each with its own bounded cache of prepared statements.
//!
//! `deadpool` lends the connections; the cache is ours because statement texts follow request
//! shapes, whose number clients decide: an unbounded one would grow without end.

use std::{
    hash::{BuildHasher, Hasher},
    num::NonZeroUsize,
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use deadpool::{
    Runtime,
    managed::{self, Metrics, PoolError, RecycleError, RecycleResult},
};
use lru::LruCache;
use tokio_postgres::{Client, Statement};

use crate::{DbError, Target};

/// Prepared statements kept per connection; the least recently used one goes first.
const STATEMENTS_PER_CONNECTION: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

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
        match self.inner.get().await {
            Ok(connection) => {
                connection.enter_epoch(self.epoch.load(Ordering::Relaxed));
                Ok(PooledConnection(connection))
            }
            Err(PoolError::Timeout(_)) => Err(DbError::PoolTimeout),
            Err(PoolError::Backend(error)) => Err(error),
            Err(PoolError::Closed) => Err(DbError::Unavailable("the project is closed".to_owned())),
            Err(error) => Err(DbError::Unavailable(error.to_string())),
        }
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

    pub(crate) fn target(&self) -> &Target {
        &self.inner.manager().target
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

/// A lent connection. Goes back to its pool when dropped; derefs to [`Client`].
pub struct PooledConnection(managed::Object<Connector>);

impl PooledConnection {
    /// Takes the connection out of the pool for good; dropping the result closes it.
    pub(crate) fn discard(self) {
        drop(managed::Object::take(self.0));
    }
}

impl Deref for PooledConnection {
    type Target = PreparingClient;

    fn deref(&self) -> &PreparingClient {
        &self.0
    }
}

/// A client that remembers what it prepared.
pub struct PreparingClient {
    client: Client,
    statements: Mutex<LruCache<u64, CachedStatement>>,
    hasher: std::hash::RandomState,
    epoch: AtomicU64,
}

struct CachedStatement {
    role: Box<str>,
    sql: Box<str>,
    /// `None` while the statement has only been seen.
    statement: Option<Statement>,
}

/// What a connection knows of a statement.
pub(crate) enum Familiarity {
    New,
    /// It ran once, unprepared.
    SeenOnce,
    Prepared(Statement),
}

impl PreparingClient {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            statements: Mutex::new(LruCache::new(STATEMENTS_PER_CONNECTION)),
            hasher: std::hash::RandomState::new(),
            epoch: AtomicU64::new(0),
        }
    }

    /// The prepared form of `sql`, from the cache or made now (which costs a round trip).
    pub async fn prepare_cached(&self, sql: &str) -> Result<Statement, DbError> {
        self.prepare_for_role("", sql).await
    }

    /// As [`Self::prepare_cached`], for the role that the session has assumed.
    pub(crate) async fn prepare_for_role(
        &self,
        role: &str,
        sql: &str,
    ) -> Result<Statement, DbError> {
        if let Familiarity::Prepared(statement) = self.recall(role, sql) {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.put(role, sql, Some(statement.clone()));
        Ok(statement)
    }

    /// What this connection knows of the statement, as this role.
    pub(crate) fn recall(&self, role: &str, sql: &str) -> Familiarity {
        let mut cache = self.cache();
        // Two texts may share a hash; the second then simply takes the first one's place.
        match cache.get(&self.key(role, sql)) {
            Some(entry) if *entry.sql == *sql && *entry.role == *role => match &entry.statement {
                Some(statement) => Familiarity::Prepared(statement.clone()),
                None => Familiarity::SeenOnce,
            },
            _ => Familiarity::New,
        }
    }

    /// Notes that the statement ran, so that it is worth preparing next time.
    pub(crate) fn remember(&self, role: &str, sql: &str) {
        self.put(role, sql, None);
    }

    fn put(&self, role: &str, sql: &str, statement: Option<Statement>) {
        let entry = CachedStatement {
            role: role.into(),
            sql: sql.into(),
            statement,
        };
        self.cache().put(self.key(role, sql), entry);
    }

    /// Forgets all prepared statements, as after a schema change.
    pub fn forget_statements(&self) {
        self.cache().clear();
    }

    fn enter_epoch(&self, epoch: u64) {
        if self.epoch.swap(epoch, Ordering::Relaxed) != epoch {
            self.forget_statements();
        }
    }

    fn key(&self, role: &str, sql: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(role.as_bytes());
        hasher.write_u8(0);
        hasher.write(sql.as_bytes());
        hasher.finish()
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, LruCache<u64, CachedStatement>> {
        self.statements
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Deref for PreparingClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Opens and checks the pool's connections.
struct Connector {
    target: Target,
    max_lifetime: Duration,
}

impl managed::Manager for Connector {
    type Type = PreparingClient;
    type Error = DbError;

    async fn create(&self) -> Result<PreparingClient, DbError> {
        self.target.connect().await.map(PreparingClient::new)
    }

    async fn recycle(
        &self,
        client: &mut PreparingClient,
        metrics: &Metrics,
    ) -> RecycleResult<DbError> {
        if client.is_closed() {
            return Err(RecycleError::message("closed by the server"));
        }
        if metrics.created.elapsed() > self.max_lifetime {
            return Err(RecycleError::message("older than its lifetime"));
        }
        Ok(())
    }
}
