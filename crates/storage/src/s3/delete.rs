//! Deleting objects: one, or many at once.

use std::collections::HashSet;

use axum::{body::Body, response::Response};
use http::StatusCode;

use super::{
    MAX_XML, Request,
    body::S3Body,
    xml::{Element, Xml, malformed},
};
use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::{MOST_DELETED, delete_rows, respond},
    request::{Context, check_bucket},
};

/// `DELETE /{bucket}/{key}`: that it is gone already is no failure.
pub(super) async fn one(request: &Request) -> Result<Response, StorageError> {
    let keys = [request.target.key.clone()];
    let forbidden = delete(&request.context, &request.target.bucket, &keys).await?;
    match forbidden.is_empty() {
        true => Ok(respond(
            StatusCode::NO_CONTENT,
            Default::default(),
            Body::empty(),
        )),
        false => Err(StorageError::access_denied("Access Denied")),
    }
}

/// `POST /{bucket}?delete`
pub(super) async fn many(request: &Request, body: &mut S3Body) -> Result<Response, StorageError> {
    let xml = body.read_small(MAX_XML).await?;
    let document = Element::read(&xml)?;
    let keys: Option<Vec<String>> = document
        .all("Object")
        .map(|object| object.text_of("Key").map(str::to_owned))
        .collect();
    let keys = keys.filter(|keys| (1..=MOST_DELETED).contains(&keys.len()));
    let keys = keys
        .filter(|_| document.name == "Delete")
        .ok_or_else(malformed)?;
    let is_quiet = document.text_of("Quiet") == Some("true");
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

/// Deletes what the caller may; gives what is still there.
async fn delete(
    context: &Context,
    bucket: &str,
    keys: &[String],
) -> Result<HashSet<String>, StorageError> {
    check_bucket(bucket)?;
    BucketRules::get(context, bucket).await?;
    let deleted = delete_rows(context, bucket, keys).await?;
    if deleted.len() == keys.len() {
        return Ok(HashSet::new());
    }
    const LEFT: &str = "select name from storage.objects where bucket_id = $1 and name = any($2)";
    let left = context
        .as_service_role()
        .read_only()
        .query(LEFT, &[&bucket, &keys])
        .await?;
    Ok(left.iter().map(|row| row.get("name")).collect())
}
