//! Sending an object's bytes (storage contract §3.3).

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

use super::{Object, conditions::Validators, find, find_signed, range::Asked};
use crate::{
    error::StorageError,
    request::{Access, Context, Place, essence},
    signed_url::http_date,
};

/// What JavaScript's `encodeURIComponent` leaves as it is.
pub(crate) const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// How an answer may be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keeping {
    /// As the object says.
    Stored,
    /// Until a signed URL ends, in Unix seconds.
    Until(Option<i64>),
}

/// `GET /object/…`
pub(crate) async fn download(
    context: &Context,
    access: Access,
    place: &Place,
) -> Result<Response, StorageError> {
    let (object, keeping) = match access {
        Access::Signed => {
            let (object, grant) = find_signed(context, place).await?;
            (object, Keeping::Until(grant.expires_at))
        }
        _ => (find(context, access, place).await?, Keeping::Stored),
    };
    send(context, &object, keeping).await
}

/// The object's bytes, or as many of them as were asked for, or word that the client has them.
async fn send(
    context: &Context,
    object: &Object,
    keeping: Keeping,
) -> Result<Response, StorageError> {
    let request = context.headers();
    let facts = object.facts();
    let validators = Validators {
        etag: facts.etag(),
        last_modified: facts.last_modified(),
    };
    let mut headers = headers(context, object, keeping)?;
    if validators.is_fresh(request) {
        headers.remove(CONTENT_TYPE);
        // Of unknown length, lest somebody adds that it is 0: that would be the object's.
        let nothing = Body::from_stream(stream::empty::<Result<Bytes, Infallible>>());
        return Ok(respond(StatusCode::NOT_MODIFIED, headers, nothing));
    }
    if request.contains_key(IF_NONE_MATCH) && matches!(keeping, Keeping::Stored) {
        may_show_old_one(&mut headers)?;
    }
    let blob = object.blob().ok_or_else(StorageError::no_such_bytes)?;
    let size = match facts.size() {
        Some(size) => Some(size),
        None => context.blobs.size(&blob).await?,
    };
    let size = size.ok_or_else(StorageError::no_such_bytes)?;
    let range = context.header(RANGE.as_str());
    let asked = Asked::read(range.filter(|_| validators.allow_range(request)), size)?;
    let (status, bytes) = match asked {
        Asked::Everything => (StatusCode::OK, 0..size),
        Asked::Part(part) => {
            headers.insert(CONTENT_RANGE, value(&part.header(size))?);
            (StatusCode::PARTIAL_CONTENT, part.start..part.end + 1)
        }
    };
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.end - bytes.start));
    let body = context.blobs.read(&blob, bytes).await?;
    let body = body.ok_or_else(StorageError::no_such_bytes)?;
    Ok(respond(status, headers, body))
}

/// Everything about an object that headers say, but its length.
pub(crate) fn headers(
    context: &Context,
    object: &Object,
    keeping: Keeping,
) -> Result<HeaderMap, StorageError> {
    let facts = object.facts();
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let content_type = facts.content_type().unwrap_or("application/octet-stream");
    headers.insert(CONTENT_TYPE, value(shown_type(content_type))?);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if can_run_script(content_type) {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    }
    if let Some(etag) = facts.etag() {
        headers.insert(ETAG, value(etag)?);
    }
    if let Some(time) = facts.last_modified() {
        let date = http_date(time.unix_timestamp()).unwrap_or_default();
        headers.insert(LAST_MODIFIED, value(&date)?);
    }
    let robots = facts.robots_tag().unwrap_or("none");
    headers.insert(HeaderName::from_static("x-robots-tag"), value(robots)?);
    match keeping {
        Keeping::Stored => {
            let stored = facts.cache_control().unwrap_or("no-cache");
            headers.insert(CACHE_CONTROL, value(&cache_control(context, stored))?);
        }
        Keeping::Until(second) => {
            if let Some(date) = second.and_then(http_date) {
                headers.insert(EXPIRES, value(&date)?);
            }
        }
    }
    if let Some(name) = context.query().text("download")? {
        headers.insert(CONTENT_DISPOSITION, value(&disposition(&name))?);
    }
    Ok(headers)
}

fn cache_control(context: &Context, stored: &str) -> String {
    match context.config.s_maxage {
        seconds @ 1.. => format!("{stored}, s-maxage={seconds}"),
        _ => stored.to_owned(),
    }
}

/// Whoever asks whether the object has changed may show the old one while it looks.
fn may_show_old_one(headers: &mut HeaderMap) -> Result<(), StorageError> {
    if let Some(stored) = headers.get(CACHE_CONTROL) {
        let more = b", stale-while-revalidate=30".as_slice();
        let text = [stored.as_bytes(), more].concat();
        let text = HeaderValue::from_bytes(&text).map_err(StorageError::internal)?;
        headers.insert(CACHE_CONTROL, text);
    }
    Ok(())
}

/// Nobody's page is shown in our origin.
pub(crate) fn shown_type(content_type: &str) -> &str {
    match content_type.to_ascii_lowercase().contains("text/html") {
        true => "text/plain",
        false => content_type,
    }
}

/// Types other than HTML that browsers run scripts of.
pub(crate) fn can_run_script(content_type: &str) -> bool {
    let essence = essence(content_type).to_ascii_lowercase();
    essence.ends_with("/xml") || essence.ends_with("+xml")
}

fn disposition(name: &str) -> String {
    if name.is_empty() {
        return "attachment;".to_owned();
    }
    let name = utf8_percent_encode(name, COMPONENT);
    format!("attachment; filename={name}; filename*=UTF-8''{name}")
}

/// A header's value, one byte for each sign. Metadata that users wrote with SQL may hold what no
/// header can.
pub(crate) fn value(text: &str) -> Result<HeaderValue, StorageError> {
    let bad = || {
        let message = "Invalid character in response header";
        StorageError::invalid_request(message).labelled("invalid_header_char")
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
        assert_eq!(shown_type("text/html; charset=utf-8"), "text/plain");
        assert_eq!(shown_type("TEXT/HTML"), "text/plain");
        assert_eq!(shown_type("image/png"), "image/png");
        assert!(can_run_script("image/svg+xml"));
        assert!(can_run_script("application/xhtml+xml; charset=utf-8"));
        assert!(can_run_script("text/xml"));
        assert!(!can_run_script("image/png"));
    }

    #[test]
    fn a_header_has_one_byte_for_each_sign() {
        assert_eq!(value("caf\u{e9}").expect("Latin").as_bytes(), b"caf\xe9");
        for text in ["a\nb", "\u{7f}", "\u{100}", "\0"] {
            assert!(value(text).is_err(), "{text:?}");
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
