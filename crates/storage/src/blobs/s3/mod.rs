//! Blobs as objects in a bucket of an S3 store.
//!
//! ```text
//! <prefix>/<project>/blobs/ab/cd/<version>                 complete, never changed again
//! <prefix>/<project>/unfinished/<version>/upload.<uuid>    id of a multipart upload into that blob
//! <prefix>/<project>/unfinished/<version>/at.<offset>      checkpoint of a growing blob (`append`)
//! ```
//!
//! Blobs longer than a part are written as multipart uploads. The parts of an upload are in no list
//! of objects, so its id is recorded beside the blobs before the first part is sent (`records.rs`),
//! and cleanup finds it there. That needs nothing that an S3 store might not support.

mod append;
mod blobs;
mod connect;
mod copy;
mod error;
mod inventory;
mod marker;
mod multipart;
mod records;
mod remove;
mod writer;

pub(crate) use append::S3Appender;
pub(crate) use blobs::S3Blobs;
pub use connect::{S3Store, S3StoreConfig, S3StoreError};
pub(crate) use writer::S3Writer;

#[cfg(test)]
pub(in crate::blobs) mod tests;
