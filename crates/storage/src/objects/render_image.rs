//! `GET /render/image/…`: an image resized, cropped, or in another format (storage contract §4).

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
        CONTENT_TYPE, ETAG, VARY,
    },
};
use http_body_util::BodyExt as _;
use md5::{Digest, Md5};

use super::{
    Object,
    conditions::Validators,
    find::{find, find_as_caller, find_signed},
    serve::{CachePolicy, header_value, object_headers, respond},
};
use crate::{
    error::StorageError,
    hex::hex,
    images::{Format, ImageRenderer, RenderRequest, RenditionName, Transform, too_many_bytes},
    request::{Access, ObjectPath, RequestContext, check_bucket, check_key},
};

/// `GET /render/image/…`
pub(crate) async fn render_image(
    context: &Arc<RequestContext>,
    renderer: &ImageRenderer,
    access: Access,
    path: &ObjectPath,
) -> Result<Response, StorageError> {
    let config = context.config.images.clone();
    if !config.is_enabled {
        let path = context.parts.uri.path();
        return Err(StorageError::no_such_route(&context.parts.method, path));
    }
    let (object, transform, cache_policy) = match access {
        Access::Signed => {
            let (object, grant) = find_signed(context, path).await?;
            // The transformation was fixed when the URL was signed.
            let claim = grant.text("transformations").unwrap_or_default();
            let transform = Transform::from_claim(claim, &config);
            (object, transform, CachePolicy::Until(grant.expires_at))
        }
        Access::Public => {
            let transform = Transform::parse(&context.query(), &config)?;
            (
                find(context, access, path).await?,
                transform,
                CachePolicy::Stored,
            )
        }
        Access::Authenticated | Access::Any => {
            context.caller()?;
            let transform = Transform::parse(&context.query(), &config)?;
            check_bucket(&path.bucket)?;
            check_key(&path.key, context.config.key_rules)?;
            (
                find_as_caller(context, path).await?,
                transform,
                CachePolicy::Stored,
            )
        }
    };
    let (Some(blob), Some(size)) = (object.blob(), object.details().size()) else {
        return Err(StorageError::missing_blob());
    };
    if size > config.max_bytes {
        return Err(too_many_bytes());
    }
    let is_negotiated = transform.format.is_none();
    let accepts_webp = is_negotiated && accepts_webp(context);
    let variant = variant(&transform, accepts_webp);
    let etag = variant_etag(&object, &variant);
    let mut headers = object_headers(context, &object, cache_policy)?;
    headers.remove(ACCEPT_RANGES);
    // The result is encoded by us.
    headers.remove(CONTENT_ENCODING);
    if let Some(etag) = &etag {
        headers.insert(ETAG, header_value(etag)?);
    }
    if let Some(text) = transform.header() {
        headers.insert(
            HeaderName::from_static("x-transformations"),
            header_value(&text)?,
        );
    }
    if is_negotiated {
        headers.insert(VARY, HeaderValue::from_static("Accept"));
    }
    let validators = Validators {
        etag: etag.as_deref(),
        last_modified: object.details().last_modified(),
    };
    if validators.is_fresh(context.headers()) {
        headers.remove(CONTENT_TYPE);
        return Ok(respond(StatusCode::NOT_MODIFIED, headers, Body::empty()));
    }

    let reference = context.project.reference();
    let name = RenditionName::from(format!("{blob}-{variant}-{reference}"));
    let read = || async {
        let body = context.blobs.read(&blob, 0..size).await?;
        let body = body.ok_or_else(StorageError::missing_blob)?;
        let bytes = body.collect().await.map_err(StorageError::internal)?;
        Ok(bytes.to_bytes().into())
    };
    let request = RenderRequest {
        transform,
        accepts_webp,
        config,
    };
    let (bytes, format) = renderer
        .get_or_render(&name, request, size, read)
        .await
        .map_err(StorageError::from_shared)?;
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static(format.content_type()),
    );
    if format == Format::Svg {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    } else {
        headers.remove(CONTENT_SECURITY_POLICY);
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    Ok(respond(StatusCode::OK, headers, Body::from(bytes)))
}

fn accepts_webp(context: &RequestContext) -> bool {
    let mut accepted = context.headers().get_all(ACCEPT).iter();
    accepted.any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("image/webp"))
    })
}

/// A short name of everything in a request that changes the result.
fn variant(transform: &Transform, accepts_webp: bool) -> String {
    let text = format!("{}|{accepts_webp}", transform.claim());
    let digest = hex(&Md5::digest(text.as_bytes()));
    digest.chars().take(16).collect()
}

/// The ETag of a rendition.
fn variant_etag(object: &Object, variant: &str) -> Option<String> {
    let etag = object.details().etag()?.trim_matches('"');
    Some(format!("\"{etag}-{variant}\""))
}
