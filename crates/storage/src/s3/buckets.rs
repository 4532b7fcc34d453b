//! Buckets in the S3 protocol.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header::LOCATION};
use serde_json::json;

use super::{S3Request, body::S3Body, xml::Xml};
use crate::{
    buckets,
    error::StorageError,
    objects::{header_value, read_time, respond},
    request::check_bucket,
    wire_time,
};

/// `GET /`
pub(super) async fn list(request: &S3Request) -> Result<Response, StorageError> {
    const SQL: &str = "select id, created_at from storage.buckets order by name";
    let rows = request
        .context
        .as_caller()?
        .read_only()
        .query(SQL, &[])
        .await?;
    let xml = Xml::document("ListAllMyBucketsResult", |xml| {
        xml.element("Buckets", |xml| {
            for row in &rows {
                xml.element("Bucket", |xml| {
                    let created = read_time(row, "created_at");
                    xml.text("Name", row.get::<_, String>("id"));
                    xml.optional_text("CreationDate", created.map(wire_time::render));
                });
            }
        });
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// `PUT /{bucket}`
pub(super) async fn create(
    request: &S3Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    // The body may name a region, which is ignored.
    body.read_all(super::MAX_XML_BYTES).await?;
    let acl = request.context.header("x-amz-acl");
    let is_public = acl.is_some_and(|acl| acl.starts_with("public-read"));
    let bucket = &request.target.bucket;
    let fields = json!({ "name": bucket, "public": is_public }).to_string();
    buckets::create(&request.context, Body::from(fields)).await?;
    let mut response = respond(StatusCode::OK, Default::default(), Body::empty());
    let location = header_value(&format!("/{bucket}"))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// `HEAD /{bucket}`
pub(super) async fn head(request: &S3Request) -> Result<Response, StorageError> {
    require_visible(request).await?;
    let mut response = respond(StatusCode::OK, Default::default(), Body::empty());
    let region = HeaderValue::from_str(&request.context.config.s3_region);
    if let Ok(region) = region {
        let headers = response.headers_mut();
        headers.insert("x-amz-bucket-region", region);
    }
    Ok(response)
}

/// `DELETE /{bucket}`
pub(super) async fn delete(request: &S3Request) -> Result<Response, StorageError> {
    buckets::delete(&request.context, &request.target.bucket).await?;
    Ok(respond(
        StatusCode::NO_CONTENT,
        Default::default(),
        Body::empty(),
    ))
}

/// `GET /{bucket}?location`
pub(super) async fn location(request: &S3Request) -> Result<Response, StorageError> {
    require_visible(request).await?;
    let region = &request.context.config.s3_region;
    let xml = Xml::document("LocationConstraint", |xml| xml.characters(region));
    Ok(xml.into_response(StatusCode::OK))
}

/// `GET /{bucket}?versioning`
pub(super) async fn versioning(request: &S3Request) -> Result<Response, StorageError> {
    require_visible(request).await?;
    let xml = Xml::document("VersioningConfiguration", |xml| {
        xml.text("Status", "Suspended");
        xml.text("MfaDelete", "Disabled");
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// Rejects a bucket that the caller's policies hide.
async fn require_visible(request: &S3Request) -> Result<(), StorageError> {
    let bucket = &request.target.bucket;
    check_bucket(bucket)?;
    const SQL: &str = "select from storage.buckets where id = $1";
    let work = request.context.as_caller()?.read_only();
    if work.query(SQL, &[bucket]).await?.is_empty() {
        Err(StorageError::no_such_bucket())
    } else {
        Ok(())
    }
}
