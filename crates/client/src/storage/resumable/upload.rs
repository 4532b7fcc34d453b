//! An upload that is under way.

use std::sync::Arc;
use std::time::Duration;

use super::protocol::Protocol;
use super::{ReadAt, ResumeToken, unreadable_source};
use crate::runtime::{MaybeSend, MaybeSync};
use crate::storage::{StorageError, UploadedFile};

/// How long to wait after a failure, and after the next one, as long as nothing arrives. Then the
/// upload gives up.
pub const RETRY_WAITS_MS: [u64; 5] = [0, 3000, 5000, 10_000, 20_000];

/// Who is told how far an upload came.
pub(super) trait Progress: MaybeSend + MaybeSync + 'static {
    fn tell(&self, sent: u64, total: u64);
}

impl<F: Fn(u64, u64) + MaybeSend + MaybeSync + 'static> Progress for F {
    fn tell(&self, sent: u64, total: u64) {
        self(sent, total);
    }
}

/// An upload that has begun; see [`ResumableUploadRequest::start`](super::ResumableUploadRequest::start).
/// Dropping it loses nothing: with its [token](Self::token) another one can go on.
#[must_use = "the bytes are sent by `finish`"]
pub struct ResumableUpload {
    pub(super) protocol: Protocol,
    pub(super) source: Arc<dyn ReadAt>,
    pub(super) token: ResumeToken,
    pub(super) bucket: String,
    pub(super) path: String,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Whether `offset` is what the server has, as far as we know.
    pub(super) is_sure: bool,
    pub(super) chunk_bytes: usize,
    pub(super) progress: Option<Arc<dyn Progress>>,
}

impl ResumableUpload {
    /// What another run of the program needs to go on.
    pub fn token(&self) -> &ResumeToken {
        &self.token
    }

    /// How many bytes the server has.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Sends what is missing. Lost connections and troubles of the moment are waited out as
    /// [`RETRY_WAITS_MS`] says; when it fails nevertheless, it can be called again.
    pub async fn finish(&mut self) -> Result<UploadedFile, StorageError> {
        let mut failures = 0;
        if !self.is_sure {
            self.look().await?;
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

    /// Gives the upload up; the server forgets what it has.
    pub async fn abort(self) -> Result<(), StorageError> {
        self.protocol.terminate(&self.token).await
    }

    pub(super) async fn create(&mut self, about: &[(&str, &str)]) -> Result<(), StorageError> {
        let mut waits = RETRY_WAITS_MS.iter();
        loop {
            // One that was made and whose answer got lost is forgotten by the server in time.
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

    /// Asks the server what it has.
    pub(super) async fn look(&mut self) -> Result<(), StorageError> {
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
        self.tell();
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
        self.tell();
        Ok(())
    }

    /// Waits and finds out where to go on, if that makes sense after this failure.
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
            let Some(wait) = RETRY_WAITS_MS.get(*failures) else {
                return Err(error);
            };
            *failures += 1;
            self.wait(*wait).await;
            match self.look().await {
                // Not about the place where to go on, then: the file is there already.
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

    fn tell(&self) {
        if let Some(progress) = &self.progress {
            progress.tell(self.offset, self.length);
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
