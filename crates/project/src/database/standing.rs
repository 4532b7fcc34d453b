//! A session of an operator's role that lasts while it is of use, and is told of changes.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use plinth_db::{DbError, QuotedIdent};
use tokio_postgres::Client;

use super::ProjectDb;
use crate::DatabaseAccess;

impl ProjectDb {
    /// Opens a session that listens on `channel`. Unlike the others, it does not keep the database
    /// from being locked: it is closed then.
    pub async fn standing_session(
        &self,
        access: DatabaseAccess,
        channel: &str,
    ) -> Result<StandingSession, DbError> {
        let standing = match self.open_standing(access).await {
            Err(DbError::LoginRejected(reason)) => {
                self.repair_logins(reason).await?;
                self.open_standing(access).await?
            }
            standing => standing?,
        };
        let channel = QuotedIdent::new(channel);
        standing.batch_execute(&format!("listen {channel}")).await?;
        Ok(standing)
    }

    async fn open_standing(&self, access: DatabaseAccess) -> Result<StandingSession, DbError> {
        let guard = self.0.lock.clone().read_owned().await;
        let mut locked = self.0.is_locked.subscribe();
        // The guard goes after the connection.
        let stop = async move {
            _ = locked.wait_for(|is_locked| *is_locked).await;
            guard
        };
        let changes = Arc::new(AtomicU64::new(0));
        let counter = changes.clone();
        let count = move || _ = counter.fetch_add(1, Ordering::Release);
        let target = self.operator_target(access);
        let client = target.connect_listening(stop, count).await?;
        Ok(StandingSession { client, changes })
    }
}

/// A session that is told of changes; derefs to [`Client`]. It ends when the database is locked.
pub struct StandingSession {
    client: Client,
    changes: Arc<AtomicU64>,
}

impl StandingSession {
    /// How often it was notified. A change whose transaction has ended counts as soon as a statement
    /// that was sent afterwards has its response.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl Deref for StandingSession {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for StandingSession {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}
