//! Bytes of an upload, from the socket to where they are safe, and the end of it all.

use std::{pin::pin, time::Duration};

use axum::body::Body;
use md5::{Digest, Md5};
use tokio::time::sleep;

use super::{
    lease::Lease,
    refusal::{length_exceeded, limit_exceeded, upload_gone},
    store::Upload,
};
use crate::{
    blobs::{Piece, Written},
    error::StorageError,
    hex::hex,
    objects::{Arrival, Ends, Right, UserMetadata, metadata, next_of_body, write_row},
    request::Context,
};

/// How long bytes are still taken while another request waits.
const GRACE: Duration = Duration::from_secs(2);

/// How long the next of them may take to come. A client that is still there sends on within this:
/// cut off at once, two that work on one upload would get no further than a packet each.
const LULL: Duration = Duration::from_millis(50);

/// Bytes of one request that are made safe at a time: a crash costs no more than these, however
/// much a client sends at once.
const CHECKPOINT: u64 = 64 * 1024 * 1024;

/// Takes what a request brings. What has come is kept even where the rest does not come, be it that
/// the client goes away or that another request wants to go on; with the last byte the upload
/// becomes an object.
pub(super) async fn receive(
    context: &Context,
    lease: &Lease,
    upload: &mut Upload,
    right: &Right,
    mut chunk: Chunk,
) -> Result<(), StorageError> {
    let db = &context.project.db;
    let length = chunk.late_length.or(upload.length);
    if chunk
        .size
        .is_some_and(|size| size > room(upload, length, &chunk))
    {
        return Err(exceeded(length));
    }
    loop {
        let (piece, stop) = take(context, lease, upload, length, &mut chunk).await?;
        let offset = upload.offset + piece.size;
        if length == Some(offset) {
            finish(context, lease, upload, right, &piece, offset).await?;
            upload.offset = offset;
            return Ok(());
        }
        if piece.size > 0 && !upload.advance(db, lease.id(), &piece).await? {
            return Err(StorageError::taken_over());
        }
        match (stop, length) {
            (Stop::Checkpoint, _) => {}
            // A client that was interrupted says the length once more.
            (Stop::Interruption(error), _) => return Err(error),
            (Stop::End, Some(length)) if upload.length.is_none() => {
                return Ok(upload.set_length(db, length).await?);
            }
            (Stop::End, _) => return Ok(()),
        }
    }
}

/// A piece of a file that a request brings.
pub(super) struct Chunk {
    pub(super) body: Body,
    /// As the request declares it.
    pub(super) size: Option<u64>,
    /// The length of the whole file, where it was not known before.
    pub(super) late_length: Option<u64>,
    /// The longest file that may be uploaded there.
    pub(super) limit: u64,
}

/// Why no more bytes were taken.
enum Stop {
    End,
    /// There is more, but so much shall be safe first.
    Checkpoint,
    Interruption(StorageError),
}

/// How many more bytes the upload may take.
fn room(upload: &Upload, length: Option<u64>, chunk: &Chunk) -> u64 {
    length.unwrap_or(chunk.limit).saturating_sub(upload.offset)
}

fn exceeded(length: Option<u64>) -> StorageError {
    match length {
        Some(_) => length_exceeded(),
        None => limit_exceeded(),
    }
}

