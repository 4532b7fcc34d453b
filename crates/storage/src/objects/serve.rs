//! Downloads (storage contract §3.3).

use std::convert::Infallible;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
        CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH, LAST_MODIFIED, RANGE,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    Object, StoredHeaders, conditions::Validators, find, find_signed, range::RequestedRange,
};
use crate::{
    error::StorageError,
    request::{Access, ObjectPath, RequestContext, essence},
    signed_url::http_date,
};

/// The characters that JavaScript's `encodeURIComponent` escapes.
pub(crate) const URI_COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// How long a response may be cached.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CachePolicy {
    /// As the metadata of the object says.
    Stored,
    /// Until a signed URL expires, in Unix seconds.
    Until(Option<i64>),
}

/// `GET /object/…`
pub(crate) async fn download(
    context: &RequestContext,
    access: Access,
    path: &ObjectPath,
) -> Result<Response, StorageError> {
    let (object, cache_policy) = match access {
        Access::Signed => {
            let (object, grant) = find_signed(context, path).await?;
            (object, CachePolicy::Until(grant.expires_at))
        }
        _ => (find(context, access, path).await?, CachePolicy::Stored),
    };
    send_object(context, &object, cache_policy).await
}

/// The object, the requested range of it, or 304.
async fn send_object(
    context: &RequestContext,
    object: &Object,
    cache_policy: CachePolicy,
) -> Result<Response, StorageError> {
    let request = context.headers();
    let details = object.details();
    let validators = Validators {
        etag: details.etag(),
        last_modified: details.last_modified(),
    };
    let mut headers = object_headers(context, object, cache_policy)?;
    if validators.is_fresh(request) {
        headers.remove(CONTENT_TYPE);
        // Of unknown length, so that no layer adds `Content-Length: 0`: that would be the object's.
        let nothing = Body::from_stream(stream::empty::<Result<Bytes, Infallible>>());
        return Ok(respond(StatusCode::NOT_MODIFIED, headers, nothing));
    }
    if request.contains_key(IF_NONE_MATCH) && matches!(cache_policy, CachePolicy::Stored) {
        allow_stale_while_revalidate(&mut headers)?;
    }
    let blob = object.blob().ok_or_else(StorageError::missing_blob)?;
    let size = match details.size() {
        Some(size) => Some(size),
        None => context.blobs.size(&blob).await?,
    };
    let size = size.ok_or_else(StorageError::missing_blob)?;
    let range = context.header(RANGE.as_str());
    let range = RequestedRange::parse(range.filter(|_| validators.allow_range(request)), size)?;
    let (status, bytes) = match range {
        RequestedRange::Whole => (StatusCode::OK, 0..size),
        RequestedRange::Part(part) => {
            headers.insert(CONTENT_RANGE, header_value(&part.header(size))?);
            (StatusCode::PARTIAL_CONTENT, part.start..part.end + 1)
        }
    };
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.end - bytes.start));
    let body = context.blobs.read(&blob, bytes).await?;
    let body = body.ok_or_else(StorageError::missing_blob)?;
    Ok(respond(status, headers, body))
}

/// The headers of an object, without its length.
pub(crate) fn object_headers(
    context: &RequestContext,
    object: &Object,
    cache_policy: CachePolicy,
) -> Result<HeaderMap, StorageError> {
    let details = object.details();
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let content_type = details.content_type().unwrap_or("application/octet-stream");
    headers.insert(CONTENT_TYPE, header_value(safe_content_type(content_type))?);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if can_run_script(content_type) {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    }
    if let Some(etag) = details.etag() {
        headers.insert(ETAG, header_value(etag)?);
    }
    if let Some(time) = details.last_modified() {
        let date = http_date(time.unix_timestamp()).unwrap_or_default();
        headers.insert(LAST_MODIFIED, header_value(&date)?);
    }
    let robots = details.robots_tag().unwrap_or("none");
    headers.insert(
        HeaderName::from_static("x-robots-tag"),
        header_value(robots)?,
    );
    match cache_policy {
        CachePolicy::Stored => {
            let stored = details.cache_control().unwrap_or("no-cache");
            headers.insert(
                CACHE_CONTROL,
                header_value(&cache_control(context, stored))?,
            );
        }
        CachePolicy::Until(second) => {
            if let Some(date) = second.and_then(http_date) {
                headers.insert(EXPIRES, header_value(&date)?);
            }
        }
    }
    if let Some(name) = context.query().text("download")? {
        headers.insert(CONTENT_DISPOSITION, header_value(&disposition(&name))?);
    }
    StoredHeaders::from_metadata(object.metadata.as_ref()).add_to(&mut headers);
    Ok(headers)
}

