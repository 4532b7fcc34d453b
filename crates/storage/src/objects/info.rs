//! The metadata of an object, without its bytes (storage contract §3.4).

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LENGTH, ETAG},
};
use serde_json::json;

use super::{
    find, find_signed,
    serve::{CachePolicy, header_value, object_headers, respond},
};
use crate::{
    error::StorageError,
    images::Transform,
    request::{Access, ObjectPath, RequestContext},
    wire_time,
};

/// `HEAD /object/…`: from the row alone.
pub(crate) async fn head(
    context: &RequestContext,
    access: Access,
    path: &ObjectPath,
) -> Result<Response, StorageError> {
    let (object, cache_policy) = match access {
        Access::Signed => {
            let (object, grant) = find_signed(context, path).await?;
            (object, CachePolicy::Until(grant.expires_at))
        }
        _ => (find(context, access, path).await?, CachePolicy::Stored),
    };
    let mut headers = object_headers(context, &object, cache_policy)?;
    if let Some(size) = object.details().size() {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    }
    echo_transform(context, &mut headers)?;
    Ok(respond(StatusCode::OK, headers, Body::empty()))
}

/// `GET /object/info/…`
pub(crate) async fn info(
    context: &RequestContext,
    access: Access,
    path: &ObjectPath,
) -> Result<Response, StorageError> {
    let object = find(context, access, path).await?;
    let details = object.details();
    let body = json!({
        "id": object.id,
        "name": object.name,
        "version": object.version,
        "bucket_id": object.bucket_id,
        "size": details.size(),
        "content_type": details.content_type(),
        "cache_control": details.cache_control(),
        "etag": details.etag(),
        "metadata": object.user_metadata,
        "last_modified": object.updated_at.map(wire_time::render),
        "created_at": object.created_at.map(wire_time::render),
    });
    let mut response = Json(body).into_response();
    if let Some(etag) = details.etag() {
        response.headers_mut().insert(ETAG, header_value(etag)?);
    }
    if let Some(cache_control) = details.cache_control() {
        response
            .headers_mut()
            .insert(CACHE_CONTROL, header_value(cache_control)?);
    }
    echo_transform(context, response.headers_mut())?;
    Ok(response)
}

/// Echoes the transformation of an image, which is not done here.
fn echo_transform(context: &RequestContext, headers: &mut HeaderMap) -> Result<(), StorageError> {
    let transform = Transform::parse(&context.query(), &context.config.images)?;
    if let Some(text) = transform.header() {
        headers.insert(
            HeaderName::from_static("x-transformations"),
            header_value(&text)?,
        );
    }
    Ok(())
}
