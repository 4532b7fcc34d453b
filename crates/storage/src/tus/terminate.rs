//! `DELETE /upload/resumable/{id}`: cancels an upload.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::{
    error::{TusError, UploadError},
    lease::Lease,
    patch::check_permission,
    permission::upload_permission,
    store::Upload,
    upload_id::UploadId,
};
use crate::{error::StorageError, request::RequestContext};

pub(super) async fn terminate(
    context: &Arc<RequestContext>,
    is_signed: bool,
    id: &str,
) -> Result<Response, TusError> {
    let id = UploadId::parse(id)?;
    let permission = upload_permission(context, is_signed, &id.path)?;
    check_permission(context, &permission, &id, None).await?;
    let owned = context.clone();
    context
        .run_to_completion(async move {
            let (lease, upload) = Lease::acquire(&owned, &id).await?;
            let done = cancel(&owned, &lease, &upload).await;
            lease.release().await;
            done
        })
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn cancel(
    context: &RequestContext,
    lease: &Lease,
    upload: &Upload,
) -> Result<(), StorageError> {
    if upload.is_finished {
        return Err(UploadError::AlreadyComplete.into());
    }
    let version = &upload.id.version;
    // The new holder of the lease may be completing the upload.
    if !Upload::cancel(&context.project.db, version, lease.id()).await? {
        return Err(StorageError::upload_taken_over());
    }
    if let Err(error) = context.blobs.remove(version).await {
        // The garbage collection will.
        tracing::warn!(%error, "cannot remove the blob of a cancelled upload, garbage collection will: {error}");
    }
    Ok(())
}
