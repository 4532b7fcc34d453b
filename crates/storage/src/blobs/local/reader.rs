//! Reads a blob.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::Path,
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::task::spawn_blocking;

/// Bytes per read.
const CHUNK_BYTES: usize = 256 * 1024;
/// Ranges up to this size are read at once.
const MAX_BUFFERED_BYTES: u64 = 256 * 1024;

/// A range of a file.
pub(super) enum Content {
    Buffered(Bytes),
    Streamed(Reader),
}

pub(super) fn open_range(path: &Path, range: Range<u64>) -> io::Result<Content> {
    let mut file = File::open(path)?;
    let length = range.end.saturating_sub(range.start);
    // The size comes from the row, which a user's SQL may have changed.
    if file.metadata()?.len() < range.end {
        return Err(io::ErrorKind::NotFound.into());
    }
    if range.start > 0 {
        file.seek(SeekFrom::Start(range.start))?;
    }
    let mut reader = Reader {
        file,
        remaining: length,
    };
    if length > MAX_BUFFERED_BYTES {
        return Ok(Content::Streamed(reader));
    }
    let chunk = reader.read_chunk(usize::try_from(length).unwrap_or(CHUNK_BYTES))?;
    Ok(Content::Buffered(chunk.unwrap_or_default()))
}

/// The rest of an open file. The file may be removed meanwhile: the open handle keeps its bytes.
pub(super) struct Reader {
    file: File,
    remaining: u64,
}

impl Reader {
    /// The next bytes; `None` at the end.
    fn read_chunk(&mut self, max_bytes: usize) -> io::Result<Option<Bytes>> {
        let length = usize::try_from(self.remaining).map_or(max_bytes, |left| left.min(max_bytes));
        if length == 0 {
            return Ok(None);
        }
        let mut chunk = Vec::with_capacity(length);
        let limit = length as u64;
        (&mut self.file).take(limit).read_to_end(&mut chunk)?;
        if chunk.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.remaining -= limit;
        Ok(Some(chunk.into()))
    }

    /// Reads one chunk ahead of the socket.
    pub(super) fn into_body(self) -> Body {
        let ahead = spawn_blocking(move || self.next());
        Body::from_stream(stream::try_unfold(Some(ahead), |ahead| async move {
            let Some(ahead) = ahead else { return Ok(None) };
            let Some((chunk, reader)) = ahead.await.map_err(io::Error::other)?? else {
                return Ok(None);
            };
            let ahead = (reader.remaining > 0).then(|| spawn_blocking(move || reader.next()));
            Ok::<_, io::Error>(Some((chunk, ahead)))
        }))
    }

    fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        Ok(self.read_chunk(CHUNK_BYTES)?.map(|chunk| (chunk, self)))
    }
}
