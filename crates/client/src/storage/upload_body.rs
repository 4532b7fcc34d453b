//! Bodies of uploads.

use std::io;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

use super::StorageError;
use crate::runtime::{BoxStream, MaybeSend};

/// The default content type.
const TEXT: &str = "text/plain;charset=UTF-8";
/// Chunk size for reading files.
#[cfg(not(target_arch = "wasm32"))]
const PIECE_BYTES: usize = 128 * 1024;

/// The data to upload: bytes, a text, a file, or a stream. Files and streams are sent as they are read and need little
/// memory (except in a browser, and through a tower service, which buffer bodies).
///
/// ```
/// use plinth_client::storage::UploadBody;
/// use futures_util::stream;
///
/// let bytes: UploadBody = vec![1, 2, 3].into();
/// let text: UploadBody = "hello".into();
/// let pieces = || stream::iter(["hel", "lo"].map(Ok::<_, std::io::Error>));
/// let of_unknown_length = UploadBody::stream(pieces());
/// let of_known_length = UploadBody::sized_stream(5, pieces());
/// ```
pub struct UploadBody(Source);

enum Source {
    Bytes(Bytes),
    Stream {
        pieces: BoxStream<'static, io::Result<Bytes>>,
        length: Option<u64>,
    },
    #[cfg(not(target_arch = "wasm32"))]
    File(std::path::PathBuf),
}

/// A body to be sent.
pub(super) enum Sending {
    Bytes(Bytes),
    Pieces(Pieces),
}

/// A streamed body.
pub(super) struct Pieces {
    pub(super) pieces: BoxStream<'static, io::Result<Bytes>>,
    pub(super) length: Option<u64>,
}

impl UploadBody {
    /// A stream of unknown length.
    pub fn stream<S, B, E>(pieces: S) -> Self
    where
        S: Stream<Item = Result<B, E>> + MaybeSend + 'static,
        B: Into<Bytes>,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Self::of_stream(pieces, None)
    }

    /// A stream of known length. The upload fails if it has more or fewer bytes.
    pub fn sized_stream<S, B, E>(length: u64, pieces: S) -> Self
    where
        S: Stream<Item = Result<B, E>> + MaybeSend + 'static,
        B: Into<Bytes>,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Self::of_stream(pieces, Some(length))
    }

    /// A local file. Its name determines the content type, unless the upload does.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn file(path: impl Into<std::path::PathBuf>) -> Self {
        Self(Source::File(path.into()))
    }

    fn of_stream<S, B, E>(pieces: S, length: Option<u64>) -> Self
    where
        S: Stream<Item = Result<B, E>> + MaybeSend + 'static,
        B: Into<Bytes>,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let pieces = pieces.map(|piece| piece.map(Into::into).map_err(io::Error::other));
        Self(Source::Stream {
            pieces: Box::pin(pieces),
            length,
        })
    }

    /// Its own content type, if it has one.
    pub(super) fn content_type(&self) -> &'static str {
        match &self.0 {
            Source::Bytes(_) | Source::Stream { .. } => TEXT,
            #[cfg(not(target_arch = "wasm32"))]
            Source::File(path) => type_by_name(&path.to_string_lossy()),
        }
    }

    pub(super) async fn open(self) -> Result<Sending, StorageError> {
        let (pieces, length) = match self.0 {
            Source::Bytes(bytes) => return Ok(Sending::Bytes(bytes)),
            Source::Stream { pieces, length } => (pieces, length),
            #[cfg(not(target_arch = "wasm32"))]
            Source::File(path) => {
                let opened = open_file(&path).await;
                opened.map_err(|error| StorageError::Body(error.to_string()))?
            }
        };
        Ok(Sending::Pieces(Pieces { pieces, length }))
    }
}

impl Sending {
    /// Adds bytes before and after it.
    pub(super) fn between(self, before: Bytes, after: Bytes) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes([before, bytes, after].concat().into()),
            Self::Pieces(mut body) => {
                let around = (before.len() + after.len()) as u64;
                body.length = body.length.map(|length| length + around);
                let before = stream::iter([Ok(before)]);
                let pieces = before.chain(body.pieces).chain(stream::iter([Ok(after)]));
                body.pieces = Box::pin(pieces);
                Self::Pieces(body)
            }
        }
    }
}

/// The content type by file extension.
pub(super) fn type_by_name(name: &str) -> &'static str {
    mime_guess::from_path(name)
        .first_raw()
        .unwrap_or("application/octet-stream")
}

/// Limited to its current length, in case it grows.
#[cfg(not(target_arch = "wasm32"))]
async fn open_file(
    path: &std::path::Path,
) -> io::Result<(BoxStream<'static, io::Result<Bytes>>, Option<u64>)> {
    use tokio::io::AsyncReadExt as _;

    let file = tokio::fs::File::open(path).await?;
    let length = file.metadata().await?.len();
    let file = file.take(length);
    let pieces = stream::try_unfold(file, async |mut file| {
        let mut piece = bytes::BytesMut::with_capacity(PIECE_BYTES);
        let read = file.read_buf(&mut piece).await?;
        io::Result::Ok((read > 0).then(|| (piece.freeze(), file)))
    });
    Ok((Box::pin(pieces), Some(length)))
}

impl From<Bytes> for UploadBody {
    fn from(bytes: Bytes) -> Self {
        Self(Source::Bytes(bytes))
    }
}

impl From<Vec<u8>> for UploadBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Source::Bytes(bytes.into()))
    }
}

impl From<&[u8]> for UploadBody {
    fn from(bytes: &[u8]) -> Self {
        Self(Source::Bytes(Bytes::copy_from_slice(bytes)))
    }
}

impl From<String> for UploadBody {
    fn from(text: String) -> Self {
        Self(Source::Bytes(text.into()))
    }
}

impl From<&str> for UploadBody {
    fn from(text: &str) -> Self {
        Self(Source::Bytes(Bytes::copy_from_slice(text.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_what_they_are_and_bytes_do_not() {
        let check = |body: UploadBody, expected: &str| assert_eq!(body.content_type(), expected);

        check("x".into(), "text/plain;charset=UTF-8");
        check(UploadBody::file("/a/sea.JPG"), "image/jpeg");
        check(UploadBody::file("notes.txt"), "text/plain");
        check(UploadBody::file("what"), "application/octet-stream");
    }
}
