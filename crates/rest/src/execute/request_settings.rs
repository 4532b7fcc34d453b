//! Values of the settings `request.headers` and `request.cookies`.

use std::borrow::Cow;

use http::{HeaderMap, header};
use serde_json::{Map, Value};

pub(super) fn headers_as_json(headers: &HeaderMap) -> String {
    let mut json = Vec::with_capacity(1024);
    json.push(b'{');
    // All values of a name stand together; the last of them wins.
    let mut headers = headers.iter().peekable();
    while let Some((name, value)) = headers.next() {
        let is_repeated = headers.peek().is_some_and(|(next, _)| *next == name);
        if is_repeated || *name == header::COOKIE {
            continue;
        }
        if json.len() > 1 {
            json.push(b',');
        }
        // In HTTP/2 a name may have a quote.
        push_json(&mut json, name.as_str().as_bytes());
        json.push(b':');
        push_json(&mut json, value.as_bytes());
    }
    json.push(b'}');
    // `push_json` writes UTF-8 only.
    String::from_utf8(json).unwrap_or_default()
}

/// Writes a JSON string; hardly any header needs escapes.
fn push_json(json: &mut Vec<u8>, text: &[u8]) {
    let needs_escape = |byte: u8| {
        u8::from(!(0x20..0x7f).contains(&byte)) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    };
    // A fold of bytes over all bytes is vectorised, so it is faster than stopping at the first.
    if text
        .iter()
        .fold(0, |found, byte| found | needs_escape(*byte))
        == 0
    {
        json.push(b'"');
        json.extend_from_slice(text);
        json.push(b'"');
    } else {
        let text = String::from_utf8_lossy(text);
        json.extend_from_slice(Value::from(text).to_string().as_bytes());
    }
}

pub(super) fn cookies_as_json(headers: &HeaderMap) -> Cow<'static, str> {
    if !headers.contains_key(header::COOKIE) {
        return Cow::Borrowed("{}");
    }
    let mut object = Map::new();
    for header in headers.get_all(header::COOKIE) {
        let text = String::from_utf8_lossy(header.as_bytes());
        for pair in text.split(';') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = name.trim();
            if !name.is_empty() {
                object.insert(name.to_owned(), Value::String(value.trim().to_owned()));
            }
        }
    }
    Value::Object(object).to_string().into()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(list: &[(&'static str, &'static [u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            let value = HeaderValue::from_bytes(value).expect("a header value");
            headers.append(*name, value);
        }
        headers
    }

    #[test]
    fn headers_are_an_object_with_the_last_of_repeated_ones() {
        let headers = headers(&[
            ("accept", b"*/*"),
            ("x-tag", b"one"),
            ("cookie", b"a=1"),
            ("x-tag", b"two"),
            ("cookie", b"b=2"),
            ("host", b"localhost"),
        ]);

        let json = headers_as_json(&headers);

        let expected = serde_json::json!({ "accept": "*/*", "x-tag": "two", "host": "localhost" });
        assert_eq!(serde_json::from_str::<Value>(&json).ok(), Some(expected));
        assert_eq!(json.matches("x-tag").count(), 1);
        assert_eq!(headers_as_json(&HeaderMap::new()), "{}");
    }

    #[test]
    fn every_byte_that_a_header_may_have_is_valid_json() {
        for byte in (0x20..=0xff_u8).filter(|byte| *byte != 0x7f) {
            let bytes: &'static [u8] = vec![b'a', byte, b'b'].leak();

            let json = headers_as_json(&headers(&[("x-any", bytes)]));

            let parsed: Value = serde_json::from_str(&json).expect("JSON");
            assert_eq!(parsed["x-any"], *String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn every_name_that_a_header_may_have_in_http_2_is_valid_json() {
        let mut seen_quote = false;
        for byte in 0..=0xff_u8 {
            let Ok(name) = HeaderName::from_lowercase(&[b'a', byte, b'b']) else {
                continue;
            };
            seen_quote |= byte == b'"';
            let mut headers = HeaderMap::new();
            headers.insert(name.clone(), HeaderValue::from_static("x"));

            let json = headers_as_json(&headers);

            let parsed: Value = serde_json::from_str(&json).expect("JSON");
            assert_eq!(parsed[name.as_str()], "x");
        }
        assert!(seen_quote, "the reason for escaping names");
    }
}
