//! `DELETE /upload/resumable/{id}`: the upload is not wanted any more.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::{
    lease::Lease,
    proceed::check,
    refusal::{Refusal, already_complete},
    right::right,
    store::Upload,
    upload_id::UploadId,
};
use crate::{error::StorageError, request::Context};

pub(super) async fn terminate(
    context: &Arc<Context>,
    is_signed: bool,
    id: &str,
) -> Result<Response, Refusal> {
    let id = UploadId::parse(id)?;
    let right = right(context, is_signed, &id.place)?;
    check(context, &right, &id, None).await?;
    let owned = context.clone();
    context
        .to_the_end(async move {
            let (lease, upload) = Lease::take(&owned, &id).await?;
            let done = forget(&owned, &lease, &upload).await;
            lease.release().await;
            done
        })
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn forget(context: &Context, lease: &Lease, upload: &Upload) -> Result<(), StorageError> {
    if upload.is_finished {
        return Err(already_complete());
    }
    let version = &upload.id.version;
    // Whoever has it now may be making an object of those bytes.
    if !Upload::forget(&context.project.db, version, lease.id()).await? {
        return Err(StorageError::taken_over());
    }
    if let Err(error) = context.blobs.remove(version).await {
        // The sweeper finds them.
        tracing::warn!(%error, "bytes of a terminated upload stay for now: {error}");
    }
    Ok(())
}
