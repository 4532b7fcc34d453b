//! Uploads one part.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_EXPOSE_HEADERS, ETAG},
};
use plinth_db::Params;

use super::upload::{Upload, byte_count, sign_upload, verify_signature};
use crate::{
    blobs::{ByteSource, Version, WrittenBlob, discard, receive},
    buckets::BucketRules,
    error::{Code, StorageError},
    objects::{RequestedRange, header_value, respond},
    request::{RequestContext, next_chunk},
    s3::{S3Request, body::S3Body, copy},
};

const MAX_PART_NUMBER: i64 = 10_000;
const MAX_PART_BYTES: u64 = 5 * 1024 * 1024 * 1024;

/// `PUT /{bucket}/{key}?partNumber=&uploadId=`
pub(in crate::s3) async fn upload_part(
    request: &S3Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    let number = part_number(request)?;
    let length = body.required_length()?;
    let upload = Upload::load(request).await?;
    let limit = upload_limit(request, &upload, number, length).await?;
    upload.check_write(&request.context, Some(length)).await?;
    let part = Part {
        context: request.context.clone(),
        upload,
        number,
        limit,
    };
    let etag = part.store(body, length).await?;
    let mut headers = HeaderMap::new();
    headers.extend(body.take_verified_checksums());
    headers.insert(ETAG, header_value(&etag)?);
    let exposed = HeaderValue::from_static("etag");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    Ok(respond(StatusCode::OK, headers, Body::empty()))
}

/// The same with `x-amz-copy-source`
pub(in crate::s3) async fn upload_part_copy(request: &S3Request) -> Result<Response, StorageError> {
    let context = &request.context;
    let number = part_number(request)?;
    let upload = Upload::load(request).await?;
    let (_, source) = copy::copy_source(context).await?;
    let (Some(blob), Some(size)) = (source.blob(), source.details().size()) else {
        return Err(StorageError::missing_blob());
    };
    let range = match context.header("x-amz-copy-source-range") {
        None => 0..size,
        Some(text) => copied_range(text, size)?,
    };
    let length = range.end - range.start;
    let limit = upload_limit(request, &upload, number, length).await?;
    upload.check_write(context, Some(length)).await?;
    let body = context.blobs.read(&blob, range).await?;
    let mut bytes = BlobSource(body.ok_or_else(StorageError::missing_blob)?);
    let part = Part {
        context: context.clone(),
        upload,
        number,
        limit,
    };
    let etag = part.store(&mut bytes, length).await?;
    Ok(copy::copy_result(
        "CopyPartResult",
        Some(&etag),
        context.now,
    ))
}

/// `bytes=a-b`, both within the object.
fn copied_range(text: &str, size: u64) -> Result<std::ops::Range<u64>, StorageError> {
    let bad = || StorageError::new(Code::InvalidRange, 400, "invalid range provided");
    let end = text
        .rsplit_once('-')
        .and_then(|(_, end)| end.trim().parse::<u64>().ok());
    match RequestedRange::parse(Some(text), size) {
        Ok(RequestedRange::Part(part)) if end == Some(part.end) => Ok(part.start..part.end + 1),
        _ => Err(bad()),
    }
}

/// A range of a blob that becomes a part.
struct BlobSource(Body);

impl ByteSource for BlobSource {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        next_chunk(&mut self.0)
            .await
            .map_err(StorageError::internal)
    }
}

fn part_number(request: &S3Request) -> Result<i32, StorageError> {
    let number = request.query.number("partNumber", 1, MAX_PART_NUMBER)?;
    number
        .and_then(|number| i32::try_from(number).ok())
        .ok_or_else(|| StorageError::invalid_parameter("partNumber"))
}

