//! Dump and restore of a database (console contract F71, and the `database/` part of F80).
//!
//! [`Snapshot`] reads one database in one transaction while others go on writing. The result is a
//! [`Dump`]: plain data, an ordered list of statements and the tables whose rows go between them.
//! [`restore`] runs a dump on a newly created database; another writer may put the same statements and
//! streams into files.
//!
//! [`Catalog`] is the list of objects with their statements that a dump is made of, for comparisons of two
//! databases.
//!
//! No `pg_dump` is used: the packages of the managed server have none. Objects that cannot be
//! represented are reported by name ([`DumpError::Unsupported`]) before anything is created.

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

pub use catalog::{Catalog, CatalogObject};
pub use data::{LargeObject, SequenceValue, TableData};
pub use database::DatabaseProperties;
pub use error::DumpError;
pub use restore::{Progress, Restoration, restore};
pub use session::COMMON as SESSION_SETTINGS;
pub use settings::{Setting, read_settings, settings_sql};
pub use snapshot::{Dump, Snapshot};
pub use statement::{Section, Statement};
