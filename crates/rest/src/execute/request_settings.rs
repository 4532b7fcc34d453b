//! Values of the settings `request.headers` and `request.cookies`.

use std::borrow::Cow;

use http::{HeaderMap, header};
use serde_json::{Map, Value};

pub(super) fn headers_as_json(headers: &HeaderMap) -> String {
    let mut json = Vec::with_capacity(1024);
    json.push(b'{');
    for name in headers.keys().filter(|name| *name != header::COOKIE) {
        // The last of repeated headers wins.
        let Some(value) = headers.get_all(name).iter().next_back() else {
            continue;
        };
        if json.len() > 1 {
            json.push(b',');
        }
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
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) & (byte != b'"') & (byte != b'\\');
    // A fold over all bytes is vectorised, so it is faster than stopping at the first.
    if text
        .iter()
        .fold(true, |plain, byte| plain & is_plain(*byte))
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