/// Stores the bytes as far as they come, and makes them safe.
async fn take(
    context: &Context,
    lease: &Lease,
    upload: &Upload,
    length: Option<u64>,
    chunk: &mut Chunk,
) -> Result<(Piece, Stop), StorageError> {
    let mut room = room(upload, length, chunk);
    let mut taken = 0;
    let at_most = length.unwrap_or(chunk.limit);
    let blobs = &context.blobs;
    let appender = blobs.append(&upload.id.version, upload.offset, at_most);
    let mut appender = appender.await?.ok_or_else(upload_gone)?;
    let mut overdue = pin!(wanted_for(lease, GRACE));
    let stop = loop {
        // What would be the last piece ends with the object, not with a checkpoint.
        if taken >= CHECKPOINT && room > 0 {
            break Stop::Checkpoint;
        }
        let next = tokio::select! {
            biased;
            () = &mut overdue => Err(StorageError::taken_over()),
            next = next_of_body(&mut chunk.body) => next,
            () = wanted_for(lease, LULL) => Err(StorageError::taken_over()),
        };
        match next {
            Ok(None) => break Stop::End,
            Err(error) => break Stop::Interruption(error),
            Ok(Some(bytes)) if bytes.len() as u64 > room => {
                // What is still being written must not come between the bytes of whoever is next.
                appender.pause().await?;
                return Err(exceeded(length));
            }
            Ok(Some(bytes)) => {
                room -= bytes.len() as u64;
                taken += bytes.len() as u64;
                appender.write(bytes).await?;
            }
        }
    };
    Ok((appender.pause().await?, stop))
}

/// Another request has waited for so long.
async fn wanted_for(lease: &Lease, time: Duration) {
    lease.is_wanted().await;
    sleep(time).await;
}

/// All bytes are there. The row that names them also ends the upload; until it is written, the last
/// piece counts as not received.
async fn finish(
    context: &Context,
    lease: &Lease,
    upload: &mut Upload,
    right: &Right,
    last: &Piece,
    length: u64,
) -> Result<(), StorageError> {
    let db = &context.project.db;
    if upload.length.is_none() {
        upload.set_length(db, length).await?;
    }
    if !lease.is_held().await? {
        return Err(StorageError::taken_over());
    }
    let assembled = context.blobs.assemble(&upload.id.version, length);
    assembled.await?;
    let written = Written {
        size: length,
        md5: etag(&upload.chunk_md5, last),
    };
    let about = &upload.metadata;
    let user_metadata = match about.user_metadata() {
        Some(given) => UserMetadata::Given(Some(given)),
        None => UserMetadata::Kept,
    };
    let arrival = Arrival {
        place: &upload.id.place,
        version: upload.id.version,
        metadata: metadata(
            &written,
            about.content_type(),
            about.cache_control(),
            None,
            context.now,
        ),
        user_metadata,
        owner: right.owner.as_deref(),
        may_replace: right.may_replace,
    };
    write_row(context, arrival, Ends::Resumable(lease.id())).await?;
    upload.is_finished = true;
    Ok(())
}

/// The digest of bytes that came at once; of those that came in pieces, the digest of their digests.
/// Nobody reads a large file again for this.
fn etag(before: &[Vec<u8>], last: &Piece) -> String {
    if before.is_empty() {
        return hex(&last.md5);
    }
    let mut pieces: Vec<&[u8]> = before.iter().map(Vec::as_slice).collect();
    if last.size > 0 {
        pieces.push(&last.md5);
    }
    match pieces.as_slice() {
        [only] => hex(only),
        pieces => {
            let digest = Md5::digest(pieces.concat());
            format!("{}-{}", hex(&digest), pieces.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(bytes: &str) -> Piece {
        Piece {
            size: bytes.len() as u64,
            md5: Md5::digest(bytes).into(),
        }
    }

    #[test]
    fn one_piece_has_its_digest_and_several_that_of_their_digests() {
        let before = |pieces: &[&str]| -> Vec<Vec<u8>> {
            let md5 = |bytes: &&str| piece(bytes).md5.to_vec();
            pieces.iter().map(md5).collect()
        };
        let check = |pieces: &[&str], last: &str, etag_: &str| {
            assert_eq!(etag(&before(pieces), &piece(last)), etag_);
        };
        check(&[], "", "d41d8cd98f00b204e9800998ecf8427e");
        check(&[], "abc", "900150983cd24fb0d6963f7d28e17f72");
        check(&["abc"], "", "900150983cd24fb0d6963f7d28e17f72");
        check(&["abc"], "def", "4c8e93283780e078db9e0c6b9b3f8043-2");
    }
}
