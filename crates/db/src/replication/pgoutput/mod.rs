//! What `pgoutput` writes in version 1 of its protocol: whole transactions, in commit order.
//!
//! Values stay where they arrived; names are copied, for a relation is described once and used
//! often.

mod decode;
mod tuple;

use time::OffsetDateTime;

use crate::replication::Lsn;

pub use decode::Malformed;
pub use tuple::{Tuple, Value};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A transaction begins; all of it has been committed.
    Begin(Begin),
    /// It is complete.
    Commit(Commit),
    /// What a table looks like, before its first change and whenever it looks different.
    Relation(Relation),
    /// A new row.
    Insert(Insert),
    /// A row has changed.
    Update(Update),
    /// A row is gone.
    Delete(Delete),
    /// Something else, by its letter: a truncation, a type, an origin, a message of somebody's.
    Other(u8),
}

/// The beginning of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Where its commit stands.
    pub commit_position: Lsn,
    /// When it was committed.
    pub committed_at: OffsetDateTime,
    /// Its number.
    pub xid: u32,
}

/// The end of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Where its commit stands.
    pub commit_position: Lsn,
    /// Where the next one may begin: what to confirm.
    pub end: Lsn,
    /// When it was committed.
    pub committed_at: OffsetDateTime,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its number, which changes of it carry.
    pub oid: u32,
    /// Where it is.
    pub schema: String,
    /// What it is called.
    pub name: String,
    /// What old rows have.
    pub identity: ReplicaIdentity,
    /// Those that the publication has, in the table's order.
    pub columns: Vec<RelationColumn>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// What it is called.
    pub name: String,
    /// Whether it is part of the replica identity, which is not always the primary key.
    pub is_key: bool,
    /// The number of its type.
    pub type_oid: u32,
    /// What the type was declared with, or -1.
    pub type_modifier: i32,
}

/// What tells about a row that is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaIdentity {
    /// The primary key.
    Default,
    /// Nothing.
    Nothing,
    /// The whole row.
    Full,
    /// The columns of an index.
    Index,
}

/// A new row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insert {
    /// The table's number.
    pub relation: u32,
    /// What the row is.
    pub new: Tuple,
}

/// A changed row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The table's number.
    pub relation: u32,
    /// What the row was. Without a full identity there is something only if the key has changed.
    pub old: Option<OldRow>,
    /// What the row is.
    pub new: Tuple,
}

/// A row that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// The table's number.
    pub relation: u32,
    /// What the row was.
    pub old: OldRow,
}

/// What is told about a row that is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldRow {
    /// Its identity. Columns that are not part of it are null, and that says nothing about them.
    Key(Tuple),
    /// All of it.
    Full(Tuple),
}
