//! Creates signed URLs (storage contract §3.2, §3.7).

use std::collections::HashSet;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{
    find::find_as_caller,
    model::without_nul,
    probe_write::{WriteIntent, probe_write},
    upload_body::UploadInfo,
};
use crate::{
    error::StorageError,
    images::Transform,
    request::{ObjectPath, RequestContext, check_bucket, check_key, read_fields, read_small_body},
    signed_url::{Scope, sign as sign_token},
};

/// Most objects that one request may sign.
const MAX_SIGNED: usize = 1000;
const NOT_VISIBLE: &str = "Either the object does not exist or you do not have access to it";

/// `POST /object/sign/{bucket}/{key}`
pub(crate) async fn sign(
    context: &RequestContext,
    path: &ObjectPath,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let lifetime = fields.required_integer("expiresIn", 1)?;
    let transform = match fields.object("transform")? {
        Some(fields) => Transform::parse(&fields, &context.config.images)?,
        None => Transform::default(),
    };
    check_bucket(&path.bucket)?;
    check_key(&path.key, context.config.key_rules)?;
    find_as_caller(context, path).await?;
    let joined = path.joined();
    let is_image = context.config.images.is_enabled && !transform.is_empty();
    let mut claims = Map::new();
    if is_image {
        claims.insert("transformations".to_owned(), json!(transform.claim()));
    }
    let token = sign_token(context, Scope::Download, &joined, lifetime, claims)?;
    let base = if is_image {
        "/render/image/sign"
    } else {
        "/object/sign"
    };
    let url = format!("{base}/{joined}?token={token}");
    Ok(Json(json!({ "signedURL": url })).into_response())
}

/// `POST /object/sign/{bucket}`
pub(crate) async fn sign_many(
    context: &RequestContext,
    bucket: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let lifetime = fields.required_integer("expiresIn", 1)?;
    let keys = fields.required_texts("paths", MAX_SIGNED)?;
    check_bucket(bucket)?;
    const SQL: &str =
        "select o.name from storage.objects o where o.bucket_id = $1 and o.name = any($2)";
    let rows = context
        .as_caller()?
        .read_only()
        .query(SQL, &[&bucket, &without_nul(keys.clone())])
        .await?;
    let visible: HashSet<&str> = rows.iter().map(|row| row.get("name")).collect();
    let entry = |key: &String| -> Result<Value, StorageError> {
        if !visible.contains(key.as_str()) {
            return Ok(json!({ "error": NOT_VISIBLE, "path": key, "signedURL": null }));
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
    context: &RequestContext,
    path: &ObjectPath,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    // Clients send `{}`; it is ignored.
    read_small_body(body).await?;
    check_bucket(&path.bucket)?;
    check_key(&path.key, context.config.key_rules)?;
    let may_replace = context.header("x-upsert") == Some("true");
    let info = UploadInfo::from_headers(context.headers());
    let intent = WriteIntent {
        path,
        may_replace,
        content_type: context.header("content-type"),
        content_length: info.content_length,
        user_metadata: info.user_metadata.as_ref(),
    };
    probe_write(context, &intent).await?;
    let joined = path.joined();
    let mut claims = Map::new();
    claims.insert("upsert".to_owned(), json!(may_replace));
    if let Some(owner) = context.owner() {
        claims.insert("owner".to_owned(), json!(owner));
    }
    let lifetime = context.config.signed_upload_expiry.as_secs();
    let lifetime = i64::try_from(lifetime).unwrap_or(i64::MAX);
    let token = sign_token(context, Scope::Upload, &joined, lifetime, claims)?;
    let url = format!("/object/upload/sign/{joined}?token={token}");
    Ok(Json(json!({ "url": url, "token": token })).into_response())
}
