//! Deleting objects (storage contract §3.9).
//!
//! Only rows are deleted here. Triggers put the bytes on the collector's list in the same
//! transaction, so neither can go without the other.

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};

use super::{Object, model::possible};
use crate::{
    error::StorageError,
    request::{Context, Place, check_bucket, read_fields},
    response::message,
};

/// Most objects that one request may delete.
pub(crate) const MOST: usize = 1000;

/// `DELETE /object/{bucket}/{key}`
pub(crate) async fn delete(context: &Context, place: &Place) -> Result<Response, StorageError> {
    context.caller()?;
    check_bucket(&place.bucket)?;
    const SQL: &str = "delete from storage.objects where bucket_id = $1 and name = $2 returning id";
    let Place { bucket, key } = place;
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
    match rows.is_empty() {
        true => Err(StorageError::no_such_key()),
        false => Err(StorageError::access_denied("Access denied")),
    }
}

/// `DELETE /object/{bucket}`
pub(crate) async fn delete_many(
    context: &Context,
    bucket: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let names = fields.some_texts("prefixes", usize::MAX)?;
    if names.len() > MOST {
        let text = format!("Bulk object requests are limited to {MOST} objects per request.");
        return Err(StorageError::invalid_request(text));
    }
    check_bucket(bucket)?;
    let names = possible(names);
    let objects = delete_rows(context, bucket, &names).await?;
    Ok(Json(objects).into_response())
}

/// Deletes what the caller may; gives what went.
pub(crate) async fn delete_rows(
    context: &Context,
    bucket: &str,
    names: &[String],
) -> Result<Vec<Object>, StorageError> {
    let sql = format!(
        "delete from storage.objects o where o.bucket_id = $1 and o.name = any($2) returning {}",
        Object::COLUMNS
    );
    let rows = context.as_caller()?.query(&sql, &[&bucket, &names]).await?;
    Ok(rows.iter().map(Object::of_row).collect())
}
