//! One part of an upload.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_EXPOSE_HEADERS, ETAG},
};
use plinth_db::Params;

use super::upload::{Upload, check_signature, signature, size_of};
use crate::{
    blobs::{Source, Version, Written, discard, receive},
    buckets::BucketRules,
    error::{Code, StorageError},
    objects::{Asked, next_of_body, respond, value as header_value},
    request::Context,
    s3::{Request, body::S3Body, copy},
};

const MOST_PARTS: i64 = 10_000;
const MAX_PART: u64 = 5 * 1024 * 1024 * 1024;

/// `PUT /{bucket}/{key}?partNumber=&uploadId=`
pub(in crate::s3) async fn upload_part(
    request: &Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    let number = number(request)?;
    let length = body.required_length()?;
    let upload = Upload::of_request(request).await?;
    let limit = room(request, &upload, number, length).await?;
    upload.check(&request.context, Some(length)).await?;
    let part = Part {
        context: request.context.clone(),
        upload,
        number,
        limit,
    };
    let etag = part.store(body, length).await?;
    let mut headers = HeaderMap::new();
    headers.extend(body.found());
    headers.insert(ETAG, header_value(&etag)?);
    let exposed = HeaderValue::from_static("etag");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    Ok(respond(StatusCode::OK, headers, Body::empty()))
}

/// The same with `x-amz-copy-source`
pub(in crate::s3) async fn upload_part_copy(request: &Request) -> Result<Response, StorageError> {
    let context = &request.context;
    let number = number(request)?;
    let upload = Upload::of_request(request).await?;
    let (_, source) = copy::source(context).await?;
    let (Some(blob), Some(size)) = (source.blob(), source.facts().size()) else {
        return Err(StorageError::no_such_bytes());
    };
    let range = match context.header("x-amz-copy-source-range") {
        None => 0..size,
        Some(text) => copied_range(text, size)?,
    };
    let length = range.end - range.start;
    let limit = room(request, &upload, number, length).await?;
    upload.check(context, Some(length)).await?;
    let body = context.blobs.read(&blob, range).await?;
    let mut bytes = BlobSource(body.ok_or_else(StorageError::no_such_bytes)?);
    let part = Part {
        context: context.clone(),
        upload,
        number,
        limit,
    };
    let etag = part.store(&mut bytes, length).await?;
    Ok(copy::result("CopyPartResult", Some(&etag), context.now))
}

/// `bytes=a-b`, both within the object.
fn copied_range(text: &str, size: u64) -> Result<std::ops::Range<u64>, StorageError> {
    let bad = || StorageError::new(Code::InvalidRange, 400, "invalid range provided");
    let end = text
        .rsplit_once('-')
        .and_then(|(_, end)| end.trim().parse::<u64>().ok());
    match Asked::read(Some(text), size) {
        Ok(Asked::Part(part)) if end == Some(part.end) => Ok(part.start..part.end + 1),
        _ => Err(bad()),
    }
}

/// Bytes of a blob that are to be bytes of another.
struct BlobSource(Body);

impl Source for BlobSource {
    async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
        next_of_body(&mut self.0)
            .await
            .map_err(StorageError::internal)
    }
}

fn number(request: &Request) -> Result<i32, StorageError> {
    let number = request.query.number("partNumber", 1, MOST_PARTS)?;
    number
        .and_then(|number| i32::try_from(number).ok())
        .ok_or_else(|| StorageError::invalid_parameter("partNumber"))
}

/// How many bytes the whole upload may have; refuses a part that would not fit.
async fn room(
    request: &Request,
    upload: &Upload,
    number: i32,
    length: u64,
) -> Result<u64, StorageError> {
    let context = &request.context;
    let rules = BucketRules::get(context, &upload.place.bucket).await?;
    let limit = rules.limit(context.config.file_size_limit);
    // What is replaced makes room; it is counted for certain once the part is there.
    const SQL: &str = "
        select size from storage.s3_multipart_uploads_parts where upload_id = $1 and part_number = $2
    ";
    let work = context.as_service_role().read_only();
    let rows = work.query(SQL, &[&upload.id, &number]).await?;
    let replaced = rows.first().map_or(0, |row| size_of(row.get("size")));
    let total = upload.size.saturating_sub(replaced).saturating_add(length);
    match total > limit || length > MAX_PART {
        true => Err(StorageError::too_large()),
        false => Ok(limit),
    }
}

struct Part {
    context: Arc<Context>,
    upload: Upload,
    number: i32,
    /// Of the whole upload.
    limit: u64,
}

impl Part {
    /// Stores the bytes and the row; gives the tag.
    async fn store(self, source: &mut impl Source, length: u64) -> Result<String, StorageError> {
        let context = self.context.clone();
        let db = &context.project.db;
        let arrived = receive(db, &context.blobs, source, length).await?;
        let work = async move {
            let db = &self.context.project.db;
            let (version, written) = arrived.settle(db).await?;
            let etag = format!("\"{}\"", written.md5);
            match self.record(&version, &written, &etag).await {
                Ok(()) => Ok(etag),
                // There may be a row now: the ledger knows.
                Err(error) if error.is_undecided() => Err(error),
                Err(error) => {
                    discard(db, &version).await;
                    Err(error)
                }
            }
        };
        context.to_the_end(work).await
    }

    /// A part that comes again replaces the one that was there, and the count follows.
    async fn record(
        &self,
        version: &Version,
        written: &Written,
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
        const COUNT: &str = "
            update storage.s3_multipart_uploads
            set in_progress_size = $2, upload_signature = $3
            where id = $1
        ";
        let (context, id) = (&self.context, &self.upload.id);
        let (mut transaction, _) = context.as_service_role().begin(&[]).await?;
        let rows = transaction.query(LOCK, &[id]).await?;
        let row = rows.first().ok_or_else(StorageError::no_such_upload)?;
        let size = size_of(row.get("in_progress_size"));
        check_signature(context, id, size, row.get("upload_signature"))?;
        let rows = transaction.query(REPLACED, &[id, &self.number]).await?;
        let replaced = rows.first().map_or(0, |row| size_of(row.get("size")));
        let total = size.saturating_sub(replaced) + written.size;
        if total > self.limit {
            return Err(StorageError::too_large());
        }
        let count = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        let (size, version) = (count(written.size), version.to_string());
        let owner = context.owner();
        let place = &self.upload.place;
        let params: Params<'_> = &[
            id,
            &self.number,
            &size,
            &place.bucket,
            &place.key,
            &etag,
            &owner,
            &version,
        ];
        transaction.query(WRITE, params).await?;
        let signature = signature(context, id, total)?;
        transaction
            .query(COUNT, &[id, &count(total), &signature])
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}
