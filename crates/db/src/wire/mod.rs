//! Our own driver for what requests do: a connection belongs to whoever uses it.
//!
//! A request writes all of its messages at once and reads the answers itself. There is no task
//! per connection, nothing is passed through channels, and one `Sync` ends what one request has
//! to say, so that PostgreSQL answers once. Rows stay the bytes that arrived.
//!
//! `tokio-postgres` still opens connections (`handshake`), and serves whoever needs more than
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
mod socket;
mod startup;
mod statements;

pub(crate) use common::Common;
pub(crate) use connection::{Connection, Status};
pub(crate) use copy_both::{CopyBoth, Part, lost};
pub(crate) use handshake::{Purpose, shake_hands};
pub(crate) use pipeline::{Pipeline, Reply};
pub(crate) use statements::Familiarity;
