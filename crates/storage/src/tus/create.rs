//! `POST /upload/resumable`: a new upload, perhaps with its first bytes.

use std::sync::Arc;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::LOCATION};
use plinth_project::PublicUrl;

use super::{
    error::{TusError, UploadError},
    headers::{Length, body_length, has_chunk, http_date, reject_concatenation},
    lease::Lease,
    metadata::UploadMetadata,
    permission::upload_permission,
    receive::{Chunk, receive},
    store::Upload,
    upload_id::UploadId,
};
use crate::{
    blobs::Version,
    buckets::BucketRules,
    error::StorageError,
    objects::{UploadPermission, WriteIntent},
    request::{RequestContext, check_bucket, check_key, check_type},
};

/// Everything is checked before the upload exists.
pub(super) async fn create(
    context: &Arc<RequestContext>,
    is_signed: bool,
    body: Body,
) -> Result<Response, TusError> {
    reject_concatenation(context)?;
    let length = match Length::parse(context)? {
        Length::Known(length) => Some(length),
        Length::Deferred => None,
    };
    let metadata = UploadMetadata::from_header(context.headers().get("upload-metadata"))?;
    let path = metadata.object_path()?;
    let permission = upload_permission(context, is_signed, &path)?;
    check_bucket(&path.bucket)?;
    let rules = BucketRules::load(context, &path.bucket).await?;
    let limit = rules.max_file_size(context.config.file_size_limit);
    if length.is_some_and(|length| length > limit) {
        return Err(UploadError::LimitExceeded.into());
    }
    if let Some(declared) = metadata.declared_type() {
        check_type(declared, &rules.allowed_mime_types)?;
    }
    check_key(&path.key, context.config.key_rules)?;
    let user_metadata = metadata.user_metadata();
    let intent = WriteIntent {
        path: &path,
        may_replace: permission.may_replace,
        content_type: Some(metadata.content_type()),
        content_length: length,
        user_metadata: user_metadata.as_ref(),
    };
    permission.check(context, &intent).await?;

    let id = UploadId {
        path,
        version: Version::generate(),
    };
    let lifetime = context.config.resumable_expiry;
    let db = &context.project.db;
    let upload = Upload::insert(db, &id, length, &metadata, lifetime).await?;
    let has_bytes = has_chunk(context);
    if !has_bytes && length != Some(0) {
        return Ok(created(context, is_signed, &upload, false));
    }
    let chunk = Chunk {
        body: if has_bytes { body } else { Body::empty() },
        size: body_length(context).filter(|_| has_bytes),
        late_length: None,
        limit,
    };
    let owned = context.clone();
    let upload = context
        .run_to_completion(
            async move { receive_first_chunk(&owned, &id, &permission, chunk).await },
        )
        .await?;
    Ok(created(context, is_signed, &upload, has_bytes))
}

/// Receives the first bytes. Where that fails the upload is cancelled: the client does not know its
/// URL.
async fn receive_first_chunk(
    context: &RequestContext,
    id: &UploadId,
    permission: &UploadPermission,
    chunk: Chunk,
) -> Result<Upload, StorageError> {
    let (lease, mut upload) = Lease::acquire(context, id).await?;
    let received = receive(context, &lease, &mut upload, permission, chunk).await;
    if received.is_err() {
        Upload::cancel(&context.project.db, &id.version, lease.id()).await?;
    }
    lease.release().await;
    received.map(|()| upload)
}

fn created(
    context: &RequestContext,
    is_signed: bool,
    upload: &Upload,
    has_bytes: bool,
) -> Response {
    let mut response = StatusCode::CREATED.into_response();
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::try_from(location(context, is_signed, upload)) {
        headers.insert(LOCATION, location);
    }
    if has_bytes {
        headers.insert("upload-offset", upload.offset.into());
    }
    if upload.is_finished {
        headers.insert("tus-complete", HeaderValue::from_static("1"))
    } else {
        headers.insert("upload-expires", http_date(upload.expires_at))
    };
    response
}

/// The URL of the upload, absolute where the public URL is known.
fn location(context: &RequestContext, is_signed: bool, upload: &Upload) -> String {
    let base = if is_signed {
        "/storage/v1/upload/resumable/sign"
    } else {
        "/storage/v1/upload/resumable"
    };
    let path = format!("{base}/{}", upload.id.render());
    match context.parts.extensions.get::<PublicUrl>() {
        Some(public) => public.join(&path),
        None => path,
    }
}
