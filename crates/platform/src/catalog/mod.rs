//! What is in projects' databases, kept in memory, and its changes.
//!
//! Lists are kept for as long as nothing in the database changes: event triggers announce that
//! (`plinth_catalog::schema`). Each request asks the server first, on the session that listens, so that
//! a list is never older than the last change that was committed before the request.

mod cache;
mod change;
mod failure;
mod index_job;
mod names;

pub(crate) use cache::Catalogs;
pub(crate) use change::{ChangeOptions, Outcome, SchemaChange, no_object};
pub(crate) use failure::{CatalogError, DatabaseFailure};
pub(crate) use names::Created;
