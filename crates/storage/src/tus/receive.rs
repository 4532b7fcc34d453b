//! Receives the bytes of an upload, makes them durable, and completes the upload.

use std::{pin::pin, time::Duration};

use axum::body::Body;
use md5::{Digest, Md5};
use tokio::time::sleep;

use super::{error::UploadError, lease::Lease, store::Upload};
use crate::{
    blobs::{WrittenBlob, WrittenChunk},
    error::StorageError,
    hex::hex,
    objects::{
        CompletedUpload, NewObject, UploadPermission, UserMetadata, new_metadata, write_row,
    },
    request::{RequestContext, next_chunk},
};

/// How long bytes are still received while another request waits for the lease.
const HANDOVER_GRACE: Duration = Duration::from_secs(2);

/// How long the next bytes may take to arrive meanwhile. A client that is still there sends within
/// this: cut off at once, two clients of one upload would advance by a packet each.
const HANDOVER_IDLE_TIMEOUT: Duration = Duration::from_millis(50);

/// Bytes after which what was received is made durable: a crash loses no more than these, however
/// long the request.
const CHECKPOINT_BYTES: u64 = 64 * 1024 * 1024;

/// Receives the body of a request. What has arrived is kept even if the client disconnects or
/// another request takes the lease; with the last byte the upload becomes an object.
pub(super) async fn receive(
    context: &RequestContext,
    lease: &Lease,
    upload: &mut Upload,
    permission: &UploadPermission,
    mut chunk: Chunk,
) -> Result<(), StorageError> {
    let db = &context.project.db;
    let length = chunk.late_length.or(upload.length);
    if chunk
        .size
        .is_some_and(|size| size > remaining_bytes(upload, length, &chunk))
    {
        return Err(exceeded(length));
    }
    loop {
        let (written, stop) = append(context, lease, upload, length, &mut chunk).await?;
        let offset = upload.offset + written.size;
        if length == Some(offset) {
            finish(context, lease, upload, permission, &written, offset).await?;
            upload.offset = offset;
            return Ok(());
        }
        if written.size > 0 && !upload.advance(db, lease.id(), &written).await? {
            return Err(StorageError::upload_taken_over());
        }
        match (stop, length) {
            (Stop::Checkpoint, _) => {}
            // A client that was interrupted declares the length again.
            (Stop::Interruption(error), _) => return Err(error),
            (Stop::End, Some(length)) if upload.length.is_none() => {
                return Ok(upload.set_length(db, length).await?);
            }
            (Stop::End, _) => return Ok(()),
        }
    }
}

/// The part of a file that a request carries.
pub(super) struct Chunk {
    pub(super) body: Body,
    /// As declared.
    pub(super) size: Option<u64>,
    /// The length of the file, where it is declared only now.
    pub(super) late_length: Option<u64>,
    /// The largest file that may be uploaded.
    pub(super) limit: u64,
}

/// Why no more bytes were received.
enum Stop {
    End,
    /// There is more, but so much is to be durable first.
    Checkpoint,
    Interruption(StorageError),
}

/// How many more bytes the upload may have.
fn remaining_bytes(upload: &Upload, length: Option<u64>, chunk: &Chunk) -> u64 {
    length.unwrap_or(chunk.limit).saturating_sub(upload.offset)
}

fn exceeded(length: Option<u64>) -> StorageError {
    match length {
        Some(_) => UploadError::LengthExceeded.into(),
        None => UploadError::LimitExceeded.into(),
    }
}

