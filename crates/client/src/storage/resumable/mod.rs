//! Resumable uploads (TUS 1.0.0).
//!
//! `protocol` has the requests, `upload` their order, `source` the bytes.

mod protocol;
mod source;
mod upload;

use std::sync::Arc;

use super::file_options::{FileOptions, with_file_options};
use super::upload_body::type_by_name;
use super::{Files, StorageError, UploadedFile, path};
use crate::call_options::{CallOptions, with_call_options};
use crate::runtime::{MaybeSend, MaybeSync};
use protocol::Protocol;
pub use source::ReadAt;
use upload::Progress;
pub use upload::{RETRY_BACKOFF_MS, ResumableUpload};

/// Default chunk size, which the hosted service requires.
pub const CHUNK_BYTES: usize = 6 * 1024 * 1024;

/// Identifies an upload, to resume it in another run; see [`ResumableUpload::token`]. Not a secret: the server checks
/// the caller's permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeToken(String);

impl ResumeToken {
    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for ResumeToken {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// A resumable upload; see [`Files::upload_resumable`].
#[must_use = "nothing is sent before `send` or `start`"]
pub struct ResumableUploadRequest {
    files: Files,
    path: String,
    source: Arc<dyn ReadAt>,
    about: FileOptions,
    chunk_bytes: usize,
    progress: Option<Arc<dyn Progress>>,
    resume: Option<ResumeToken>,
    signature: Option<String>,
    options: CallOptions,
}

with_call_options!(ResumableUploadRequest);
with_file_options!(ResumableUploadRequest);

impl ResumableUploadRequest {
    pub(super) fn new(files: &Files, path: &str, source: impl ReadAt) -> Self {
        Self {
            files: files.clone(),
            path: path::clean(path),
            source: Arc::new(source),
            about: FileOptions::default(),
            chunk_bytes: CHUNK_BYTES,
            progress: None,
            resume: None,
            signature: None,
            options: CallOptions::default(),
        }
    }

    /// The chunk size, which is also buffered in memory. Some servers accept nothing but [`CHUNK_BYTES`].
    pub fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = bytes.max(1);
        self
    }

    /// Called with the number of uploaded bytes and the total.
    pub fn progress(
        mut self,
        report_progress: impl Fn(u64, u64) + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.progress = Some(Arc::new(report_progress));
        self
    }

    /// Resumes an upload of an earlier run with the same source.
    pub fn resume(mut self, token: impl Into<ResumeToken>) -> Self {
        self.resume = Some(token.into());
        self
    }

    /// Authorizes with a [signed upload](Files::signed_upload_url) instead of the user's permissions.
    pub fn signed_with(mut self, token: impl Into<String>) -> Self {
        self.signature = Some(token.into());
        self
    }

    /// Uploads everything.
    pub async fn send(self) -> Result<UploadedFile, StorageError> {
        self.start().await?.finish().await
    }

    /// Creates the upload, or queries the offset of an earlier run. [`ResumableUpload::finish`] sends the
    /// bytes.
    pub async fn start(self) -> Result<ResumableUpload, StorageError> {
        // Paths that are invalid in other requests are rejected here, too.
        path::object(&self.files.bucket, &self.path)?;
        let length = self.source.length().await.map_err(unreadable_source)?;
        let FileOptions {
            is_upsert,
            content_type,
            cache_seconds,
            metadata,
        } = self.about;
        let metadata = metadata?;
        let by_name = || {
            self.source
                .content_type()
                .unwrap_or(type_by_name(&self.path))
        };
        let protocol = Protocol {
            context: self.files.context.clone(),
            signature: self.signature,
            is_upsert,
            options: self.options,
        };
        let mut upload = ResumableUpload {
            token: ResumeToken(String::new()),
            offset: 0,
            length,
            is_sure: true,
            chunk_bytes: self.chunk_bytes,
            progress: self.progress,
            bucket: self.files.bucket.clone(),
            protocol,
            source: self.source.clone(),
            path: self.path.clone(),
        };
        match self.resume {
            Some(token) => {
                upload.token = token;
                upload.query_offset().await?;
            }
            None => {
                let content_type = content_type.unwrap_or_else(|| by_name().to_owned());
                let seconds = cache_seconds.to_string();
                let mut about = vec![
                    ("bucketName", self.files.bucket.as_str()),
                    ("objectName", &self.path),
                    ("contentType", &content_type),
                    ("cacheControl", &seconds),
                ];
                about.extend(metadata.as_deref().map(|text| ("metadata", text)));
                upload.create(&about).await?;
            }
        }
        Ok(upload)
    }
}

fn unreadable_source(error: std::io::Error) -> StorageError {
    StorageError::Body(error.to_string())
}