/// The size limit of the whole upload; rejects a part that would exceed it.
async fn upload_limit(
    request: &S3Request,
    upload: &Upload,
    number: i32,
    length: u64,
) -> Result<u64, StorageError> {
    let context = &request.context;
    let rules = BucketRules::load(context, &upload.path.bucket).await?;
    let limit = rules.max_file_size(context.config.file_size_limit);
    // A part that is replaced does not count. Checked again when the row is written.
    const SQL: &str = "
        select size from storage.s3_multipart_uploads_parts where upload_id = $1 and part_number = $2
    ";
    let work = context.as_service_role().read_only();
    let rows = work.query(SQL, &[&upload.id, &number]).await?;
    let replaced = rows.first().map_or(0, |row| byte_count(row.get("size")));
    let total = upload.size.saturating_sub(replaced).saturating_add(length);
    if total > limit || length > MAX_PART_BYTES {
        Err(StorageError::too_large())
    } else {
        Ok(limit)
    }
}

struct Part {
    context: Arc<RequestContext>,
    upload: Upload,
    number: i32,
    /// Of the whole upload.
    limit: u64,
}

impl Part {
    /// Stores the blob and the row; gives the ETag.
    async fn store(
        self,
        source: &mut impl ByteSource,
        length: u64,
    ) -> Result<String, StorageError> {
        let context = self.context.clone();
        let db = &context.project.db;
        let received = receive(db, &context.blobs, source, length).await?;
        let work = async move {
            let db = &self.context.project.db;
            let (version, written) = received.finish(db).await?;
            let etag = format!("\"{}\"", written.md5);
            match self.write_row(&version, &written, &etag).await {
                Ok(()) => Ok(etag),
                // The row may be there: the ledger decides about the blob.
                Err(error) if error.is_outcome_unknown() => Err(error),
                Err(error) => {
                    discard(db, &version).await;
                    Err(error)
                }
            }
        };
        context.run_to_completion(work).await
    }

    /// A part that is uploaded again replaces the previous one, and the total size follows.
    async fn write_row(
        &self,
        version: &Version,
        written: &WrittenBlob,
        etag: &str,
    ) -> Result<(), StorageError> {
        const LOCK: &str = "
            select in_progress_size, upload_signature
            from storage.s3_multipart_uploads
            where id = $1
            for update
        ";
        const REPLACED: &str = "
            select size from storage.s3_multipart_uploads_parts
            where upload_id = $1 and part_number = $2
        ";
        const WRITE: &str = "
            insert into storage.s3_multipart_uploads_parts
                (upload_id, part_number, size, bucket_id, key, etag, owner_id, version)
            values ($1, $2, $3, $4, $5, $6, $7, $8)
            on conflict (upload_id, part_number) do update set
                size = excluded.size,
                etag = excluded.etag,
                owner_id = excluded.owner_id,
                version = excluded.version,
                created_at = now()
        ";
        const SET_TOTAL: &str = "
            update storage.s3_multipart_uploads
            set in_progress_size = $2, upload_signature = $3
            where id = $1
        ";
        let (context, id) = (&self.context, &self.upload.id);
        let (mut transaction, _) = context.as_service_role().begin(&[]).await?;
        let rows = transaction.query(LOCK, &[id]).await?;
        let row = rows.first().ok_or_else(StorageError::no_such_upload)?;
        let size = byte_count(row.get("in_progress_size"));
        verify_signature(context, id, size, row.get("upload_signature"))?;
        let rows = transaction.query(REPLACED, &[id, &self.number]).await?;
        let replaced = rows.first().map_or(0, |row| byte_count(row.get("size")));
        let total = size.saturating_sub(replaced) + written.size;
        if total > self.limit {
            return Err(StorageError::too_large());
        }
        let count = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        let (size, version) = (count(written.size), version.to_string());
        let owner = context.owner();
        let path = &self.upload.path;
        let params: Params<'_> = &[
            id,
            &self.number,
            &size,
            &path.bucket,
            &path.key,
            &etag,
            &owner,
            &version,
        ];
        transaction.query(WRITE, params).await?;
        let signature = sign_upload(context, id, total)?;
        transaction
            .query(SET_TOTAL, &[id, &count(total), &signature])
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}
