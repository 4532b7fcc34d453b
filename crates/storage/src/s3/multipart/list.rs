//! Uploads that are under way, and their parts.

use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use plinth_db::Row;

use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::time_of,
    request::check_bucket,
    s3::{Request, encode::Encoding, query::Query, xml::Xml},
    wire_time,
};

/// Most entries of one page.
const MOST: i64 = 1000;

/// `GET /{bucket}/{key}?uploadId=`: with the caller's rights on the tables of uploads.
pub(in crate::s3) async fn list_parts(request: &Request) -> Result<Response, StorageError> {
    let query = &request.query;
    let most = query.number("max-parts", 0, i64::from(i32::MAX))?;
    let most = most.unwrap_or(MOST).min(MOST);
    let after = query.number("part-number-marker", 0, i64::from(i32::MAX))?;
    let after = i32::try_from(after.unwrap_or_default()).unwrap_or(i32::MAX);
    let place = request.place();
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
    let found = work
        .query(UPLOAD, &[&id, &place.bucket, &place.key])
        .await?;
    if found.is_empty() {
        return Err(StorageError::no_such_upload());
    }
    let work = request.context.as_caller()?.read_only();
    let mut parts = work.query(PARTS, &[&id, &after, &(most + 1)]).await?;
    let is_truncated = most > 0 && parts.len() as i64 > most;
    parts.truncate(usize::try_from(most).unwrap_or_default());
    let last = parts.last().map(|row| row.get::<_, i32>("part_number"));
    let xml = Xml::document("ListPartsResult", |xml| {
        xml.text("Bucket", &place.bucket);
        xml.text("Key", &place.key);
        xml.text("UploadId", id);
        xml.text("PartNumberMarker", after);
        xml.maybe("NextPartNumberMarker", last.filter(|_| is_truncated));
        xml.text("MaxParts", most);
        xml.text("IsTruncated", is_truncated);
        for part in &parts {
            xml.element("Part", |xml| {
                let created = time_of(part, "created_at");
                xml.text("PartNumber", part.get::<_, i32>("part_number"));
                xml.maybe("LastModified", created.map(wire_time::render));
                xml.text("ETag", part.get::<_, &str>("etag"));
                xml.text("Size", part.get::<_, i64>("size"));
            });
        }
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// `GET /{bucket}?uploads`
pub(in crate::s3) async fn list_uploads(request: &Request) -> Result<Response, StorageError> {
    let query = &request.query;
    let bucket = &request.target.bucket;
    check_bucket(bucket)?;
    let encoding = Encoding::read(query)?;
    let most = query.number("max-uploads", 1, i64::from(i32::MAX))?;
    let most = most.unwrap_or(MOST).min(MOST);
    let prefix = query.get("prefix").unwrap_or_default();
    let delimiter = query.get("delimiter").unwrap_or_default();
    let after_key = marker(query, "key-marker")?;
    let after_id = marker(query, "upload-id-marker")?;
    BucketRules::get(&request.context, bucket).await?;
    const SQL: &str = "
        select key, id, created_at
        from storage.list_multipart_uploads_with_delimiter($1, $2, $3, $4, $5, $6)
    ";
    let wanted = i32::try_from(most + 1).unwrap_or(i32::MAX);
    let work = request.context.as_caller()?.read_only();
    let mut rows = work
        .query(
            SQL,
            &[bucket, &prefix, &delimiter, &wanted, &after_key, &after_id],
        )
        .await?;
    let is_truncated = rows.len() as i64 > most;
    rows.truncate(usize::try_from(most).unwrap_or_default());
    let id = |row: &Row| row.get::<_, Option<String>>("id");
    let xml = Xml::document("ListMultipartUploadsResult", |xml| {
        xml.text("Bucket", bucket);
        xml.maybe("KeyMarker", query.get("key-marker"));
        xml.maybe("UploadIdMarker", query.get("upload-id-marker"));
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
        xml.text("MaxUploads", most);
        xml.maybe("EncodingType", encoding.name());
        xml.text("IsTruncated", is_truncated);
        for row in &rows {
            let key = encoding.encode(row.get("key"));
            let Some(id) = id(row) else {
                xml.element("CommonPrefixes", |xml| xml.text("Prefix", key));
                continue;
            };
            xml.element("Upload", |xml| {
                let created = time_of(row, "created_at");
                xml.text("Key", key);
                xml.text("UploadId", id);
                xml.text("StorageClass", "STANDARD");
                xml.maybe("Initiated", created.map(wire_time::render));
            });
        }
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// A place that an earlier page named.
fn marker(query: &Query, name: &str) -> Result<String, StorageError> {
    let Some(text) = query.filled(name) else {
        return Ok(String::new());
    };
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| StorageError::invalid_parameter(name))
}
