//! Copies an object.

use axum::response::Response;
use http::StatusCode;
use time::OffsetDateTime;

use super::{
    S3Request, get,
    preconditions::{self, COPY_CONDITIONS, Precondition},
    put::ObjectInfo,
    xml::Xml,
};
use crate::{
    error::{Code, StorageError},
    objects::{CopyOverrides, Object, UserMetadata, copy_object},
    request::{ObjectPath, RequestContext, check_bucket, check_key, percent_decode},
    wire_time,
};

/// `PUT /{bucket}/{key}` with `x-amz-copy-source`
pub(super) async fn copy(request: &S3Request) -> Result<Response, StorageError> {
    let context = &request.context;
    let to = request.object_path();
    check_bucket(&to.bucket)?;
    check_key(&to.key, context.config.key_rules)?;
    let (from, _) = copy_source(context).await?;
    let overrides = match context.header("x-amz-metadata-directive") {
        None | Some("COPY") => None,
        Some("REPLACE") => {
            let info = ObjectInfo::from_headers(context.headers());
            Some(CopyOverrides {
                content_type: Some(info.content_type),
                cache_control: Some(info.cache_control),
                headers: Some(info.headers),
                user_metadata: UserMetadata::Given(Some(info.user_metadata)),
            })
        }
        Some(_) => return Err(StorageError::invalid_parameter("x-amz-metadata-directive")),
    };
    crate::buckets::BucketRules::load(context, &to.bucket).await?;
    let object = copy_object(context, from, to, overrides, true).await?;
    let etag = object.details().etag().map(str::to_owned);
    Ok(copy_result(
        "CopyObjectResult",
        etag.as_deref(),
        context.now,
    ))
}

/// The response to a copy.
pub(super) fn copy_result(root: &str, etag: Option<&str>, now: OffsetDateTime) -> Response {
    let xml = Xml::document(root, |xml| {
        xml.optional_text("ETag", etag);
        xml.text("LastModified", wire_time::render(now));
    });
    xml.into_response(StatusCode::OK)
}

/// The source of a copy, if it meets the preconditions.
pub(super) async fn copy_source(
    context: &RequestContext,
) -> Result<(ObjectPath, Object), StorageError> {
    let bad = || StorageError::invalid_parameter("x-amz-copy-source");
    let text = context.header("x-amz-copy-source").ok_or_else(bad)?;
    let (path, version) = text.split_once("?versionId=").unwrap_or((text, "null"));
    if version != "null" {
        let message = "Versions of objects are not implemented";
        return Err(StorageError::new(Code::NotImplemented, 501, message));
    }
    let source = percent_decode(path).map_err(|_| bad())?;
    let source = source.strip_prefix('/').unwrap_or(&source);
    let (bucket, key) = source.split_once('/').ok_or_else(bad)?;
    let path = ObjectPath {
        bucket: bucket.to_owned(),
        key: key.to_owned(),
    };
    let object = get::find(context, &path).await?;
    match COPY_CONDITIONS.evaluate(context.headers(), object.details()) {
        Precondition::Met => Ok((path, object)),
        Precondition::NotModified | Precondition::Failed => Err(preconditions::failed()),
    }
}
