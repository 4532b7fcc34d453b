//! Reading files.

use std::ops::{Bound, RangeBounds};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, header};

use super::request::{Call, Context, good};
use super::{Files, StorageError, Transform, path};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::Pieces;

/// Reading a file; see [`Files::download`].
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct DownloadRequest {
    context: Context,
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

    /// An image, made smaller on the way.
    pub fn transform(mut self, transform: Transform) -> Self {
        self.transform = transform;
        self
    }

    /// Makes the address another one, for caches that have an old version.
    pub fn cache_nonce(mut self, nonce: impl Into<String>) -> Self {
        self.cache_nonce = Some(nonce.into());
        self
    }

    /// Only some of the bytes: `..1024` are the first, `1024..` what follows them. Images that are
    /// [transformed](Self::transform) come as a whole.
    pub fn range(mut self, bytes: impl RangeBounds<u64>) -> Self {
        self.range = Some(range_header(&bytes));
        self
    }

    /// Reads the whole file into memory. For large ones there is [`DownloadRequest::stream`].
    pub async fn send(self) -> Result<Bytes, StorageError> {
        let (context, options) = (self.context.clone(), self.options.clone());
        let mut request = context.request(self.call()?, &options).await?;
        request.max_answer_bytes = usize::MAX;
        Ok(good(context.base.http.send(request).await?)?.body)
    }

    /// Begins to read the file. Its bytes come as they arrive; a time limit is that of each wait
    /// for more.
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
        let answer = context.stream(self.call()?, None, &options).await?;
        Ok(Download {
            headers: answer.headers,
            body: answer.body,
        })
    }

    fn call(self) -> Result<Call, StorageError> {
        let object = path::object(&self.bucket, &self.path)?;
        let mut call = Call::get(match self.transform.is_empty() {
            true => format!("object/{object}"),
            false => format!("render/image/authenticated/{object}"),
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

/// `bytes=a-b`, with both ends in it.
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
    match start <= last {
        true => Ok(format!("bytes={start}-{last}")),
        false => Err(empty),
    }
}

/// A file that is being read: a stream of its bytes.
pub struct Download {
    headers: HeaderMap,
    body: Pieces,
}

impl Download {
    /// Its type.
    pub fn content_type(&self) -> Option<&str> {
        self.header(header::CONTENT_TYPE.as_str())
    }

    /// How many bytes come.
    pub fn content_length(&self) -> Option<u64> {
        self.header(header::CONTENT_LENGTH.as_str())?.parse().ok()
    }

    /// What changes whenever its bytes do, with its quotes.
    pub fn etag(&self) -> Option<&str> {
        self.header(header::ETAG.as_str())
    }

    /// Anything else that the answer says.
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
