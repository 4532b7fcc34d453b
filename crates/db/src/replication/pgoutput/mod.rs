//! Messages of `pgoutput`, protocol version 1: whole transactions, in commit order.
//!
//! Values are slices of the received bytes; names are copied, since a relation is described once
//! and used often.

mod decode;
mod tuple;

use time::OffsetDateTime;

use crate::replication::Lsn;

pub use decode::Malformed;
pub use tuple::{Tuple, Value};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Begin of a committed transaction.
    Begin(Begin),
    /// End of it.
    Commit(Commit),
    /// Description of a table, before its first change and after each schema change.
    Relation(Relation),
    /// An inserted row.
    Insert(Insert),
    /// An updated row.
    Update(Update),
    /// A deleted row.
    Delete(Delete),
    /// Anything else, by its tag: truncate, type, origin, logical message.
    Other(u8),
}

/// The beginning of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// LSN of the commit.
    pub commit_position: Lsn,
    /// When it was committed.
    pub committed_at: OffsetDateTime,
    /// Transaction id.
    pub xid: u32,
}

/// The end of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// LSN of the commit.
    pub commit_position: Lsn,
    /// End LSN of the transaction: the position to confirm.
    pub end: Lsn,
    /// When it was committed.
    pub committed_at: OffsetDateTime,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its OID, which its changes carry.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Which old values are sent.
    pub identity: ReplicaIdentity,
    /// The published columns, in the table's order.
    pub columns: Vec<RelationColumn>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// Its name.
    pub name: String,
    /// Whether it is part of the replica identity, which is not always the primary key.
    pub is_key: bool,
    /// OID of its type.
    pub type_oid: u32,
    /// The type modifier, or -1.
    pub type_modifier: i32,
}

/// Which columns identify an old row (`REPLICA IDENTITY`).
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
    /// The table's OID.
    pub relation: u32,
    /// The row.
    pub new: Tuple,
}

/// A changed row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The table's OID.
    pub relation: u32,
    /// The old row. Without a full identity it is sent only if the key has changed.
    pub old: Option<OldRow>,
    /// The new row.
    pub new: Tuple,
}

/// A deleted row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// The table's OID.
    pub relation: u32,
    /// The old row.
    pub old: OldRow,
}

/// What is sent of an old row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldRow {
    /// Its identity columns; all others are null, whatever their value was.
    Key(Tuple),
    /// All columns.
    Full(Tuple),
}
