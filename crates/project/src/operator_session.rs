//! Sessions in which operators work on a project's database.
//!
//! What an editor or a reader may do is held by PostgreSQL: each has a login of its own
//! ([`crate::LoginKind::Editor`], [`crate::LoginKind::Reader`]) that may assume one role and no other. `reset
//! role` and `set_config('role', …)` inside of any statement lead to that role or to a login without rights.

use std::ops::{Deref, DerefMut};

use tokio::sync::OwnedRwLockReadGuard;
use tokio_postgres::Client;

/// What an operator may do in a project's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatabaseAccess {
    /// Everything that `postgres` may.
    Owner,
    /// Rows of users' tables, as `plinth_editor`.
    Editor,
    /// The same tables, read only, as `plinth_reader`.
    Reader,
}

impl DatabaseAccess {
    /// The role of its sessions.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Self::Owner => "postgres",
            Self::Editor => "plinth_editor",
            Self::Reader => "plinth_reader",
        }
    }
}

/// The session of an operator. The database cannot be locked while it is open.
pub struct OperatorSession {
    client: Client,
    _guard: OwnedRwLockReadGuard<()>,
}

impl OperatorSession {
    pub(crate) fn new(client: Client, guard: OwnedRwLockReadGuard<()>) -> Self {
        Self {
            client,
            _guard: guard,
        }
    }
}

impl Deref for OperatorSession {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for OperatorSession {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}
