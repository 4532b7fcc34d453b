//! Reads objects and their metadata.

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE,
        CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, EXPIRES,
        LAST_MODIFIED, RANGE, X_CONTENT_TYPE_OPTIONS,
    },
};
use serde_json::Value;

use super::{
    S3Request,
    preconditions::{self, Precondition, READ_CONDITIONS},
    xml::Xml,
};
use crate::{
    buckets::BucketRules,
    error::{Code, StorageError},
    objects::{
        Object, RequestedRange, StoredHeaders, Validators, can_run_script, find_as_caller,
        header_value, respond, safe_content_type,
    },
    request::{ObjectPath, RequestContext, check_bucket, check_key},
    signed_url::http_date,
};

/// `GET /{bucket}/{key}`
pub(super) async fn get(request: &S3Request) -> Result<Response, StorageError> {
    let object = find(&request.context, &request.object_path()).await?;
    let details = object.details();
    let request_headers = request.context.headers();
    let mut headers = headers(request, &object)?;
    match READ_CONDITIONS.evaluate(request_headers, details) {
        Precondition::Met => {}
        Precondition::NotModified => {
            headers.remove(CONTENT_TYPE);
            return Ok(respond(StatusCode::NOT_MODIFIED, headers, Body::empty()));
        }
        Precondition::Failed => return Err(preconditions::failed()),
    }
    let (Some(blob), Some(size)) = (object.blob(), details.size()) else {
        return Err(StorageError::missing_blob());
    };
    let validators = Validators {
        etag: details.etag(),
        last_modified: details.last_modified(),
    };
    let range = request.context.header(RANGE.as_str());
    let part = RequestedRange::parse(
        range.filter(|_| validators.allow_range(request_headers)),
        size,
    )?;
    let (status, bytes) = match part {
        RequestedRange::Whole => (StatusCode::OK, 0..size),
        RequestedRange::Part(part) => {
            headers.insert(CONTENT_RANGE, header_value(&part.header(size))?);
            (StatusCode::PARTIAL_CONTENT, part.start..part.end + 1)
        }
    };
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.end - bytes.start));
    let body = request.context.blobs.read(&blob, bytes).await?;
    let body = body.ok_or_else(StorageError::missing_blob)?;
    Ok(respond(status, headers, body))
}

/// `HEAD /{bucket}/{key}`: from the row alone.
pub(super) async fn head(request: &S3Request) -> Result<Response, StorageError> {
    let object = find(&request.context, &request.object_path()).await?;
    let mut headers = headers(request, &object)?;
    let status = match READ_CONDITIONS.evaluate(request.context.headers(), object.details()) {
        Precondition::Met => StatusCode::OK,
        Precondition::NotModified => StatusCode::NOT_MODIFIED,
        Precondition::Failed => return Err(preconditions::failed()),
    };
    if let Some(size) = object.details().size().filter(|_| status == StatusCode::OK) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    }
    Ok(respond(status, headers, Body::empty()))
}

/// `GET /{bucket}/{key}?tagging`: no object has tags.
pub(super) async fn tagging(request: &S3Request) -> Result<Response, StorageError> {
    find(&request.context, &request.object_path()).await?;
    let xml = Xml::document("Tagging", |xml| xml.element("TagSet", |_| {}));
    Ok(xml.into_response(StatusCode::OK))
}

/// An object that the caller's policies let through.
pub(super) async fn find(
    context: &RequestContext,
    path: &ObjectPath,
) -> Result<Object, StorageError> {
    check_bucket(&path.bucket)?;
    check_key(&path.key, context.config.key_rules)?;
    match find_as_caller(context, path).await {
        Err(error) if error.code() == Code::NoSuchKey => {
            BucketRules::load(context, &path.bucket).await?;
            Err(error)
        }
        found => found,
    }
}

/// The headers of an object, without its length.
fn headers(request: &S3Request, object: &Object) -> Result<HeaderMap, StorageError> {
    let details = object.details();
    let mut headers = HeaderMap::with_capacity(16);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(etag) = details.etag() {
        headers.insert(ETAG, header_value(etag)?);
    }
    let modified = details.last_modified().map(|time| time.unix_timestamp());
    if let Some(date) = modified.and_then(http_date) {
        headers.insert(LAST_MODIFIED, header_value(&date)?);
    }
    if let Some(cache_control) = details.cache_control() {
        headers.insert(CACHE_CONTROL, header_value(cache_control)?);
    }
    let content_type = details.content_type().unwrap_or("application/octet-stream");
    headers.insert(CONTENT_TYPE, header_value(content_type)?);
    StoredHeaders::from_metadata(object.metadata.as_ref()).add_to(&mut headers);
    add_user_metadata(&mut headers, object.user_metadata.as_ref());
    override_headers(request, &mut headers)?;
    add_browser_guards(request, &mut headers)?;
    Ok(headers)
}

/// Headers that the client overrides. Values that do not fit into a header are ignored.
fn override_headers(request: &S3Request, headers: &mut HeaderMap) -> Result<(), StorageError> {
    let texts = [
        ("response-content-type", CONTENT_TYPE),
        ("response-content-disposition", CONTENT_DISPOSITION),
        ("response-content-encoding", CONTENT_ENCODING),
        ("response-content-language", CONTENT_LANGUAGE),
        ("response-cache-control", CACHE_CONTROL),
    ];
    for (parameter, name) in texts {
        let value = request.query.non_empty(parameter);
        if let Some(value) = value.and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(name, value);
        }
    }
    if let Some(text) = request.query.non_empty("response-expires") {
        let date = httpdate::parse_http_date(text)
            .map_err(|_| StorageError::invalid_parameter("response-expires"))?;
        let date = httpdate::fmt_http_date(date);
        headers.insert(EXPIRES, header_value(&date)?);
    }
    Ok(())
}

/// A browser can follow a presigned URL: pages of users and their scripts must not run in our
/// origin.
fn add_browser_guards(request: &S3Request, headers: &mut HeaderMap) -> Result<(), StorageError> {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let content_type = String::from_utf8_lossy(content_type.unwrap_or_default()).into_owned();
    if can_run_script(&content_type) || safe_content_type(&content_type) != content_type {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    }
    if request.is_presigned {
        headers.insert(
            CONTENT_TYPE,
            header_value(safe_content_type(&content_type))?,
        );
    }
    Ok(())
}

/// Entries that do not fit into a header are counted in `x-amz-missing-meta`.
fn add_user_metadata(headers: &mut HeaderMap, metadata: Option<&Value>) {
    let mut missing = 0_u64;
    for (name, value) in metadata.and_then(Value::as_object).into_iter().flatten() {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let name = HeaderName::try_from(format!("x-amz-meta-{}", name.to_ascii_lowercase()));
        let value = HeaderValue::from_str(&text)
            .ok()
            .filter(|_| text.is_ascii());
        match (name, value) {
            (Ok(name), Some(value)) => drop(headers.insert(name, value)),
            _ => missing += 1,
        }
    }
    if missing > 0 {
        headers.insert("x-amz-missing-meta", HeaderValue::from(missing));
    }
}