/// Appends the bytes that arrive to the blob, and makes them durable.
async fn append(
    context: &RequestContext,
    lease: &Lease,
    upload: &Upload,
    length: Option<u64>,
    chunk: &mut Chunk,
) -> Result<(WrittenChunk, Stop), StorageError> {
    let mut remaining = remaining_bytes(upload, length, chunk);
    let mut received = 0;
    let max_size = length.unwrap_or(chunk.limit);
    let blobs = &context.blobs;
    let appender = blobs.append(&upload.id.version, upload.offset, max_size);
    let mut appender = appender.await?.ok_or(UploadError::Gone)?;
    let mut grace_over = pin!(release_requested_for(lease, HANDOVER_GRACE));
    let stop = loop {
        // The last bytes complete the object and need no checkpoint.
        if received >= CHECKPOINT_BYTES && remaining > 0 {
            break Stop::Checkpoint;
        }
        let next = tokio::select! {
            biased;
            () = &mut grace_over => Err(StorageError::upload_taken_over()),
            next = next_chunk(&mut chunk.body) => next,
            () = release_requested_for(lease, HANDOVER_IDLE_TIMEOUT) => Err(StorageError::upload_taken_over()),
        };
        match next {
            Ok(None) => break Stop::End,
            Err(error) => break Stop::Interruption(error),
            Ok(Some(bytes)) if bytes.len() as u64 > remaining => {
                // Queued writes must not mix with those of the next request.
                appender.close().await?;
                return Err(exceeded(length));
            }
            Ok(Some(bytes)) => {
                remaining -= bytes.len() as u64;
                received += bytes.len() as u64;
                appender.write(bytes).await?;
            }
        }
    };
    Ok((appender.close().await?, stop))
}

/// Waits until another request has waited for the lease for so long.
async fn release_requested_for(lease: &Lease, time: Duration) {
    lease.release_requested().await;
    sleep(time).await;
}

/// All bytes are there. The row of the object also ends the upload; until it is written, the last
/// chunk counts as not received.
async fn finish(
    context: &RequestContext,
    lease: &Lease,
    upload: &mut Upload,
    permission: &UploadPermission,
    last: &WrittenChunk,
    length: u64,
) -> Result<(), StorageError> {
    let db = &context.project.db;
    if upload.length.is_none() {
        upload.set_length(db, length).await?;
    }
    if !lease.is_held().await? {
        return Err(StorageError::upload_taken_over());
    }
    let assembled = context.blobs.assemble(&upload.id.version, length);
    assembled.await?;
    let written = WrittenBlob {
        size: length,
        md5: etag(&upload.chunk_md5, last),
    };
    let declared = &upload.metadata;
    let user_metadata = match declared.user_metadata() {
        Some(given) => UserMetadata::Given(Some(given)),
        None => UserMetadata::Kept,
    };
    let object = NewObject {
        path: &upload.id.path,
        version: upload.id.version,
        metadata: new_metadata(
            &written,
            declared.content_type(),
            declared.cache_control(),
            None,
            context.now,
        ),
        user_metadata,
        owner: permission.owner.as_deref(),
        may_replace: permission.may_replace,
    };
    write_row(context, object, CompletedUpload::Resumable(lease.id())).await?;
    upload.is_finished = true;
    Ok(())
}

/// The digest of a file that came as one chunk; of several chunks, the digest of their digests. So
/// a large file need not be read again.
fn etag(before: &[Vec<u8>], last: &WrittenChunk) -> String {
    if before.is_empty() {
        return hex(&last.md5);
    }
    let mut digests: Vec<&[u8]> = before.iter().map(Vec::as_slice).collect();
    if last.size > 0 {
        digests.push(&last.md5);
    }
    match digests.as_slice() {
        [only] => hex(only),
        digests => {
            let digest = Md5::digest(digests.concat());
            format!("{}-{}", hex(&digest), digests.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bytes: &str) -> WrittenChunk {
        WrittenChunk {
            size: bytes.len() as u64,
            md5: Md5::digest(bytes).into(),
        }
    }

    #[test]
    fn one_chunk_has_its_digest_and_several_that_of_their_digests() {
        let before = |chunks: &[&str]| -> Vec<Vec<u8>> {
            let md5 = |bytes: &&str| chunk(bytes).md5.to_vec();
            chunks.iter().map(md5).collect()
        };
        let check = |chunks: &[&str], last: &str, expected: &str| {
            assert_eq!(etag(&before(chunks), &chunk(last)), expected);
        };
        check(&[], "", "d41d8cd98f00b204e9800998ecf8427e");
        check(&[], "abc", "900150983cd24fb0d6963f7d28e17f72");
        check(&["abc"], "", "900150983cd24fb0d6963f7d28e17f72");
        check(&["abc"], "def", "4c8e93283780e078db9e0c6b9b3f8043-2");
    }
}
