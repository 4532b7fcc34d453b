//! The bytes of objects. A blob is named by its version (a UUID) and nothing else: object names,
//! types and permissions are rows in PostgreSQL (storage contract §14.1).
//!
//! A blob belongs to one row and never changes. Before one is written, its version goes into the
//! ledger (`ledger.rs`), so that after a crash at any point each blob is referenced by a row, by
//! the list of pending blobs, or by the list of the garbage collection.

mod backend;
mod gc;
mod ledger;
mod local;
mod model;
mod receive;
mod s3;
mod store;
mod version;

pub(crate) use backend::Blobs;
pub(crate) use gc::{GcTiming, RELEASE_DELAY, collect_garbage};
pub(crate) use ledger::register_pending;
#[cfg(test)]
pub(crate) use local::LocalBlobs;
pub(crate) use model::{BlobState, StoredBlob, WrittenBlob, WrittenChunk};
pub(crate) use receive::{ByteSource, discard, receive};
#[cfg(test)]
pub(crate) use s3::tests::S3Fixture;
pub use s3::{S3Store, S3StoreConfig, S3StoreError};
pub use store::BlobStore;
pub(crate) use version::Version;
