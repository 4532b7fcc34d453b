//! `PATCH /upload/resumable/{id}`: the next chunk.

use std::sync::Arc;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode};

use super::{
    error::{TusError, UploadError, invalid_header},
    headers::{body_length, http_date, late_length, offset, require_chunk},
    lease::Lease,
    permission::upload_permission,
    receive::{Chunk, receive},
    store::Upload,
    upload_id::UploadId,
};
use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::{UploadPermission, WriteIntent},
    request::RequestContext,
};

pub(super) async fn patch(
    context: &Arc<RequestContext>,
    is_signed: bool,
    id: &str,
    body: Body,
) -> Result<Response, TusError> {
    let id = UploadId::parse(id)?;
    let permission = upload_permission(context, is_signed, &id.path)?;
    let offset = offset(context)?;
    require_chunk(context)?;
    let late_length = late_length(context)?;
    let rules = check_permission(context, &permission, &id, late_length).await?;
    let chunk = Chunk {
        body,
        size: body_length(context),
        late_length,
        limit: rules.max_file_size(context.config.file_size_limit),
    };
    let owned = context.clone();
    let upload = context
        .run_to_completion(async move {
            let (lease, mut upload) = Lease::acquire(&owned, &id).await?;
            let done =
                receive_next_chunk(&owned, &lease, &mut upload, &permission, offset, chunk).await;
            lease.release().await;
            done.map(|()| upload)
        })
        .await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert("upload-offset", upload.offset.into());
    if upload.is_finished {
        headers.insert("tus-complete", HeaderValue::from_static("1"))
    } else {
        headers.insert("upload-expires", http_date(upload.expires_at))
    };
    Ok(response)
}

/// Rejects a request that may not upload the object (any more).
pub(super) async fn check_permission(
    context: &RequestContext,
    permission: &UploadPermission,
    id: &UploadId,
    late_length: Option<u64>,
) -> Result<BucketRules, StorageError> {
    let upload = Upload::find(&context.project.db, id).await?;
    let upload = upload.ok_or(UploadError::NotFound)?;
    let rules = BucketRules::load(context, &id.path.bucket).await?;
    let user_metadata = upload.metadata.user_metadata();
    let intent = WriteIntent {
        path: &id.path,
        may_replace: permission.may_replace,
        content_type: Some(upload.metadata.content_type()),
        content_length: upload.length.or(late_length),
        user_metadata: user_metadata.as_ref(),
    };
    permission.check(context, &intent).await?;
    Ok(rules)
}

async fn receive_next_chunk(
    context: &RequestContext,
    lease: &Lease,
    upload: &mut Upload,
    permission: &UploadPermission,
    offset: u64,
    chunk: Chunk,
) -> Result<(), StorageError> {
    if upload.is_expired && !upload.is_finished {
        return Err(UploadError::Gone.into());
    }
    if offset != upload.offset {
        return Err(UploadError::OffsetConflict.into());
    }
    match (upload.length, chunk.late_length) {
        (Some(_), Some(_)) => return Err(invalid_header("upload-length")),
        (None, Some(length)) if length < offset => return Err(invalid_header("upload-length")),
        (None, Some(length)) if length > chunk.limit => {
            return Err(UploadError::LimitExceeded.into());
        }
        _ => {}
    }
    if !upload.is_finished {
        receive(context, lease, upload, permission, chunk).await
    } else if chunk.size == Some(0) {
        // An empty chunk after the end is no error.
        Ok(())
    } else {
        Err(UploadError::LengthExceeded.into())
    }
}
