//! Logical replication: what happens to a database's rows, in the order of the commits.
//!
//! A [`Replication`] is a session that knows the few commands about slots. Started, it becomes a
//! [`ReplicationStream`], which reads only when asked and tells the server how far its reader has
//! come. What `pgoutput` writes is decoded by [`pgoutput`], without a copy.
//!
//! Nothing here reconnects: whoever follows a slot decides when to come back, and finds there
//! everything that was not confirmed.

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
