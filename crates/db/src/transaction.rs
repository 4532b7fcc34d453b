//! Transactions with local settings: the one way in which services work as a caller.
//!
//! BEGIN, the settings, the statement and COMMIT leave in one network flush, so that a request
//! costs one round trip. If any of them fails, those after it fail with 25P02 and the COMMIT acts
//! as a ROLLBACK; only the first error is reported.
//!
//! A statement that the connection has not prepared yet costs one round trip more: it is prepared
//! inside the transaction, as the role that will run it, because Postgres checks some rights (on
//! schemas) only then. For the same reason a prepared statement serves one role.
//!
//! Whoever drops one of these futures half-way (a client that disconnects) leaves a connection
//! behind that still works. [`Lease`] keeps it out of the pool: a transaction that only waits is
//! rolled back, a running statement is cancelled and its connection closed.

use std::{sync::LazyLock, time::Duration};

use futures_util::{TryStreamExt, pin_mut};
use postgres_types::ToSql;
use tokio_postgres::{Row, Statement, error::SqlState};

use crate::{
    DbError, Pool,
    pool::{PooledConnection, PreparingClient},
};

use State::{Free, InTransaction, Working};

/// Parameters of a statement.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// How long ending an abandoned transaction may take.
const RECLAIM_TIMEOUT: Duration = Duration::from_secs(5);

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Postgres refuses every write.
    ReadOnly,
    /// The everyday kind.
    #[default]
    ReadWrite,
}

impl Access {
    fn begin(self) -> &'static str {
        match self {
            Access::ReadOnly => "begin isolation level read committed read only",
            Access::ReadWrite => "begin isolation level read committed read write",
        }
    }
}

/// Settings that hold until the transaction ends, applied in the order given.
#[derive(Debug, Clone, Default)]
pub struct LocalSettings {
    /// Name and value by turns: exactly the parameters of the settings statement.
    flat: Vec<String>,
}

impl LocalSettings {
    /// Adds one setting. Order matters: what needs the login role's rights stands before `role`.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.flat.push(name.into());
        self.flat.push(value.into());
        self
    }

    /// These settings, then those.
    pub fn followed_by(mut self, later: LocalSettings) -> Self {
        self.flat.extend(later.flat);
        self
    }

    fn role(&self) -> &str {
        let mut pairs = self.flat.chunks_exact(2);
        pairs
            .find(|pair| pair[0] == "role")
            .map_or("", |pair| pair[1].as_str())
    }

    fn len(&self) -> usize {
        self.flat.len() / 2
    }

    fn params(&self) -> impl ExactSizeIterator<Item = &(dyn ToSql + Sync)> {
        self.flat.iter().map(|text| text as &(dyn ToSql + Sync))
    }
}

/// The settings statements that requests use all the time, by their number of settings.
static SETTINGS_SQL: LazyLock<[String; 17]> = LazyLock::new(|| std::array::from_fn(settings_sql));

/// `select set_config($1,$2,true), …`: the target list is evaluated from left to right, without
/// the set-returning function and the sort that a list of any length would need.
fn settings_sql(count: usize) -> String {
    let calls: Vec<String> = (0..count)
        .map(|i| format!("pg_catalog.set_config(${},${},true)", 2 * i + 1, 2 * i + 2))
        .collect();
    format!("select {}", calls.join(","))
}

impl Pool {
    /// Runs one statement in its own transaction with `settings`, all in one flush.
    pub async fn run(
        &self,
        access: Access,
        settings: &LocalSettings,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, DbError> {
        let mut lease = Lease::take(self).await?;
        lease
            .transact(access, settings, sql, params, End::Commit)
            .await
    }

    /// Opens a transaction with `settings` whose first statement leaves in the same flush.
    pub async fn begin(
        &self,
        access: Access,
        settings: &LocalSettings,
        sql: &str,
        params: Params<'_>,
    ) -> Result<(OpenTransaction, Vec<Row>), DbError> {
        let mut lease = Lease::take(self).await?;
        let rows = lease
            .transact(access, settings, sql, params, End::Open)
            .await?;
        Ok((OpenTransaction { lease }, rows))
    }
}

/// A transaction that goes on after its first statement. Dropped, it is rolled back.
pub struct OpenTransaction {
    lease: Lease,
}

impl OpenTransaction {
    /// Runs one more statement.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.lease.state = Working;
        let rows = async {
            let client = self.lease.client();
            let statement = client.prepare_for_role(&self.lease.role, sql).await?;
            Ok(client.query(&statement, params).await?)
        };
        let rows = rows.await;
        self.lease.state = InTransaction;
        rows
    }

    /// Makes the changes last; deferred constraints may still refuse here.
    pub async fn commit(self) -> Result<(), DbError> {
        self.end("commit").await
    }

    /// Undoes the changes.
    pub async fn rollback(self) -> Result<(), DbError> {
        self.end("rollback").await
    }

    async fn end(mut self, statement: &str) -> Result<(), DbError> {
        self.lease.state = Working;
        let ended = self.lease.client().batch_execute(statement).await;
        // After an answer, good or bad, Postgres has left the transaction.
        self.lease.state = Free;
        Ok(ended?)
    }
}

/// Whether the first statement is also the last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Open,
}

