//! Reading objects, and what is known of them.

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
    Request,
    preconditions::{self, OF_READING, Verdict},
    xml::Xml,
};
use crate::{
    buckets::BucketRules,
    error::{Code, StorageError},
    objects::{
        Asked, Object, Validators, can_run_script, find_as_caller, respond, shown_type,
        value as header_value,
    },
    request::{Context, Place, check_bucket, check_key},
    signed_url::http_date,
};

/// `GET /{bucket}/{key}`
pub(super) async fn get(request: &Request) -> Result<Response, StorageError> {
    let object = find(&request.context, &request.place()).await?;
    let facts = object.facts();
    let asked = request.context.headers();
    let mut headers = headers(request, &object)?;
    match OF_READING.judge(asked, facts) {
        Verdict::Go => {}
        Verdict::NotModified => {
            headers.remove(CONTENT_TYPE);
            return Ok(respond(StatusCode::NOT_MODIFIED, headers, Body::empty()));
        }
        Verdict::Failed => return Err(preconditions::failed()),
    }
    let (Some(blob), Some(size)) = (object.blob(), facts.size()) else {
        return Err(StorageError::no_such_bytes());
    };
    let validators = Validators {
        etag: facts.etag(),
        last_modified: facts.last_modified(),
    };
    let range = request.context.header(RANGE.as_str());
    let part = Asked::read(range.filter(|_| validators.allow_range(asked)), size)?;
    let (status, bytes) = match part {
        Asked::Everything => (StatusCode::OK, 0..size),
        Asked::Part(part) => {
            headers.insert(CONTENT_RANGE, header_value(&part.header(size))?);
            (StatusCode::PARTIAL_CONTENT, part.start..part.end + 1)
        }
    };
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.end - bytes.start));
    let body = request.context.blobs.read(&blob, bytes).await?;
    let body = body.ok_or_else(StorageError::no_such_bytes)?;
    Ok(respond(status, headers, body))
}

/// `HEAD /{bucket}/{key}`: the row alone answers.
pub(super) async fn head(request: &Request) -> Result<Response, StorageError> {
    let object = find(&request.context, &request.place()).await?;
    let mut headers = headers(request, &object)?;
    let status = match OF_READING.judge(request.context.headers(), object.facts()) {
        Verdict::Go => StatusCode::OK,
        Verdict::NotModified => StatusCode::NOT_MODIFIED,
        Verdict::Failed => return Err(preconditions::failed()),
    };
    if let Some(size) = object.facts().size().filter(|_| status == StatusCode::OK) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    }
    Ok(respond(status, headers, Body::empty()))
}

/// `GET /{bucket}/{key}?tagging`: nothing has tags.
pub(super) async fn tagging(request: &Request) -> Result<Response, StorageError> {
    find(&request.context, &request.place()).await?;
    let xml = Xml::document("Tagging", |xml| xml.element("TagSet", |_| {}));
    Ok(xml.into_response(StatusCode::OK))
}

/// An object that the caller's policies show.
pub(super) async fn find(context: &Context, place: &Place) -> Result<Object, StorageError> {
    check_bucket(&place.bucket)?;
    check_key(&place.key)?;
    match find_as_caller(context, place).await {
        Err(error) if error.code() == Code::NoSuchKey => {
            BucketRules::get(context, &place.bucket).await?;
            Err(error)
        }
        found => found,
    }
}

/// Everything about an object that headers say, but its length.
fn headers(request: &Request, object: &Object) -> Result<HeaderMap, StorageError> {
    let facts = object.facts();
    let mut headers = HeaderMap::with_capacity(16);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(etag) = facts.etag() {
        headers.insert(ETAG, header_value(etag)?);
    }
    let modified = facts.last_modified().map(|time| time.unix_timestamp());
    if let Some(date) = modified.and_then(http_date) {
        headers.insert(LAST_MODIFIED, header_value(&date)?);
    }
    if let Some(cache_control) = facts.cache_control() {
        headers.insert(CACHE_CONTROL, header_value(cache_control)?);
    }
    let content_type = facts.content_type().unwrap_or("application/octet-stream");
    headers.insert(CONTENT_TYPE, header_value(content_type)?);
    add_user_metadata(&mut headers, object.user_metadata.as_ref());
    override_headers(request, &mut headers)?;
    guard_browsers(request, &mut headers)?;
    Ok(headers)
}

/// What the client wants other headers to say. Values that no header can have are ignored.
fn override_headers(request: &Request, headers: &mut HeaderMap) -> Result<(), StorageError> {
    let texts = [
        ("response-content-type", CONTENT_TYPE),
        ("response-content-disposition", CONTENT_DISPOSITION),
        ("response-content-encoding", CONTENT_ENCODING),
        ("response-content-language", CONTENT_LANGUAGE),
        ("response-cache-control", CACHE_CONTROL),
    ];
    for (parameter, name) in texts {
        let value = request.query.filled(parameter);
        if let Some(value) = value.and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(name, value);
        }
    }
    if let Some(text) = request.query.filled("response-expires") {
        let date = httpdate::parse_http_date(text)
            .map_err(|_| StorageError::invalid_parameter("response-expires"))?;
        let date = httpdate::fmt_http_date(date);
        headers.insert(EXPIRES, header_value(&date)?);
    }
    Ok(())
}

/// A browser can follow a link. Nobody's page is shown in our origin, and no script runs in it.
fn guard_browsers(request: &Request, headers: &mut HeaderMap) -> Result<(), StorageError> {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let content_type = String::from_utf8_lossy(content_type.unwrap_or_default()).into_owned();
    if can_run_script(&content_type) || shown_type(&content_type) != content_type {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    }
    if request.is_link {
        headers.insert(CONTENT_TYPE, header_value(shown_type(&content_type))?);
    }
    Ok(())
}

/// Names and values that no header can have are counted instead.
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
