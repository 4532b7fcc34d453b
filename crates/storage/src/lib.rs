//! The storage service, mounted at `/storage/v1`: buckets, objects and their bytes (storage
//! contract).
//!
//! Rows in Postgres say what there is and who may do what with it; `blobs` keeps the bytes, which
//! have no names of their own. `request` finds out what is asked, `buckets`, `objects` and `tus`
//! do it.

mod blobs;
mod branch;
mod buckets;
mod check;
mod config;
mod error;
mod hex;
mod images;
mod objects;
mod owner;
mod request;
mod response;
mod routes;
mod s3;
pub mod schema;
mod seed;
mod service;
mod signed_url;
mod sqlstate;
mod tus;
mod wire_time;

pub use blobs::{S3Store, S3StoreConfig, StoreProblem};
pub use check::CheckError;
pub use config::StorageConfig;
pub use images::StudioConfig;
pub use owner::{ClaimError, Installation};
pub use routes::routes;
pub use seed::{SeedBucket, SeedError};
pub use service::{BlobStore, StorageService};
