//! The settings `response.status` and `response.headers`, by which SQL can change the response
//! (rest contract §4.2).

use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value};

use super::ResponseBuilder;
use crate::RestError;

/// The settings win over status and headers of the response.
pub(super) fn apply(
    response: &mut ResponseBuilder,
    status: Option<&str>,
    headers: Option<&str>,
) -> Result<(), RestError> {
    if let Some(status) = status {
        response.status = parse_status(status).ok_or(RestError::ResponseStatus)?;
    }
    if let Some(headers) = headers {
        let headers = parse_headers(headers).ok_or(RestError::ResponseHeaders)?;
        for (name, _) in &headers {
            response.headers.remove(name);
        }
        for (name, value) in headers {
            response.headers.append(name, value);
        }
    }
    Ok(())
}

/// Leading digits, as in PostgREST.
fn parse_status(text: &str) -> Option<StatusCode> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    StatusCode::from_u16(text[..digits].parse().ok()?).ok()
}

/// An array of objects with one key and a string value each.
fn parse_headers(text: &str) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let objects: Vec<Map<String, Value>> = serde_json::from_str(text).ok()?;
    objects
        .iter()
        .map(|object| {
            let (name, value) = object.iter().next().filter(|_| object.len() == 1)?;
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            let value = HeaderValue::from_str(value.as_str()?).ok()?;
            Some((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number() {
        assert_eq!(parse_status("418"), StatusCode::from_u16(418).ok());
        assert_eq!(parse_status("205 Reset"), StatusCode::from_u16(205).ok());
        assert_eq!(parse_status("bad"), None);
        assert_eq!(parse_status(""), None);
    }

    #[test]
    fn headers_are_objects_with_one_text_each() {
        let two = parse_headers(r#"[{"Set-Cookie": "a=1"}, {"Set-Cookie": "b=2"}]"#);
        assert_eq!(two.map(|headers| headers.len()), Some(2));
        for bad in [
            "{}",
            "[1]",
            r#"[{"a": 1}]"#,
            r#"[{"a": "1", "b": "2"}]"#,
            "[{}]",
            "x",
        ] {
            assert_eq!(parse_headers(bad), None, "{bad}");
        }
    }
}
