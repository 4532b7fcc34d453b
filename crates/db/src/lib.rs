//! Everything between Plinth and PostgreSQL: where to connect, pools with bounded statement
//! caches, transactions with local settings in one flush, migrations of the system schemas,
//! LISTEN/NOTIFY.
//!
//! It knows no project, no caller and no service: those are passed in from above
//! (`plinth-project`). Every service reaches Postgres through this crate and nothing else.

mod client_pool;
mod error;
mod listen;
mod literal;
mod local_settings;
pub mod migrate;
mod pg_error;
mod pool;
mod queries;
mod quote;
pub mod replication;
mod row;
mod target;
mod time_text;
mod tls;
mod transaction;
mod wire;

pub use client_pool::{ClientPool, PooledClient};
pub use error::{DbError, describe};
pub use listen::{ListenEvent, listen};
pub use literal::Literal;
pub use local_settings::LocalSettings;
pub use pg_error::PgError;
pub use pool::{Pool, PoolConfig, PooledConnection, Usage};
pub use queries::Queries;
pub use quote::{QuotedIdent, QuotedLiteral};
pub use row::{Column, ColumnIndex, Row};
pub use target::{BadDatabaseUrl, Target};
pub use time_text::parse_time;
pub use transaction::{Access, Begin, End, Isolation, OpenTransaction, Params, Step, TextReply};
pub use wire::{
    CellLimits, Notice, ScriptCanceller, ScriptColumn, ScriptEvent, ScriptRow, ScriptSession,
    SessionState,
};
