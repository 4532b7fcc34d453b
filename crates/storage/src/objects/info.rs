//! What is known of an object, without its bytes (storage contract §3.4).

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
    serve::{Keeping, headers, respond, value},
};
use crate::{
    error::StorageError,
    images::Transform,
    request::{Access, Context, Place},
    wire_time,
};

/// `HEAD /object/…`: the row alone answers.
pub(crate) async fn head(
    context: &Context,
    access: Access,
    place: &Place,
) -> Result<Response, StorageError> {
    let (object, keeping) = match access {
        Access::Signed => {
            let (object, grant) = find_signed(context, place).await?;
            (object, Keeping::Until(grant.expires_at))
        }
        _ => (find(context, access, place).await?, Keeping::Stored),
    };
    let mut headers = headers(context, &object, keeping)?;
    if let Some(size) = object.facts().size() {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    }
    echo_transform(context, &mut headers)?;
    Ok(respond(StatusCode::OK, headers, Body::empty()))
}

/// `GET /object/info/…`
pub(crate) async fn info(
    context: &Context,
    access: Access,
    place: &Place,
) -> Result<Response, StorageError> {
    let object = find(context, access, place).await?;
    let facts = object.facts();
    let body = json!({
        "id": object.id,
        "name": object.name,
        "version": object.version,
        "bucket_id": object.bucket_id,
        "size": facts.size(),
        "content_type": facts.content_type(),
        "cache_control": facts.cache_control(),
        "etag": facts.etag(),
        "metadata": object.user_metadata,
        "last_modified": object.updated_at.map(wire_time::render),
        "created_at": object.created_at.map(wire_time::render),
    });
    let mut response = Json(body).into_response();
    if let Some(etag) = facts.etag() {
        response.headers_mut().insert(ETAG, value(etag)?);
    }
    if let Some(cache_control) = facts.cache_control() {
        response
            .headers_mut()
            .insert(CACHE_CONTROL, value(cache_control)?);
    }
    echo_transform(context, response.headers_mut())?;
    Ok(response)
}

/// Says what would be done with an image; nothing is done here.
fn echo_transform(context: &Context, headers: &mut HeaderMap) -> Result<(), StorageError> {
    let transform = Transform::read(&context.query(), &context.config.images)?;
    if let Some(text) = transform.header() {
        headers.insert(HeaderName::from_static("x-transformations"), value(&text)?);
    }
    Ok(())
}
