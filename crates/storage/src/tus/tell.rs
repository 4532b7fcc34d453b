//! `HEAD /upload/resumable/{id}`: how far the upload has come.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::CACHE_CONTROL};

use super::{
    lease::Lease,
    refusal::{Refusal, upload_gone},
    right::right,
    upload_id::UploadId,
};
use crate::request::Context;

/// Whoever writes is asked to stop first: a client that goes on right after it broke off must not
/// be told an offset that is about to change.
pub(super) async fn tell(
    context: &Arc<Context>,
    is_signed: bool,
    id: &str,
) -> Result<Response, Refusal> {
    let id = UploadId::parse(id)?;
    right(context, is_signed, &id.place)?;
    let owned = context.clone();
    let upload = context
        .to_the_end(async move {
            let (lease, upload) = Lease::take(&owned, &id).await?;
            lease.release().await;
            Ok(upload)
        })
        .await?;
    if !upload.is_finished {
        let version = &upload.id.version;
        let is_there = context.blobs.has_staged(version, upload.offset);
        if upload.is_expired || !is_there.await.map_err(crate::error::StorageError::from)? {
            return Err(upload_gone().into());
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
