//! Connections on loan to transactions.
//!
//! Whoever drops a transaction half-way (a client that disconnects) leaves a connection behind
//! that still works. [`Lease`] keeps it out of the pool: a transaction that only waits is rolled
//! back, a running statement is cancelled and its connection closed.

use std::time::Duration;

use State::{Free, InTransaction, Working};

use crate::{
    DbError, Pool,
    pool::{PooledConnection, PreparingClient},
};

/// How long ending an abandoned transaction may take.
const RECLAIM_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection on loan that is never handed back inside a transaction.
pub(crate) struct Lease {
    connection: Option<PooledConnection>,
    pool: Pool,
    pub(crate) state: State,
    /// As whom the transaction runs; empty for the login role itself.
    pub(crate) role: String,
}

/// What the connection is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing: it may go back as it is.
    Free,
    /// Waiting for the next statement of its transaction.
    InTransaction,
    /// A statement is under way.
    Working,
}

impl Lease {
    pub(crate) async fn take(pool: &Pool) -> Result<Self, DbError> {
        let connection = Some(pool.get().await?);
        Ok(Self {
            connection,
            pool: pool.clone(),
            state: Free,
            role: String::new(),
        })
    }

    pub(crate) fn client(&self) -> &PreparingClient {
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
