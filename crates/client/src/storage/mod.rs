//! Buckets and files (client contract §3.4).
//!
//! [`Client::storage`] manages buckets; [`Storage::from`] returns the [`Files`] of one. Requests are built where they are
//! defined; names become URLs in `path`, and `request` sends. Uploads and downloads of any size can be
//! streamed: see [`UploadBody`] and [`DownloadRequest::stream`]. [`Files::upload_resumable`] survives a lost
//! connection.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use axum::routing::{get, post};
//! # let client = plinth_client::Client::builder("http://localhost:54321", "key");
//! # let client = client.http_service(axum::Router::new().route(
//! #     "/storage/v1/object/avatars/ann.txt",
//! #     post(|| async { r#"{"Key":"avatars/ann.txt","Id":"1"}"# }).get(|| async { "hello" }),
//! # )).build()?;
//! let avatars = client.storage().from("avatars");
//!
//! let uploaded = avatars.upload("ann.txt", "hello").content_type("text/plain").send().await?;
//! assert_eq!(uploaded.full_path, "avatars/ann.txt");
//!
//! let bytes = avatars.download("ann.txt").send().await?;
//! assert_eq!(bytes, "hello");
//!
//! let url = avatars.public_url("ann.txt").build()?;
//! assert_eq!(url, "http://localhost:54321/storage/v1/object/public/avatars/ann.txt");
//! # Ok(())
//! # }
//! ```

mod buckets;
mod change_bucket;
mod download;
mod error;
mod error_code;
mod file_options;
mod files;
mod form;
mod list;
mod list_v2;
mod object;
mod path;
mod public_url;
mod relocate;
mod request;
mod resumable;
mod signed_upload;
mod signed_url;
mod transform;
mod upload;
mod upload_body;

use std::fmt;

use crate::client::Client;
pub use buckets::{Bucket, BucketSortBy, ListBucketsRequest};
pub use change_bucket::{BucketRequest, SizeLimit};
pub use download::{Download, DownloadRequest};
pub use error::StorageError;
pub use error_code::StorageErrorCode;
pub use files::Files;
pub use list::{ListRequest, SortBy};
pub use list_v2::{FilePage, ListV2Request};
pub use object::{FileInfo, FileObject};
pub use public_url::PublicUrlBuilder;
pub use relocate::{CopyRequest, MoveRequest};
use request::RequestContext;
pub use request::StorageRequest;
pub use resumable::{
    CHUNK_BYTES, RETRY_BACKOFF_MS, ReadAt, ResumableUpload, ResumableUploadRequest, ResumeToken,
};
pub use signed_upload::{SignedUploadUrl, SignedUploadUrlRequest};
pub use signed_url::{SignedUrl, SignedUrlRequest, SignedUrlsRequest};
pub use transform::{ImageFormat, Resize, Transform};
pub use upload::{UploadRequest, UploadedFile};
pub use upload_body::UploadBody;

/// The buckets of a project; see [`Client::storage`].
#[derive(Clone)]
pub struct Storage {
    context: RequestContext,
}

impl<A> Client<A> {
    /// Buckets and files.
    pub fn storage(&self) -> Storage {
        Storage {
            context: RequestContext {
                base: self.base.clone(),
                tokens: self.tokens.clone(),
            },
        }
    }
}

impl Storage {
    /// The files of a bucket.
    pub fn from(&self, bucket: &str) -> Files {
        Files::new(self.context.clone(), bucket)
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Storage")
            .field("url", &self.context.base.url)
            .finish_non_exhaustive()
    }
}
