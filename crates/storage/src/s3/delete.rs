//! Deletes objects.

use std::collections::HashSet;

use axum::{body::Body, response::Response};
use http::StatusCode;

use super::{
    MAX_XML_BYTES, S3Request,
    body::S3Body,
    xml::{Element, Xml, malformed},
};
use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::{MAX_DELETED, delete_rows, respond},
    request::{RequestContext, check_bucket},
};

/// `DELETE /{bucket}/{key}`: that there is none is no error.
pub(super) async fn delete_object(request: &S3Request) -> Result<Response, StorageError> {
    let keys = [request.target.key.clone()];
    let forbidden = delete(&request.context, &request.target.bucket, &keys).await?;
    if forbidden.is_empty() {
        Ok(respond(
            StatusCode::NO_CONTENT,
            Default::default(),
            Body::empty(),
        ))
    } else {
        Err(StorageError::access_denied("Access Denied"))
    }
}

/// `POST /{bucket}?delete`
pub(super) async fn delete_objects(
    request: &S3Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    let xml = body.read_all(MAX_XML_BYTES).await?;
    let document = Element::parse(&xml)?;
    let keys: Option<Vec<String>> = document
        .all("Object")
        .map(|object| object.child_text("Key").map(str::to_owned))
        .collect();
    let keys = keys.filter(|keys| (1..=MAX_DELETED).contains(&keys.len()));
    let keys = keys
        .filter(|_| document.name == "Delete")
        .ok_or_else(malformed)?;
    let is_quiet = document.child_text("Quiet") == Some("true");
    let forbidden = delete(&request.context, &request.target.bucket, &keys).await?;
    let xml = Xml::document("DeleteResult", |xml| {
        for key in &keys {
            if forbidden.contains(key) {
                xml.element("Error", |xml| {
                    xml.text("Key", key);
                    xml.text("Code", "AccessDenied");
                    xml.text("Message", "Access Denied");
                });
            } else if !is_quiet {
                xml.element("Deleted", |xml| xml.text("Key", key));
            }
        }
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// Deletes the objects that the caller may delete; gives the others that exist.
async fn delete(
    context: &RequestContext,
    bucket: &str,
    keys: &[String],
) -> Result<HashSet<String>, StorageError> {
    check_bucket(bucket)?;
    BucketRules::load(context, bucket).await?;
    let deleted = delete_rows(context, bucket, keys).await?;
    if deleted.len() == keys.len() {
        return Ok(HashSet::new());
    }
    const REMAINING: &str =
        "select name from storage.objects where bucket_id = $1 and name = any($2)";
    let remaining = context
        .as_service_role()
        .read_only()
        .query(REMAINING, &[&bucket, &keys])
        .await?;
    Ok(remaining.iter().map(|row| row.get("name")).collect())
}
