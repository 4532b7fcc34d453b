//! A blob on its way out.

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

/// Bytes that are read at a time.
const PIECE: usize = 256 * 1024;
/// Files up to this size are read in one go.
const SMALL: u64 = 256 * 1024;

pub(super) enum Opened {
    Whole(Bytes),
    Rest(Reader),
}

pub(super) fn open_at(path: &Path, range: Range<u64>) -> io::Result<Opened> {
    let mut file = File::open(path)?;
    let length = range.end.saturating_sub(range.start);
    // A user's SQL may claim more than there is.
    if file.metadata()?.len() < range.end {
        return Err(io::ErrorKind::NotFound.into());
    }
    if range.start > 0 {
        file.seek(SeekFrom::Start(range.start))?;
    }
    let mut reader = Reader { file, left: length };
    if length > SMALL {
        return Ok(Opened::Rest(reader));
    }
    let piece = reader.piece(usize::try_from(length).unwrap_or(PIECE))?;
    Ok(Opened::Whole(piece.unwrap_or_default()))
}

/// The rest of an open file. The file may be removed meanwhile; whoever reads it keeps it.
pub(super) struct Reader {
    file: File,
    left: u64,
}

impl Reader {
    /// The next bytes; `None` at the end.
    fn piece(&mut self, most: usize) -> io::Result<Option<Bytes>> {
        let length = usize::try_from(self.left).map_or(most, |left| left.min(most));
        if length == 0 {
            return Ok(None);
        }
        let mut piece = Vec::with_capacity(length);
        let limit = length as u64;
        (&mut self.file).take(limit).read_to_end(&mut piece)?;
        if piece.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= limit;
        Ok(Some(piece.into()))
    }

    /// Reads one piece ahead of the socket.
    pub(super) fn into_body(self) -> Body {
        let ahead = spawn_blocking(move || self.next());
        Body::from_stream(stream::try_unfold(Some(ahead), |ahead| async move {
            let Some(ahead) = ahead else { return Ok(None) };
            let Some((piece, reader)) = ahead.await.map_err(io::Error::other)?? else {
                return Ok(None);
            };
            let ahead = (reader.left > 0).then(|| spawn_blocking(move || reader.next()));
            Ok::<_, io::Error>(Some((piece, ahead)))
        }))
    }

    fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        Ok(self.piece(PIECE)?.map(|piece| (piece, self)))
    }
}
