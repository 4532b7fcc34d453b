//! Transactions with local settings: the one way in which services work as a caller.
//!
//! BEGIN, the settings, the statement and COMMIT leave in one network flush, so that a request
//! costs one round trip. If any of them fails, those after it fail with 25P02 and the COMMIT acts
//! as a ROLLBACK; only the first error is reported.
//!
//! Whoever drops one of these futures half-way (a client that disconnects) leaves a connection
//! with an unfinished transaction behind. [`Lease`] keeps such a connection out of the pool until
//! its statement is cancelled and its transaction rolled back.

use std::time::Duration;

use futures_util::{TryStreamExt, future::BoxFuture, pin_mut};
use postgres_types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::{
    DbError, Pool,
    pool::{PooledConnection, PreparingClient},
};

/// Parameters of a statement.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// How long cancelling and rolling back an abandoned transaction may take.
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

    fn len(&self) -> usize {
        self.flat.len() / 2
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.flat
            .iter()
            .map(|text| text as &(dyn ToSql + Sync))
            .collect()
    }
}

/// `select set_config($1,$2,true), …`: the target list is evaluated from left to right, without
/// the set-returning function and the sort that a list of any length would need.
fn settings_sql(count: usize) -> String {
    let mut sql = String::from("select ");
    for i in 0..count {
        let comma = if i == 0 { "" } else { "," };
        let (name, value) = (2 * i + 1, 2 * i + 2);
        sql.push_str(&format!(
            "{comma}pg_catalog.set_config(${name},${value},true)"
        ));
    }
    sql
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
        let prepared = Prepared::for_transaction(lease.client(), settings.len(), sql).await?;
        lease.in_transaction = true;
        let rows = one_flush(lease.client(), access, settings, &prepared, params, true).await;
        lease.in_transaction = false;
        rows
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
        let prepared = Prepared::for_transaction(lease.client(), settings.len(), sql).await?;
        lease.in_transaction = true;
        // An error here leaves the transaction open; dropping the lease rolls it back.
        let rows = one_flush(lease.client(), access, settings, &prepared, params, false).await?;
        Ok((OpenTransaction { lease }, rows))
    }
}

/// A transaction that goes on after its first statement. Dropped, it is rolled back.
pub struct OpenTransaction {
    lease: Lease,
}

impl OpenTransaction {
    /// Runs one more statement.
    pub async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        let statement = self.lease.client().prepare_cached(sql).await?;
        Ok(self.lease.client().query(&statement, params).await?)
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
        let ended = self.lease.client().batch_execute(statement).await;
        // After an answer, good or bad, Postgres has left the transaction.
        self.lease.in_transaction = false;
        Ok(ended?)
    }
}

struct Prepared {
    settings: Option<Statement>,
    main: Statement,
}

impl Prepared {
    async fn for_transaction(
        client: &PreparingClient,
        settings: usize,
        sql: &str,
    ) -> Result<Self, DbError> {
        let settings = match settings {
            0 => None,
            count => Some(client.prepare_cached(&settings_sql(count)).await?),
        };
        Ok(Self {
            settings,
            main: client.prepare_cached(sql).await?,
        })
    }
}

async fn one_flush(
    client: &PreparingClient,
    access: Access,
    settings: &LocalSettings,
    prepared: &Prepared,
    params: Params<'_>,
    commit: bool,
) -> Result<Vec<Row>, DbError> {
    let begin = client.batch_execute(access.begin());
    let apply: BoxFuture<'_, Result<(), tokio_postgres::Error>> = match &prepared.settings {
        Some(statement) => Box::pin(async move {
            let values = settings.params();
            drain(client.query_raw(statement, values.iter().copied()).await?).await
        }),
        None => Box::pin(async { Ok(()) }),
    };
    let main = client.query(&prepared.main, params);
    let end = async {
        match commit {
            true => client.batch_execute("commit").await,
            false => Ok(()),
        }
    };
    // The driver sends a request when its future is first polled, and `join!` polls in this
    // order; all four are then waited for, whatever the first ones answer.
    let (begun, applied, rows, ended) = futures_util::join!(begin, apply, main, end);
    begun?;
    applied?;
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
    in_transaction: bool,
}

impl Lease {
    async fn take(pool: &Pool) -> Result<Self, DbError> {
        let connection = Some(pool.get().await?);
        Ok(Self {
            connection,
            pool: pool.clone(),
            in_transaction: false,
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
        if !self.in_transaction || connection.is_closed() {
            return;
        }
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(reclaim(self.pool.clone(), connection))),
            Err(_) => connection.discard(),
        }
    }
}

/// Ends what an abandoned connection was doing, then returns it to its pool.
async fn reclaim(pool: Pool, connection: PooledConnection) {
    let ended = tokio::time::timeout(RECLAIM_TIMEOUT, async {
        pool.target().cancel(&connection).await?;
        Ok::<_, DbError>(connection.batch_execute("rollback").await?)
    });
    match ended.await {
        Ok(Ok(())) => drop(connection),
        Ok(Err(_)) | Err(_) => connection.discard(),
    }
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