fn cache_control(context: &RequestContext, stored: &str) -> String {
    match context.config.s_maxage {
        seconds @ 1.. => format!("{stored}, s-maxage={seconds}"),
        _ => stored.to_owned(),
    }
}

/// A client that revalidates may use its cached copy meanwhile.
fn allow_stale_while_revalidate(headers: &mut HeaderMap) -> Result<(), StorageError> {
    if let Some(stored) = headers.get(CACHE_CONTROL) {
        let more = b", stale-while-revalidate=30".as_slice();
        let text = [stored.as_bytes(), more].concat();
        let text = HeaderValue::from_bytes(&text).map_err(StorageError::internal)?;
        headers.insert(CACHE_CONTROL, text);
    }
    Ok(())
}

/// HTML is served as text: pages of users must not run in our origin.
pub(crate) fn safe_content_type(content_type: &str) -> &str {
    if content_type.to_ascii_lowercase().contains("text/html") {
        "text/plain"
    } else {
        content_type
    }
}

/// Types other than HTML in which browsers run scripts.
pub(crate) fn can_run_script(content_type: &str) -> bool {
    let essence = essence(content_type).to_ascii_lowercase();
    essence.ends_with("/xml") || essence.ends_with("+xml")
}

fn disposition(name: &str) -> String {
    if name.is_empty() {
        return "attachment;".to_owned();
    }
    let name = utf8_percent_encode(name, URI_COMPONENT);
    format!("attachment; filename={name}; filename*=UTF-8''{name}")
}

/// A header value in Latin-1. Metadata that users wrote with SQL may hold what a header cannot.
pub(crate) fn header_value(text: &str) -> Result<HeaderValue, StorageError> {
    let bad = || {
        let message = "Invalid character in response header";
        StorageError::invalid_request(message).with_label("invalid_header_char")
    };
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    HeaderValue::from_bytes(&bytes.map_err(|_| bad())?).map_err(|_| bad())
}

pub(crate) fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_shown_as_text_and_xml_in_a_sandbox() {
        assert_eq!(safe_content_type("text/html; charset=utf-8"), "text/plain");
        assert_eq!(safe_content_type("TEXT/HTML"), "text/plain");
        assert_eq!(safe_content_type("image/png"), "image/png");
        assert!(can_run_script("image/svg+xml"));
        assert!(can_run_script("application/xhtml+xml; charset=utf-8"));
        assert!(can_run_script("text/xml"));
        assert!(!can_run_script("image/png"));
    }

    #[test]
    fn a_header_has_one_byte_for_each_character() {
        assert_eq!(
            header_value("caf\u{e9}").expect("Latin").as_bytes(),
            b"caf\xe9"
        );
        for text in ["a\nb", "\u{7f}", "\u{100}", "\0"] {
            assert!(header_value(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_download_is_named_as_a_browser_expects() {
        assert_eq!(disposition(""), "attachment;");
        assert_eq!(
            disposition("my file.txt"),
            "attachment; filename=my%20file.txt; filename*=UTF-8''my%20file.txt"
        );
        assert_eq!(
            disposition("a\r\nSet-Cookie: x"),
            "attachment; filename=a%0D%0ASet-Cookie%3A%20x; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x"
        );
    }
}
