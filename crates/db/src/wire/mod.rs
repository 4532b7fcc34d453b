//! Our own driver for requests: a connection is owned exclusively by its user.
//!
//! A request writes all of its messages at once and reads the responses itself. There is no task per
//! connection and no channel in between, and each request ends in one `Sync`, so that PostgreSQL
//! responds once. Rows stay the bytes that were received.
//!
//! `tokio-postgres` still performs the handshake (`handshake`), and is used for everything beyond
//! statements: COPY, LISTEN, the platform's own transactions.

mod channel;
mod common;
mod connection;
mod copy_both;
mod decode;
mod exchange;
mod handover;
mod handshake;
mod mapping;
mod pipeline;
mod script;
mod socket;
mod startup;
mod statements;

pub(crate) use common::Common;
pub(crate) use connection::{Connection, Status};
pub(crate) use copy_both::{CopyBoth, Part, lost_connection};
pub(crate) use handshake::{Purpose, open_session};
pub(crate) use pipeline::{Pipeline, Reply};
pub use script::{
    CellLimits, Notice, ScriptCanceller, ScriptColumn, ScriptEvent, ScriptRow, ScriptSession,
    SessionState,
};
pub(crate) use statements::CacheLookup;
