//! Uploads in a single request (storage contract §3.1, §3.2).

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use http::header::CONTENT_LENGTH;
use serde_json::json;

use super::{
    Object,
    commit::{NewObject, UserMetadata, commit},
    model::new_metadata,
    probe_write::WriteIntent,
    upload_body::{UploadBody, UploadInfo},
    upload_permission::UploadPermission,
};
use crate::{
    blobs::receive,
    buckets::BucketRules,
    error::StorageError,
    request::{ObjectPath, RequestContext, check_bucket, check_key, check_robots_tag, check_type},
};

/// Consoles create an empty folder as an object of this name, which has no bytes.
pub(crate) const PLACEHOLDER: &str = ".emptyFolderPlaceholder";

/// `POST /object/{bucket}/{key}`
pub(crate) async fn create(
    context: &Arc<RequestContext>,
    path: ObjectPath,
    body: Body,
) -> Result<Response, StorageError> {
    let may_replace = context.header("x-upsert") == Some("true");
    upload_as_caller(context, path, body, may_replace).await
}

/// `PUT /object/{bucket}/{key}`: creates where there is nothing to replace.
pub(crate) async fn replace(
    context: &Arc<RequestContext>,
    path: ObjectPath,
    body: Body,
) -> Result<Response, StorageError> {
    upload_as_caller(context, path, body, true).await
}

async fn upload_as_caller(
    context: &Arc<RequestContext>,
    path: ObjectPath,
    body: Body,
    may_replace: bool,
) -> Result<Response, StorageError> {
    context.caller()?;
    let permission = UploadPermission::from_caller(context, may_replace);
    let object = upload_detached(context, path, body, permission).await?;
    let key = format!("{}/{}", object.bucket_id, object.name);
    Ok(Json(json!({ "Key": key, "Id": object.id })).into_response())
}

/// `PUT /object/upload/sign/{bucket}/{key}`: with the token of a signed URL.
pub(crate) async fn upload_signed(
    context: &Arc<RequestContext>,
    path: ObjectPath,
    body: Body,
) -> Result<Response, StorageError> {
    let query = context.query();
    let token = query.text("token")?.ok_or_else(|| query.missing("token"))?;
    let permission = UploadPermission::from_token(context, &path, &token)?;
    let object = upload_detached(context, path, body, permission).await?;
    let key = format!("{}/{}", object.bucket_id, object.name);
    Ok(Json(json!({ "Key": key })).into_response())
}

/// A client may disconnect once it has sent everything, before we have read it. With a
/// `Content-Length` the upload continues in a task of its own, since it knows whether the body is
/// complete. Without one an interrupted body would look like the end of the file.
async fn upload_detached(
    context: &Arc<RequestContext>,
    path: ObjectPath,
    body: Body,
    permission: UploadPermission,
) -> Result<Object, StorageError> {
    let owned = context.clone();
    let work = async move { upload(&owned, path, body, permission).await };
    if context.headers().contains_key(CONTENT_LENGTH) {
        context.run_to_completion(work).await
    } else {
        work.await
    }
}

/// Everything is checked before a byte is stored; after the last byte the object is created even if
/// the client disconnects.
async fn upload(
    context: &Arc<RequestContext>,
    path: ObjectPath,
    body: Body,
    permission: UploadPermission,
) -> Result<Object, StorageError> {
    check_bucket(&path.bucket)?;
    let rules = BucketRules::load(context, &path.bucket).await?;
    let robots_tag = robots_tag(context)?;
    let is_placeholder = path.key.ends_with(PLACEHOLDER);
    let limit = if is_placeholder {
        0
    } else {
        rules.max_file_size(context.config.standard_size_limit)
    };
    let mut body = UploadBody::open(context.headers(), body).await?;
    let info = body.info();
    if body.is_raw() && info.content_length.is_some_and(|length| length > limit) {
        return Err(StorageError::too_large());
    }
    let allowed = |content_type: &str| {
        if is_placeholder {
            Ok(())
        } else {
            check_type(content_type, &rules.allowed_mime_types)
        }
    };
    allowed(info.content_type())?;
    check_key(&path.key, context.config.key_rules)?;
    check_permission(context, &path, info, &permission).await?;
    let checked_info = info.clone();

    let received = receive(&context.project.db, &context.blobs, &mut body, limit).await?;
    // A form may have more fields behind the file, which change what is to be checked.
    let trailing = async {
        let info = body.read_trailing_fields().await?;
        allowed(info.content_type())?;
        if info != checked_info {
            check_permission(context, &path, &info, &permission).await?;
        }
        Ok(info)
    };
    let info = match trailing.await {
        Ok(info) => info,
        Err(error) => {
            received.discard(&context.project.db).await;
            return Err(error);
        }
    };
    let owned = context.clone();
    context
        .run_to_completion(async move {
            let (version, written) = received.finish(&owned.project.db).await?;
            let object = NewObject {
                path: &path,
                version,
                metadata: new_metadata(
                    &written,
                    info.content_type(),
                    info.cache_control(),
                    robots_tag.as_deref(),
                    owned.now,
                ),
                user_metadata: UserMetadata::Given(Some(
                    info.user_metadata.unwrap_or_else(|| json!({})),
                )),
                owner: permission.owner.as_deref(),
                may_replace: permission.may_replace,
            };
            commit(&owned, object).await
        })
        .await
}

/// `X-Robots-Tag`, validated.
fn robots_tag(context: &RequestContext) -> Result<Option<String>, StorageError> {
    let Some(header) = context.headers().get("x-robots-tag") else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(header.as_bytes()).into_owned();
    check_robots_tag(&text)?;
    Ok(Some(text))
}

async fn check_permission(
    context: &RequestContext,
    path: &ObjectPath,
    info: &UploadInfo,
    permission: &UploadPermission,
) -> Result<(), StorageError> {
    let intent = WriteIntent {
        path,
        may_replace: permission.may_replace,
        content_type: Some(info.content_type()),
        content_length: info.content_length,
        user_metadata: info.user_metadata.as_ref(),
    };
    permission.check(context, &intent).await
}
