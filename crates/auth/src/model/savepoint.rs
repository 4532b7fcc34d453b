//! A savepoint around statements whose failure must not end the transaction.

use plinth_db::{DbError, Queries};

/// A savepoint; none where no transaction is open.
pub(crate) struct Savepoint {
    is_set: bool,
}

impl Savepoint {
    /// Sets it. Outside of a transaction there is nothing to guard.
    pub(crate) async fn set(db: &mut impl Queries) -> Self {
        let is_set = db.execute("savepoint auth_step", &[]).await.is_ok();
        Self { is_set }
    }

    /// Keeps what was done since.
    pub(crate) async fn release(self, db: &mut impl Queries) -> Result<(), DbError> {
        if self.is_set {
            db.execute("release savepoint auth_step", &[]).await?;
        }
        Ok(())
    }

    /// Undoes what was done since.
    pub(crate) async fn roll_back(self, db: &mut impl Queries) -> Result<(), DbError> {
        if self.is_set {
            db.execute("rollback to savepoint auth_step", &[]).await?;
            db.execute("release savepoint auth_step", &[]).await?;
        }
        Ok(())
    }
}
