//! An upload in progress.

use std::sync::Arc;
use std::time::Duration;

use super::protocol::Protocol;
use super::{ReadAt, ResumeToken, unreadable_source};
use crate::runtime::{MaybeSend, MaybeSync};
use crate::storage::{StorageError, UploadedFile};

/// Backoff after consecutive failures without progress. Then the upload fails.
pub const RETRY_BACKOFF_MS: [u64; 5] = [0, 3000, 5000, 10_000, 20_000];

/// Progress callback.
pub(super) trait Progress: MaybeSend + MaybeSync + 'static {
    fn report_progress(&self, sent: u64, total: u64);
}

impl<F: Fn(u64, u64) + MaybeSend + MaybeSync + 'static> Progress for F {
    fn report_progress(&self, sent: u64, total: u64) {
        self(sent, total);
    }
}

/// An upload in progress; see [`ResumableUploadRequest::start`](super::ResumableUploadRequest::start). It can be dropped and
/// resumed with its [token](Self::token).
#[must_use = "the bytes are sent by `finish`"]
pub struct ResumableUpload {
    pub(super) protocol: Protocol,
    pub(super) source: Arc<dyn ReadAt>,
    pub(super) token: ResumeToken,
    pub(super) bucket: String,
    pub(super) path: String,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Whether `offset` is known to match the server's.
    pub(super) is_sure: bool,
    pub(super) chunk_bytes: usize,
    pub(super) progress: Option<Arc<dyn Progress>>,
}

impl ResumableUpload {
    /// Identifies the upload, to resume it in another run.
    pub fn token(&self) -> &ResumeToken {
        &self.token
    }

    /// How many bytes were uploaded.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The total number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Sends the remaining bytes. Connection losses and temporary errors are retried with the backoff
    /// [`RETRY_BACKOFF_MS`]; after a failure it can be called again.
    pub async fn finish(&mut self) -> Result<UploadedFile, StorageError> {
        let mut failures = 0;
        if !self.is_sure {
            self.query_offset().await?;
        }
        while self.offset < self.length {
            match self.send_chunk().await {
                Ok(()) => failures = 0,
                Err(error) => self.recover(error, &mut failures).await?,
            }
        }
        Ok(UploadedFile {
            id: None,
            path: self.path.clone(),
            full_path: format!("{}/{}", self.bucket, self.path),
        })
    }

    /// Aborts the upload; the server deletes what it has.
    pub async fn abort(self) -> Result<(), StorageError> {
        self.protocol.terminate(&self.token).await
    }

    pub(super) async fn create(&mut self, about: &[(&str, &str)]) -> Result<(), StorageError> {
        let mut waits = RETRY_BACKOFF_MS.iter();
        loop {
            // If the response to a successful creation was lost, the server expires that upload.
            match self.protocol.create(self.length, about).await {
                Ok(token) => {
                    self.token = token;
                    return Ok(());
                }
                Err(error) => match waits.next() {
                    Some(wait) if error.is_retryable() => self.wait(*wait).await,
                    _ => return Err(error),
                },
            }
        }
    }

    /// Queries the server's offset.
    pub(super) async fn query_offset(&mut self) -> Result<(), StorageError> {
        let state = self.protocol.state(&self.token).await?;
        let is_ours = state.length.is_none_or(|length| length == self.length)
            && state.offset <= self.length
            && state
                .place
                .is_none_or(|(bucket, path)| bucket == self.bucket && path == self.path);
        if !is_ours {
            return Err(StorageError::InvalidInput(
                "the upload that is to go on is of another file",
            ));
        }
        self.is_sure = true;
        self.offset = state.offset;
        self.report_progress();
        Ok(())
    }

    async fn send_chunk(&mut self) -> Result<(), StorageError> {
        let missing = usize::try_from(self.length - self.offset).unwrap_or(usize::MAX);
        let bytes = self.chunk_bytes.min(missing);
        let chunk = self.source.read_at(self.offset, bytes).await;
        let chunk = chunk.map_err(unreadable_source)?;
        if chunk.is_empty() || chunk.len() > bytes {
            let why = "its length changed while it was uploaded".to_owned();
            return Err(StorageError::Body(why));
        }
        let end = self.offset + chunk.len() as u64;
        self.is_sure = false;
        let arrived = self
            .protocol
            .append(&self.token, self.offset, chunk)
            .await?;
        if arrived <= self.offset || arrived > end {
            return Err(StorageError::unreadable(
                "more or less has arrived than was sent",
            ));
        }
        self.is_sure = true;
        self.offset = arrived;
        self.report_progress();
        Ok(())
    }

    /// Waits and queries the offset, if a retry makes sense after this error.
    async fn recover(
        &mut self,
        mut error: StorageError,
        failures: &mut usize,
    ) -> Result<(), StorageError> {
        let is_conflict = error.said_status() == Some(409);
        if !is_conflict && !error.is_retryable() {
            return Err(error);
        }
        let before = self.offset;
        loop {
            let Some(wait) = RETRY_BACKOFF_MS.get(*failures) else {
                return Err(error);
            };
            *failures += 1;
            self.wait(*wait).await;
            match self.query_offset().await {
                // Not an offset conflict: the file exists already.
                Ok(()) if is_conflict && self.offset == before => return Err(error),
                Ok(()) => {
                    if self.offset > before {
                        *failures = 0;
                    }
                    return Ok(());
                }
                Err(again) if again.is_retryable() => error = again,
                Err(again) => return Err(again),
            }
        }
    }

    async fn wait(&self, millis: u64) {
        let clock = self.protocol.context.base.http.clock();
        clock.sleep(Duration::from_millis(millis)).await;
    }

    fn report_progress(&self) {
        if let Some(progress) = &self.progress {
            progress.report_progress(self.offset, self.length);
        }
    }
}

impl std::fmt::Debug for ResumableUpload {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ResumableUpload")
            .field("path", &self.path)
            .field("offset", &self.offset)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