impl Lease {
    /// BEGIN, settings, statement and, if so wished, COMMIT.
    async fn transact(
        &mut self,
        access: Access,
        settings: &LocalSettings,
        sql: &str,
        params: Params<'_>,
        end: End,
    ) -> Result<Vec<Row>, DbError> {
        let client = self.connection.as_ref().expect("present until dropped");
        settings.role().clone_into(&mut self.role);
        let apply = match settings.len() {
            0 => None,
            count => match SETTINGS_SQL.get(count) {
                Some(sql) => Some(client.prepare_cached(sql).await?),
                None => Some(client.prepare_cached(&settings_sql(count)).await?),
            },
        };
        let open = Opening {
            client,
            access,
            settings,
            apply,
        };
        self.state = Working;
        // The driver sends a request when its future is first polled, and `join!` polls in order;
        // all of them are then waited for, whatever the first ones answer.
        let (opened, rows) = match client.find_prepared(&self.role, sql) {
            Some(statement) => {
                futures_util::join!(open.run(), run_to_end(client, &statement, params, end))
            }
            None => {
                let (opened, statement) =
                    futures_util::join!(open.run(), client.prepare_for_role(&self.role, sql));
                let statement = match opened.and(statement) {
                    Ok(statement) => statement,
                    Err(error) => {
                        self.state = InTransaction;
                        return Err(error);
                    }
                };
                (Ok(()), run_to_end(client, &statement, params, end).await)
            }
        };
        self.state = match end {
            End::Commit => Free,
            End::Open => InTransaction,
        };
        if let Err(DbError::Postgres(error)) = &rows
            && is_stale(error)
        {
            client.forget_statements();
        }
        opened?;
        rows
    }
}

/// A prepared statement whose result would change its type, or that the session has discarded.
fn is_stale(error: &tokio_postgres::Error) -> bool {
    let is_changed = error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)
        && error.as_db_error().and_then(|db| db.routine()) == Some("RevalidateCachedQuery");
    is_changed || error.code() == Some(&SqlState::INVALID_SQL_STATEMENT_NAME)
}

/// What every transaction starts with.
struct Opening<'a> {
    client: &'a PreparingClient,
    access: Access,
    settings: &'a LocalSettings,
    apply: Option<Statement>,
}

impl Opening<'_> {
    async fn run(&self) -> Result<(), DbError> {
        let begin = self.client.batch_execute(self.access.begin());
        let apply = async {
            let Some(statement) = &self.apply else {
                return Ok(());
            };
            drain(
                self.client
                    .query_raw(statement, self.settings.params())
                    .await?,
            )
            .await
        };
        let (begun, applied) = futures_util::join!(begin, apply);
        begun?;
        Ok(applied?)
    }
}

async fn run_to_end(
    client: &PreparingClient,
    statement: &Statement,
    params: Params<'_>,
    end: End,
) -> Result<Vec<Row>, DbError> {
    let main = client.query(statement, params);
    let end = async {
        match end {
            End::Commit => client.batch_execute("commit").await,
            End::Open => Ok(()),
        }
    };
    let (rows, ended) = futures_util::join!(main, end);
    let rows = rows?;
    ended?;
    Ok(rows)
}

async fn drain(rows: tokio_postgres::RowStream) -> Result<(), tokio_postgres::Error> {
    pin_mut!(rows);
    while rows.try_next().await?.is_some() {}
    Ok(())
}

/// A connection on loan that is never handed back inside a transaction.
struct Lease {
    connection: Option<PooledConnection>,
    pool: Pool,
    state: State,
    /// As whom the transaction runs; empty for the login role itself.
    role: String,
}

/// What the connection is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing: it may go back as it is.
    Free,
    /// Waiting for the next statement of its transaction.
    InTransaction,
    /// A statement is under way.
    Working,
}

impl Lease {
    async fn take(pool: &Pool) -> Result<Self, DbError> {
        let connection = Some(pool.get().await?);
        Ok(Self {
            connection,
            pool: pool.clone(),
            state: Free,
            role: String::new(),
        })
    }

    fn client(&self) -> &PreparingClient {
        self.connection.as_ref().expect("present until dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        if self.state == Free || connection.is_closed() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return connection.discard();
        };
        let pool = self.pool.clone();
        match self.state {
            Free => {}
            InTransaction => drop(runtime.spawn(roll_back(connection))),
            Working => drop(runtime.spawn(cancel(pool, connection))),
        }
    }
}

async fn roll_back(connection: PooledConnection) {
    let rolled_back =
        tokio::time::timeout(RECLAIM_TIMEOUT, connection.batch_execute("rollback")).await;
    if !matches!(rolled_back, Ok(Ok(()))) {
        connection.discard();
    }
}

/// The connection is closed afterwards: a cancellation may arrive late, and would then hit the
/// statement of whoever got the connection next.
async fn cancel(pool: Pool, connection: PooledConnection) {
    _ = tokio::time::timeout(RECLAIM_TIMEOUT, pool.target().cancel(&connection)).await;
    connection.discard();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_statement_numbers_its_parameters() {
        assert_eq!(
            settings_sql(2),
            "select pg_catalog.set_config($1,$2,true),pg_catalog.set_config($3,$4,true)"
        );
    }
}
