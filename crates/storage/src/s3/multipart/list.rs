//! Lists multipart uploads in progress, and their parts.

use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use plinth_db::Row;

use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::read_time,
    request::check_bucket,
    s3::{S3Request, encode::Encoding, query::Query, xml::Xml},
    wire_time,
};

/// Most entries of one page.
const MAX_ENTRIES: i64 = 1000;

/// `GET /{bucket}/{key}?uploadId=`: policies on the tables of uploads apply.
pub(in crate::s3) async fn list_parts(request: &S3Request) -> Result<Response, StorageError> {
    let query = &request.query;
    let limit = query.number("max-parts", 0, i64::from(i32::MAX))?;
    let limit = limit.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
    let after = query.number("part-number-marker", 0, i64::from(i32::MAX))?;
    let after = i32::try_from(after.unwrap_or_default()).unwrap_or(i32::MAX);
    let path = request.object_path();
    let id = query.get("uploadId").unwrap_or_default();
    const UPLOAD: &str = "
        select from storage.s3_multipart_uploads where id = $1 and bucket_id = $2 and key = $3
    ";
    const PARTS: &str = "
        select part_number, size, etag, created_at
        from storage.s3_multipart_uploads_parts
        where upload_id = $1 and part_number > $2
        order by part_number
        limit $3
    ";
    let work = request.context.as_caller()?.read_only();
    let found = work.query(UPLOAD, &[&id, &path.bucket, &path.key]).await?;
    if found.is_empty() {
        return Err(StorageError::no_such_upload());
    }
    let work = request.context.as_caller()?.read_only();
    let mut parts = work.query(PARTS, &[&id, &after, &(limit + 1)]).await?;
    let is_truncated = limit > 0 && parts.len() as i64 > limit;
    parts.truncate(usize::try_from(limit).unwrap_or_default());
    let last = parts.last().map(|row| row.get::<_, i32>("part_number"));
    let xml = Xml::document("ListPartsResult", |xml| {
        xml.text("Bucket", &path.bucket);
        xml.text("Key", &path.key);
        xml.text("UploadId", id);
        xml.text("PartNumberMarker", after);
        xml.optional_text("NextPartNumberMarker", last.filter(|_| is_truncated));
        xml.text("MaxParts", limit);
        xml.text("IsTruncated", is_truncated);
        for part in &parts {
            xml.element("Part", |xml| {
                let created = read_time(part, "created_at");
                xml.text("PartNumber", part.get::<_, i32>("part_number"));
                xml.optional_text("LastModified", created.map(wire_time::render));
                xml.text("ETag", part.get::<_, &str>("etag"));
                xml.text("Size", part.get::<_, i64>("size"));
            });
        }
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// `GET /{bucket}?uploads`
pub(in crate::s3) async fn list_uploads(request: &S3Request) -> Result<Response, StorageError> {
    let query = &request.query;
    let bucket = &request.target.bucket;
    check_bucket(bucket)?;
    let encoding = Encoding::parse(query)?;
    let limit = query.number("max-uploads", 1, i64::from(i32::MAX))?;
    let limit = limit.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
    let prefix = query.get("prefix").unwrap_or_default();
    let delimiter = query.get("delimiter").unwrap_or_default();
    let after_key = marker(query, "key-marker")?;
    let after_id = marker(query, "upload-id-marker")?;
    BucketRules::load(&request.context, bucket).await?;
    const SQL: &str = "
        select key, id, created_at
        from storage.list_multipart_uploads_with_delimiter($1, $2, $3, $4, $5, $6)
    ";
    let fetched = i32::try_from(limit + 1).unwrap_or(i32::MAX);
    let work = request.context.as_caller()?.read_only();
    let mut rows = work
        .query(
            SQL,
            &[bucket, &prefix, &delimiter, &fetched, &after_key, &after_id],
        )
        .await?;
    let is_truncated = rows.len() as i64 > limit;
    rows.truncate(usize::try_from(limit).unwrap_or_default());
    let id = |row: &Row| row.get::<_, Option<String>>("id");
    let xml = Xml::document("ListMultipartUploadsResult", |xml| {
        xml.text("Bucket", bucket);
        xml.optional_text("KeyMarker", query.get("key-marker"));
        xml.optional_text("UploadIdMarker", query.get("upload-id-marker"));
        if let Some(last) = rows.last().filter(|_| is_truncated) {
            let key = last.get::<_, String>("key");
            xml.text("NextKeyMarker", URL_SAFE_NO_PAD.encode(key));
            let id = id(last).unwrap_or_default();
            xml.text("NextUploadIdMarker", URL_SAFE_NO_PAD.encode(id));
        }
        xml.text("Prefix", encoding.encode(prefix));
        if !delimiter.is_empty() {
            xml.text("Delimiter", encoding.encode(delimiter));
        }
        xml.text("MaxUploads", limit);
        xml.optional_text("EncodingType", encoding.name());
        xml.text("IsTruncated", is_truncated);
        for row in &rows {
            let key = encoding.encode(row.get("key"));
            let Some(id) = id(row) else {
                xml.element("CommonPrefixes", |xml| xml.text("Prefix", key));
                continue;
            };
            xml.element("Upload", |xml| {
                let created = read_time(row, "created_at");
                xml.text("Key", key);
                xml.text("UploadId", id);
                xml.text("StorageClass", "STANDARD");
                xml.optional_text("Initiated", created.map(wire_time::render));
            });
        }
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// The marker of an earlier page.
fn marker(query: &Query, name: &str) -> Result<String, StorageError> {
    let Some(text) = query.non_empty(name) else {
        return Ok(String::new());
    };
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| StorageError::invalid_parameter(name))
}
