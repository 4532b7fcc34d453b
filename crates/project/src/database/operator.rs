//! What operators do in a project's database: rows through a pool, SQL of their own in sessions of its
//! own.

use std::{
    borrow::Cow,
    ops::{Deref, DerefMut},
};

use plinth_db::{Access, Begin, DbError, LocalSettings, OpenTransaction, ScriptSession};
use tokio::sync::OwnedRwLockReadGuard;

use super::{CallerTransaction, PoolKind, ProjectDb};
use crate::DatabaseAccess;

impl ProjectDb {
    /// A session for SQL that an operator wrote.
    pub async fn script_session(
        &self,
        access: DatabaseAccess,
        application_name: &str,
    ) -> Result<OperatorScript, DbError> {
        let guard = self.0.lock.clone().read_owned().await;
        let target = self
            .operator_target(access)
            .application_name(application_name);
        let session = match ScriptSession::open(&target).await {
            Err(DbError::LoginRejected(reason)) => {
                self.repair_logins(reason).await?;
                ScriptSession::open(&target).await?
            }
            session => session?,
        };
        Ok(OperatorScript {
            session,
            _guard: guard,
        })
    }

    /// A transaction on rows, with the rights that an operator's role has.
    pub fn as_operator(&self, access: DatabaseAccess) -> AsOperator<'_> {
        let mut settings = LocalSettings::default();
        // Whatever a trigger of an earlier request has left in the session.
        settings.set("role", access.role());
        AsOperator {
            db: self,
            access,
            begin: Begin::default(),
            settings,
        }
    }
}

/// A session for SQL that an operator wrote; derefs to [`ScriptSession`]. The database cannot be locked
/// while it is open.
pub struct OperatorScript {
    session: ScriptSession,
    _guard: OwnedRwLockReadGuard<()>,
}

impl Deref for OperatorScript {
    type Target = ScriptSession;

    fn deref(&self) -> &ScriptSession {
        &self.session
    }
}

impl DerefMut for OperatorScript {
    fn deref_mut(&mut self) -> &mut ScriptSession {
        &mut self.session
    }
}

/// Builder of a transaction on rows, with the rights of an operator.
pub struct AsOperator<'a> {
    db: &'a ProjectDb,
    access: DatabaseAccess,
    begin: Begin,
    settings: LocalSettings<'a>,
}

impl<'a> AsOperator<'a> {
    /// Makes the transaction read-only.
    pub fn read_only(mut self) -> Self {
        self.begin.access = Access::ReadOnly;
        self
    }

    /// Adds a setting of the transaction.
    pub fn setting(
        mut self,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Cow<'a, str>>,
    ) -> Self {
        self.settings.set(name, value);
        self
    }

    /// Begins it.
    pub async fn begin(self) -> Result<RowTransaction, DbError> {
        let guard = self.db.0.lock.clone().read_owned().await;
        let pool = self.db.pool(PoolKind::Operator(self.access));
        let (transaction, _) = match pool.begin(self.begin, &self.settings, &[]).await {
            Err(DbError::LoginRejected(reason)) => {
                self.db.repair_logins(reason).await?;
                pool.begin(self.begin, &self.settings, &[]).await?
            }
            begun => begun?,
        };
        Ok(RowTransaction {
            transaction,
            _guard: guard,
        })
    }
}

/// An open transaction on rows, of an operator or of a caller; derefs to [`OpenTransaction`]. It is
/// rolled back on drop.
pub struct RowTransaction {
    transaction: OpenTransaction,
    _guard: OwnedRwLockReadGuard<()>,
}

impl RowTransaction {
    /// Commits.
    pub async fn commit(self) -> Result<(), DbError> {
        self.transaction.commit().await
    }

    /// Rolls back.
    pub async fn rollback(self) -> Result<(), DbError> {
        self.transaction.rollback().await
    }
}

impl From<CallerTransaction> for RowTransaction {
    fn from(caller: CallerTransaction) -> Self {
        Self {
            transaction: caller.transaction,
            _guard: caller._guard,
        }
    }
}

impl Deref for RowTransaction {
    type Target = OpenTransaction;

    fn deref(&self) -> &OpenTransaction {
        &self.transaction
    }
}

impl DerefMut for RowTransaction {
    fn deref_mut(&mut self) -> &mut OpenTransaction {
        &mut self.transaction
    }
}
