//! Images on the way out: smaller, cut, in another format (storage contract §4).

mod cache;
mod geometry;
mod render;
mod studio;
mod transform;

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT, ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, VARY,
    },
};
use http_body_util::BodyExt as _;
use md5::{Digest, Md5};

use cache::Name;
use render::{Format, render};

pub(crate) use studio::Studio;
pub use studio::StudioConfig;
pub(crate) use transform::Transform;

use crate::{
    error::{Code, StorageError},
    hex::hex,
    objects::{
        Keeping, Object, Validators, find, find_as_caller, find_signed, headers, respond, value,
    },
    request::{Access, Context, Place, check_bucket, check_key},
};

/// `GET /render/image/…`
pub(crate) async fn show(
    context: &Arc<Context>,
    studio: &Studio,
    access: Access,
    place: &Place,
) -> Result<Response, StorageError> {
    let config = context.config.images.clone();
    if !config.is_enabled {
        let path = context.parts.uri.path();
        return Err(StorageError::no_such_route(&context.parts.method, path));
    }
    let (object, transform, keeping) = match access {
        Access::Signed => {
            let (object, grant) = find_signed(context, place).await?;
            // What is asked for was settled when the link was made.
            let claim = grant.text("transformations").unwrap_or_default();
            let transform = Transform::of_claim(claim, &config);
            (object, transform, Keeping::Until(grant.expires_at))
        }
        Access::Public => {
            let transform = Transform::read(&context.query(), &config)?;
            (
                find(context, access, place).await?,
                transform,
                Keeping::Stored,
            )
        }
        Access::Authenticated | Access::Any => {
            context.caller()?;
            let transform = Transform::read(&context.query(), &config)?;
            check_bucket(&place.bucket)?;
            check_key(&place.key)?;
            (
                find_as_caller(context, place).await?,
                transform,
                Keeping::Stored,
            )
        }
    };
    let (Some(blob), Some(size)) = (object.blob(), object.facts().size()) else {
        return Err(StorageError::no_such_bytes());
    };
    if size > config.max_bytes {
        let message = "The source image file is too large to process";
        return Err(StorageError::new(Code::InvalidRequest, 400, message));
    }
    let is_negotiated = transform.format.is_none();
    let accepts_webp = is_negotiated && accepts_webp(context);
    let variant = variant(&transform, accepts_webp);
    let etag = variant_etag(&object, &variant);
    let mut headers = headers(context, &object, keeping)?;
    headers.remove(ACCEPT_RANGES);
    if let Some(etag) = &etag {
        headers.insert(ETAG, value(etag)?);
    }
    if let Some(text) = transform.header() {
        headers.insert(HeaderName::from_static("x-transformations"), value(&text)?);
    }
    if is_negotiated {
        headers.insert(VARY, HeaderValue::from_static("Accept"));
    }
    let validators = Validators {
        etag: etag.as_deref(),
        last_modified: object.facts().last_modified(),
    };
    if validators.is_fresh(context.headers()) {
        headers.remove(CONTENT_TYPE);
        return Ok(respond(StatusCode::NOT_MODIFIED, headers, Body::empty()));
    }

    let reference = context.project.reference();
    let name = Name::from(format!("{blob}-{variant}-{reference}"));
    let source = async {
        let body = context.blobs.read(&blob, 0..size).await?;
        let body = body.ok_or_else(StorageError::no_such_bytes)?;
        let bytes = body.collect().await.map_err(StorageError::internal)?;
        Ok(bytes.to_bytes().into())
    };
    let work = move |source| render(source, &transform, accepts_webp, &config);
    let (bytes, format) = studio
        .image(&name, source, work)
        .await
        .map_err(StorageError::of_shared)?;
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

fn accepts_webp(context: &Context) -> bool {
    let mut accepted = context.headers().get_all(ACCEPT).iter();
    accepted.any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("image/webp"))
    })
}

/// Everything about a request that changes the result, as a short name.
fn variant(transform: &Transform, accepts_webp: bool) -> String {
    let text = format!("{}|{accepts_webp}", transform.claim());
    let digest = hex(&Md5::digest(text.as_bytes()));
    digest.chars().take(16).collect()
}

/// The source's tag, told apart from those of its other renditions.
fn variant_etag(object: &Object, variant: &str) -> Option<String> {
    let etag = object.facts().etag()?.trim_matches('"');
    Some(format!("\"{etag}-{variant}\""))
}
