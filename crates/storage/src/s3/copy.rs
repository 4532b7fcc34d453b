//! Copying an object, or bytes of it.

use axum::response::Response;
use http::StatusCode;
use time::OffsetDateTime;

use super::{
    Request, get,
    preconditions::{self, OF_COPYING, Verdict},
    put::About,
    xml::Xml,
};
use crate::{
    error::{Code, StorageError},
    objects::{Changes, Object, UserMetadata, copy_object},
    request::{Context, Place, check_bucket, check_key, decode},
    wire_time,
};

/// `PUT /{bucket}/{key}` with `x-amz-copy-source`
pub(super) async fn copy(request: &Request) -> Result<Response, StorageError> {
    let context = &request.context;
    let to = request.place();
    check_bucket(&to.bucket)?;
    check_key(&to.key)?;
    let (from, _) = source(context).await?;
    let changes = match context.header("x-amz-metadata-directive") {
        None | Some("COPY") => None,
        Some("REPLACE") => {
            let about = About::of_headers(context.headers());
            Some(Changes {
                content_type: Some(about.content_type),
                cache_control: Some(about.cache_control),
                user_metadata: UserMetadata::Given(Some(about.user_metadata)),
            })
        }
        Some(_) => return Err(StorageError::invalid_parameter("x-amz-metadata-directive")),
    };
    crate::buckets::BucketRules::get(context, &to.bucket).await?;
    let object = copy_object(context, from, to, changes, true).await?;
    let etag = object.facts().etag().map(str::to_owned);
    Ok(result("CopyObjectResult", etag.as_deref(), context.now))
}

/// What a copy answers.
pub(super) fn result(root: &str, etag: Option<&str>, now: OffsetDateTime) -> Response {
    let xml = Xml::document(root, |xml| {
        xml.maybe("ETag", etag);
        xml.text("LastModified", wire_time::render(now));
    });
    xml.into_response(StatusCode::OK)
}

/// The object that is to be copied, if it is as the client expects.
pub(super) async fn source(context: &Context) -> Result<(Place, Object), StorageError> {
    let bad = || StorageError::invalid_parameter("x-amz-copy-source");
    let text = context.header("x-amz-copy-source").ok_or_else(bad)?;
    let (path, version) = text.split_once("?versionId=").unwrap_or((text, "null"));
    if version != "null" {
        let message = "Versions of objects are not implemented";
        return Err(StorageError::new(Code::NotImplemented, 501, message));
    }
    let path = decode(path).map_err(|_| bad())?;
    let path = path.strip_prefix('/').unwrap_or(&path);
    let (bucket, key) = path.split_once('/').ok_or_else(bad)?;
    let place = Place {
        bucket: bucket.to_owned(),
        key: key.to_owned(),
    };
    let object = get::find(context, &place).await?;
    match OF_COPYING.judge(context.headers(), object.facts()) {
        Verdict::Go => Ok((place, object)),
        Verdict::NotModified | Verdict::Failed => Err(preconditions::failed()),
    }
}
