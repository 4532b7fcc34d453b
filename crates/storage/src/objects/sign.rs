//! Making signed URLs (storage contract §3.2, §3.7).

use std::collections::HashSet;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{
    find::find_as_caller,
    model::possible,
    probe::{Intent, probe},
    upload_body::About,
};
use crate::{
    error::StorageError,
    images::Transform,
    request::{Context, Place, check_bucket, check_key, read_fields, read_small},
    signed_url::{Scope, sign as sign_token},
};

/// Most objects that one request may sign.
const MOST: usize = 1000;
const HIDDEN: &str = "Either the object does not exist or you do not have access to it";

/// `POST /object/sign/{bucket}/{key}`
pub(crate) async fn sign(
    context: &Context,
    place: &Place,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let lifetime = fields.required_integer("expiresIn", 1)?;
    let transform = match fields.object("transform")? {
        Some(fields) => Transform::read(&fields, &context.config.images)?,
        None => Transform::default(),
    };
    check_bucket(&place.bucket)?;
    check_key(&place.key)?;
    find_as_caller(context, place).await?;
    let path = place.path();
    let is_image = context.config.images.is_enabled && !transform.is_empty();
    let mut claims = Map::new();
    if is_image {
        claims.insert("transformations".to_owned(), json!(transform.claim()));
    }
    let token = sign_token(context, Scope::Download, &path, lifetime, claims)?;
    let base = if is_image {
        "/render/image/sign"
    } else {
        "/object/sign"
    };
    let url = format!("{base}/{path}?token={token}");
    Ok(Json(json!({ "signedURL": url })).into_response())
}

/// `POST /object/sign/{bucket}`
pub(crate) async fn sign_many(
    context: &Context,
    bucket: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let lifetime = fields.required_integer("expiresIn", 1)?;
    let keys = fields.some_texts("paths", MOST)?;
    check_bucket(bucket)?;
    const SQL: &str =
        "select o.name from storage.objects o where o.bucket_id = $1 and o.name = any($2)";
    let rows = context
        .as_caller()?
        .read_only()
        .query(SQL, &[&bucket, &possible(keys.clone())])
        .await?;
    let visible: HashSet<&str> = rows.iter().map(|row| row.get("name")).collect();
    let entry = |key: &String| -> Result<Value, StorageError> {
        if !visible.contains(key.as_str()) {
            return Ok(json!({ "error": HIDDEN, "path": key, "signedURL": null }));
        }
        let path = format!("{bucket}/{key}");
        let token = sign_token(context, Scope::Download, &path, lifetime, Map::new())?;
        let url = format!("/object/sign/{path}?token={token}");
        Ok(json!({ "error": null, "path": key, "signedURL": url }))
    };
    let entries = keys.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    Ok(Json(entries).into_response())
}

/// `POST /object/upload/sign/{bucket}/{key}`
pub(crate) async fn sign_upload(
    context: &Context,
    place: &Place,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    // Clients send `{}`; nothing in it counts.
    read_small(body).await?;
    check_bucket(&place.bucket)?;
    check_key(&place.key)?;
    let may_replace = context.header("x-upsert") == Some("true");
    let about = About::of_headers(context.headers());
    let intent = Intent {
        place,
        may_replace,
        content_type: context.header("content-type"),
        content_length: about.content_length,
        user_metadata: about.user_metadata.as_ref(),
    };
    probe(context, &intent).await?;
    let path = place.path();
    let mut claims = Map::new();
    claims.insert("upsert".to_owned(), json!(may_replace));
    if let Some(owner) = context.owner() {
        claims.insert("owner".to_owned(), json!(owner));
    }
    let lifetime = context.config.signed_upload_expiry.as_secs();
    let lifetime = i64::try_from(lifetime).unwrap_or(i64::MAX);
    let token = sign_token(context, Scope::Upload, &path, lifetime, claims)?;
    let url = format!("/object/upload/sign/{path}?token={token}");
    Ok(Json(json!({ "url": url, "token": token })).into_response())
}
