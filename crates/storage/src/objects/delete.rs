//! Deleting objects (storage contract §3.9).
//!
//! Only rows are deleted here. Triggers hand their blobs to the garbage collection in the same
//! transaction.

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};

use super::{Object, model::without_nul};
use crate::{
    error::StorageError,
    request::{ObjectPath, RequestContext, check_bucket, read_fields},
    response::message,
};

/// Most objects that one request may delete.
pub(crate) const MAX_DELETED: usize = 1000;

/// `DELETE /object/{bucket}/{key}`
pub(crate) async fn delete(
    context: &RequestContext,
    path: &ObjectPath,
) -> Result<Response, StorageError> {
    context.caller()?;
    check_bucket(&path.bucket)?;
    const SQL: &str = "delete from storage.objects where bucket_id = $1 and name = $2 returning id";
    let ObjectPath { bucket, key } = path;
    let rows = context.as_caller()?.query(SQL, &[bucket, key]).await?;
    if !rows.is_empty() {
        return Ok(message("Successfully deleted"));
    }
    const EXISTS: &str = "select from storage.objects where bucket_id = $1 and name = $2";
    let rows = context
        .as_service_role()
        .read_only()
        .query(EXISTS, &[bucket, key])
        .await?;
    if rows.is_empty() {
        Err(StorageError::no_such_key())
    } else {
        Err(StorageError::access_denied("Access denied"))
    }
}

/// `DELETE /object/{bucket}`
pub(crate) async fn delete_many(
    context: &RequestContext,
    bucket: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let names = fields.required_texts("prefixes", usize::MAX)?;
    if names.len() > MAX_DELETED {
        let text =
            format!("Bulk object requests are limited to {MAX_DELETED} objects per request.");
        return Err(StorageError::invalid_request(text));
    }
    check_bucket(bucket)?;
    let names = without_nul(names);
    let objects = delete_rows(context, bucket, &names).await?;
    Ok(Json(objects).into_response())
}

/// Deletes the objects that the caller may delete; gives them.
pub(crate) async fn delete_rows(
    context: &RequestContext,
    bucket: &str,
    names: &[String],
) -> Result<Vec<Object>, StorageError> {
    let sql = format!(
        "delete from storage.objects o where o.bucket_id = $1 and o.name = any($2) returning {}",
        Object::COLUMNS
    );
    let rows = context.as_caller()?.query(&sql, &[&bucket, &names]).await?;
    Ok(rows.iter().map(Object::from_row).collect())
}
