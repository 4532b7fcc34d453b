//! `POST /upload/resumable`: a new upload, perhaps with its first bytes.

use std::sync::Arc;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::LOCATION};
use plinth_project::PublicUrl;

use super::{
    headers::{Length, body_length, has_chunk, http_date, refuse_concatenation},
    lease::Lease,
    metadata::UploadMetadata,
    receive::{Chunk, receive},
    refusal::{Refusal, limit_exceeded},
    right::right,
    store::Upload,
    upload_id::UploadId,
};
use crate::{
    blobs::Version,
    buckets::BucketRules,
    error::StorageError,
    objects::{Intent, Right},
    request::{Context, check_bucket, check_key, check_type},
};

/// Everything is checked before the upload exists.
pub(super) async fn create(
    context: &Arc<Context>,
    is_signed: bool,
    body: Body,
) -> Result<Response, Refusal> {
    refuse_concatenation(context)?;
    let length = match Length::read(context)? {
        Length::Known(length) => Some(length),
        Length::Deferred => None,
    };
    let metadata = UploadMetadata::of_header(context.headers().get("upload-metadata"))?;
    let place = metadata.place()?;
    let right = right(context, is_signed, &place)?;
    check_bucket(&place.bucket)?;
    let rules = BucketRules::get(context, &place.bucket).await?;
    let limit = rules.limit(context.config.file_size_limit);
    if length.is_some_and(|length| length > limit) {
        return Err(limit_exceeded().into());
    }
    if let Some(given) = metadata.given_type() {
        check_type(given, &rules.allowed_mime_types)?;
    }
    check_key(&place.key)?;
    let user_metadata = metadata.user_metadata();
    let intent = Intent {
        place: &place,
        may_replace: right.may_replace,
        content_type: Some(metadata.content_type()),
        content_length: length,
        user_metadata: user_metadata.as_ref(),
    };
    right.check(context, &intent).await?;

    let id = UploadId {
        place,
        version: Version::generate(),
    };
    let lifetime = context.config.resumable_expiry;
    let db = &context.project.db;
    let upload = Upload::insert(db, &id, length, &metadata, lifetime).await?;
    let brings_bytes = has_chunk(context);
    if !brings_bytes && length != Some(0) {
        return Ok(created(context, is_signed, &upload, false));
    }
    let chunk = Chunk {
        body: if brings_bytes { body } else { Body::empty() },
        size: body_length(context).filter(|_| brings_bytes),
        late_length: None,
        limit,
    };
    let owned = context.clone();
    let upload = context
        .to_the_end(async move { begin(&owned, &id, &right, chunk).await })
        .await?;
    Ok(created(context, is_signed, &upload, brings_bytes))
}

/// Takes the first bytes. The client learns where to go on only if all goes well.
async fn begin(
    context: &Context,
    id: &UploadId,
    right: &Right,
    chunk: Chunk,
) -> Result<Upload, StorageError> {
    let (lease, mut upload) = Lease::take(context, id).await?;
    let received = receive(context, &lease, &mut upload, right, chunk).await;
    if received.is_err() {
        Upload::forget(&context.project.db, &id.version, lease.id()).await?;
    }
    lease.release().await;
    received.map(|()| upload)
}

fn created(context: &Context, is_signed: bool, upload: &Upload, has_begun: bool) -> Response {
    let mut response = StatusCode::CREATED.into_response();
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::try_from(location(context, is_signed, upload)) {
        headers.insert(LOCATION, location);
    }
    if has_begun {
        headers.insert("upload-offset", upload.offset.into());
    }
    match upload.is_finished {
        true => headers.insert("tus-complete", HeaderValue::from_static("1")),
        false => headers.insert("upload-expires", http_date(upload.expires_at)),
    };
    response
}

/// Absolute, as the client sees this service from outside.
fn location(context: &Context, is_signed: bool, upload: &Upload) -> String {
    let base = match is_signed {
        true => "/storage/v1/upload/resumable/sign",
        false => "/storage/v1/upload/resumable",
    };
    let path = format!("{base}/{}", upload.id.render());
    match context.parts.extensions.get::<PublicUrl>() {
        Some(public) => public.join(&path),
        None => path,
    }
}
