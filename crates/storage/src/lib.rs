//! The storage service, mounted at `/storage/v1`: buckets, objects and their bytes (storage
//! contract).
//!
//! Rows in PostgreSQL hold the names, the metadata and, by their policies, the permissions; `blobs`
//! keeps the bytes. `dispatch` takes every request, `request` parses it, and `buckets`, `objects`,
//! `tus` and `s3` handle it. Start with `service` and `dispatch`.

mod blobs;
mod branch;
mod buckets;
mod check;
mod config;
mod dispatch;
mod error;
mod hex;
mod images;
mod names;
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
mod tus;
mod wire_time;

pub use blobs::{BlobStore, S3Store, S3StoreConfig, S3StoreError};
pub use check::CheckError;
pub use config::StorageConfig;
pub use error::{error_reference, s3_error_reference};
pub use images::ImageRendererConfig;
pub use owner::{ClaimError, Installation};
pub use routes::{is_open_route, is_optional_key_route, routes, s3_routes};
pub use seed::{SeedBucket, SeedError};
pub use service::StorageService;
pub use tus::tus_error_reference;
