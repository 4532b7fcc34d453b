//! Downloads.

use std::ops::{Bound, RangeBounds};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, header};

use super::request::{Call, RequestContext, check_status};
use super::{Files, StorageError, Transform, path};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::Pieces;

/// Reading a file; see [`Files::download`].
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct DownloadRequest {
    context: RequestContext,
    bucket: String,
    path: String,
    transform: Transform,
    cache_nonce: Option<String>,
    range: Option<Result<String, StorageError>>,
    options: CallOptions,
}

with_call_options!(DownloadRequest);

impl DownloadRequest {
    pub(super) fn new(files: &Files, path: &str) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            path: path.to_owned(),
            transform: Transform::new(),
            cache_nonce: None,
            range: None,
            options: CallOptions::default(),
        }
    }

    /// Transforms an image.
    pub fn transform(mut self, transform: Transform) -> Self {
        self.transform = transform;
        self
    }

    /// Adds a cache-busting parameter.
    pub fn cache_nonce(mut self, nonce: impl Into<String>) -> Self {
        self.cache_nonce = Some(nonce.into());
        self
    }

    /// Only a range of bytes: `..1024` are the first, `1024..` the rest. Ignored for
    /// [transformed](Self::transform) images.
    pub fn range(mut self, bytes: impl RangeBounds<u64>) -> Self {
        self.range = Some(range_header(&bytes));
        self
    }

    /// Downloads the whole file into memory. For large ones use [`DownloadRequest::stream`].
    pub async fn send(self) -> Result<Bytes, StorageError> {
        let (context, options) = (self.context.clone(), self.options.clone());
        let mut request = context.request(self.call()?, &options).await?;
        request.max_response_bytes = usize::MAX;
        Ok(check_status(context.base.http.send(request).await?)?.body)
    }

    /// Starts a streamed download. The timeout applies to each chunk.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new().fallback(|| async { "waves" }))
    /// #     .build()?;
    /// use futures_util::TryStreamExt;
    /// use std::io::Write;
    ///
    /// # let mut file = Vec::new();
    /// let mut film = client.storage().from("films").download("sea.mp4").stream().await?;
    /// while let Some(bytes) = film.try_next().await? {
    ///     file.write_all(&bytes)?;
    /// }
    /// # assert_eq!(file, b"waves");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stream(self) -> Result<Download, StorageError> {
        let (context, options) = (self.context.clone(), self.options.clone());
        let response = context.stream(self.call()?, None, &options).await?;
        Ok(Download {
            headers: response.headers,
            body: response.body,
        })
    }

    fn call(self) -> Result<Call, StorageError> {
        let object = path::object(&self.bucket, &self.path)?;
        let mut call = Call::get(if self.transform.is_empty() {
            format!("object/{object}")
        } else {
            format!("render/image/authenticated/{object}")
        });
        for (name, value) in self.transform.params() {
            call = call.query(name, Some(value));
        }
        call = call.query("cacheNonce", self.cache_nonce);
        match self.range {
            Some(range) => Ok(call.header("range", range?)),
            None => Ok(call),
        }
    }
}

/// `bytes=a-b`, inclusive.
fn range_header(range: &impl RangeBounds<u64>) -> Result<String, StorageError> {
    let empty = StorageError::InvalidInput("the range has no bytes");
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.checked_add(1).ok_or(empty.clone())?,
        Bound::Unbounded => 0,
    };
    let last = match range.end_bound() {
        Bound::Included(last) => *last,
        Bound::Excluded(end) => end.checked_sub(1).ok_or(empty.clone())?,
        Bound::Unbounded => return Ok(format!("bytes={start}-")),
    };
    if start <= last {
        Ok(format!("bytes={start}-{last}"))
    } else {
        Err(empty)
    }
}

/// A streamed download: a stream of bytes.
pub struct Download {
    headers: HeaderMap,
    body: Pieces,
}

impl Download {
    /// Its content type.
    pub fn content_type(&self) -> Option<&str> {
        self.header(header::CONTENT_TYPE.as_str())
    }

    /// Its content length.
    pub fn content_length(&self) -> Option<u64> {
        self.header(header::CONTENT_LENGTH.as_str())?.parse().ok()
    }

    /// Its ETag, with quotes.
    pub fn etag(&self) -> Option<&str> {
        self.header(header::ETAG.as_str())
    }

    /// Any other response header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Stream for Download {
    type Item = Result<Bytes, StorageError>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Self::Item>> {
        let piece = self.body.poll_next_unpin(context);
        piece.map(|piece| piece.map(|piece| piece.map_err(Into::into)))
    }
}

impl std::fmt::Debug for Download {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Download")
            .field("content_length", &self.content_length())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    #[test]
    fn ranges_name_their_first_and_last_byte() {
        assert_eq!(range_header(&(0..1)).unwrap(), "bytes=0-0");
        assert_eq!(range_header(&(5..=9)).unwrap(), "bytes=5-9");
        assert_eq!(range_header(&(..10)).unwrap(), "bytes=0-9");
        assert_eq!(range_header(&(7..)).unwrap(), "bytes=7-");
        assert_eq!(range_header(&(..)).unwrap(), "bytes=0-");
        for empty in [0..0, 5..5, Range { start: 9, end: 3 }] {
            assert!(range_header(&empty).is_err());
        }
    }
}
