//! `HEAD /upload/resumable/{id}`: the offset of an upload.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::CACHE_CONTROL};

use super::{
    error::{TusError, UploadError},
    lease::Lease,
    permission::upload_permission,
    upload_id::UploadId,
};
use crate::request::RequestContext;

/// Takes the lease from a writer first: a client that resumes right after a disconnect must not get
/// an offset that is about to change.
pub(super) async fn head(
    context: &Arc<RequestContext>,
    is_signed: bool,
    id: &str,
) -> Result<Response, TusError> {
    // An id that was never given is of no upload.
    let id = UploadId::parse(id).map_err(|_| UploadError::NotFound)?;
    upload_permission(context, is_signed, &id.path)?;
    let owned = context.clone();
    let upload = context
        .run_to_completion(async move {
            let (lease, upload) = Lease::acquire(&owned, &id).await?;
            lease.release().await;
            Ok(upload)
        })
        .await?;
    if !upload.is_finished {
        let version = &upload.id.version;
        let is_there = context.blobs.has_staged(version, upload.offset);
        if upload.is_expired || !is_there.await.map_err(crate::error::StorageError::from)? {
            return Err(UploadError::Gone.into());
        }
    }
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    headers.insert("upload-offset", upload.offset.into());
    match upload.length {
        Some(length) => headers.insert("upload-length", length.into()),
        None => headers.insert("upload-defer-length", HeaderValue::from_static("1")),
    };
    if let Ok(metadata) = HeaderValue::try_from(upload.metadata.render()) {
        headers.insert("upload-metadata", metadata);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
