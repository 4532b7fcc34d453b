//! Every error of the storage service (storage contract §11).
//!
//! [`StorageError`] carries what happened and renders itself for REST; `s3::error` renders it as
//! XML and `tus` as plain text. `database` says what PostgreSQL's errors mean to a client,
//! `reference` documents every code.

mod code;
mod database;
mod reference;
mod storage_error;

pub(crate) use code::Code;
pub(crate) use database::unique_violation_as;
pub use reference::{error_reference, s3_error_reference};
pub(crate) use storage_error::StorageError;
