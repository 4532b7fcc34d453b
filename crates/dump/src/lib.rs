//! A database written down and made anew (console contract F71, and the `database/` part of F80).
//!
//! [`Snapshot`] reads one database at one moment while others go on working in it. What it reads
//! is a [`Dump`]: plain data, an ordered list of statements and the tables whose rows belong
//! between them. [`restore`] runs a dump on a database that was just made; another writer may put
//! the same statements and streams into files.
//!
//! No `pg_dump` is used: the packages of the managed server carry none. What cannot be written
//! down is refused by name ([`DumpError::Refused`]) before anything is made.

mod catalog;
mod data;
mod database;
mod error;
mod order;
mod restore;
mod session;
mod settings;
mod snapshot;
mod statement;

pub use data::{LargeObject, SequenceValue, TableData};
pub use database::DatabaseProperties;
pub use error::DumpError;
pub use restore::{Progress, Restoration, restore};
pub use settings::{Setting, read_settings, settings_sql};
pub use snapshot::{Dump, Snapshot};
pub use statement::{Section, Statement};
