//! `PATCH /upload/resumable/{id}`: more bytes.

use std::sync::Arc;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode};

use super::{
    headers::{body_length, http_date, late_length, offset, require_chunk},
    lease::Lease,
    receive::{Chunk, receive},
    refusal::{Refusal, invalid, limit_exceeded, no_such_upload, offset_conflict, upload_gone},
    right::right,
    store::Upload,
    upload_id::UploadId,
};
use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::{Intent, Right},
    request::Context,
};

pub(super) async fn proceed(
    context: &Arc<Context>,
    is_signed: bool,
    id: &str,
    body: Body,
) -> Result<Response, Refusal> {
    let id = UploadId::parse(id)?;
    let right = right(context, is_signed, &id.place)?;
    let offset = offset(context)?;
    require_chunk(context)?;
    let late_length = late_length(context)?;
    let rules = check(context, &right, &id, late_length).await?;
    let chunk = Chunk {
        body,
        size: body_length(context),
        late_length,
        limit: rules.limit(context.config.file_size_limit),
    };
    let owned = context.clone();
    let upload = context
        .to_the_end(async move {
            let (lease, mut upload) = Lease::take(&owned, &id).await?;
            let done = go_on(&owned, &lease, &mut upload, &right, offset, chunk).await;
            lease.release().await;
            done.map(|()| upload)
        })
        .await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert("upload-offset", upload.offset.into());
    match upload.is_finished {
        true => headers.insert("tus-complete", HeaderValue::from_static("1")),
        false => headers.insert("upload-expires", http_date(upload.expires_at)),
    };
    Ok(response)
}

/// Refuses whoever may not upload there (any more).
pub(super) async fn check(
    context: &Context,
    right: &Right,
    id: &UploadId,
    late_length: Option<u64>,
) -> Result<BucketRules, StorageError> {
    let upload = Upload::find(&context.project.db, id).await?;
    let upload = upload.ok_or_else(no_such_upload)?;
    let rules = BucketRules::get(context, &id.place.bucket).await?;
    let user_metadata = upload.metadata.user_metadata();
    let intent = Intent {
        place: &id.place,
        may_replace: right.may_replace,
        content_type: Some(upload.metadata.content_type()),
        content_length: upload.length.or(late_length),
        user_metadata: user_metadata.as_ref(),
    };
    right.check(context, &intent).await?;
    Ok(rules)
}

async fn go_on(
    context: &Context,
    lease: &Lease,
    upload: &mut Upload,
    right: &Right,
    offset: u64,
    chunk: Chunk,
) -> Result<(), StorageError> {
    if upload.is_expired && !upload.is_finished {
        return Err(upload_gone());
    }
    if offset != upload.offset {
        return Err(offset_conflict());
    }
    match (upload.length, chunk.late_length) {
        (Some(_), Some(_)) => return Err(invalid("upload-length")),
        (None, Some(length)) if length < offset => return Err(invalid("upload-length")),
        (None, Some(length)) if length > chunk.limit => return Err(limit_exceeded()),
        _ => {}
    }
    match upload.is_finished {
        // There is nothing to add, and that is no failure.
        true if chunk.size == Some(0) => Ok(()),
        true => Err(super::refusal::length_exceeded()),
        false => receive(context, lease, upload, right, chunk).await,
    }
}
