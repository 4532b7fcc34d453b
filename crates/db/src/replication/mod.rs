//! Logical replication: row changes of a database, in commit order.
//!
//! A [`Replication`] is a session that knows the commands for replication slots. Once started, it
//! becomes a [`ReplicationStream`], which reads only when polled and confirms the reader's position.
//! [`pgoutput`] decodes the messages without copying values.
//!
//! Nothing here reconnects: the reader of a slot decides when to, and receives everything unconfirmed
//! again.

mod lsn;
pub mod pgoutput;
mod session;
mod status;
mod stream;
mod wal_message;

pub use lsn::{BadLsn, Lsn};
pub use session::{Replication, SlotLifetime, System};
pub use stream::ReplicationStream;
pub use wal_message::WalData;
