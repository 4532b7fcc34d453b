//! `application/x-www-form-urlencoded` bodies.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{
    error::RestError,
    request::{
        Payload,
        query::pairs::{Decoded, into_text, pairs},
    },
};

/// As arguments of a function, with repeats.
pub(super) fn arguments(body: &[u8]) -> Result<Payload, RestError> {
    fields(body).collect::<Result<_, _>>().map(Payload::Form)
}

/// As one row of strings. The last value of a repeated key wins.
pub(super) fn row(body: &[u8]) -> Result<Payload, RestError> {
    let mut row = Map::new();
    for field in fields(body) {
        let (key, value) = field?;
        row.insert(key, Value::String(value));
    }
    let keys = row.keys().cloned().collect();
    let text = Value::Object(row).to_string();
    Ok(Payload::Json {
        text: Bytes::from(text),
        keys,
        is_object: true,
    })
}

fn fields(body: &[u8]) -> impl Iterator<Item = Result<(String, String), RestError>> {
    let body = body.strip_prefix(b"?").unwrap_or(body);
    pairs(body).map(|(key, value)| Ok((text(key)?, text(value.unwrap_or_default())?)))
}

fn text(bytes: Decoded<'_>) -> Result<String, RestError> {
    match into_text(bytes) {
        Some(text) => Ok(text.into_owned()),
        None => Err(RestError::InvalidBody("Invalid UTF-8 in form".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_order_and_repeats() {
        let check = |body: &str, expected: &[(&str, &str)]| {
            let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
            let expected = expected.iter().map(owned).collect();
            let found = arguments(body.as_bytes()).expect("a form");
            assert_eq!(found, Payload::Form(expected), "{body}");
        };
        check("", &[]);
        check("b=2&a=1&b=3", &[("b", "2"), ("a", "1"), ("b", "3")]);
        check("a=x+y%26&c", &[("a", "x y&"), ("c", "")]);
    }

    #[test]
    fn a_row_has_each_key_once_with_its_last_value() {
        let check = |body: &str, expected: &str| {
            let found = row(body.as_bytes()).expect("a form");
            match found {
                Payload::Json {
                    text,
                    is_object: true,
                    ..
                } => assert_eq!(text, expected),
                other => panic!("{other:?}"),
            }
        };
        check("", "{}");
        check("a=1&a=2", r#"{"a":"2"}"#);
        check("a=%22&b", r#"{"a":"\"","b":""}"#);
    }

    #[test]
    fn bytes_that_are_no_text_are_rejected() {
        assert!(row(b"a=%ff").is_err());
        assert!(arguments(b"%ff=1").is_err());
    }
}
