//! The request's body (rest contract §2.3–§2.7).
//!
//! JSON is validated but not deserialized: the text goes to PostgreSQL unchanged. CSV and forms are
//! converted to JSON.

mod csv;
mod form;
mod json;

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::error::RestError;

use super::{Payload, media_type::MediaType};

/// What the body is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyUse {
    /// Rows of a relation.
    Rows,
    /// Arguments of a function.
    Arguments,
}

/// Parses a body. With the parameter `columns` the keys are known, and PostgreSQL validates the
/// JSON.
pub(super) fn parse(
    body: Bytes,
    content_type: &MediaType,
    columns: Option<&BTreeSet<String>>,
    body_use: BodyUse,
) -> Result<Payload, RestError> {
    match (content_type, body_use) {
        (MediaType::Json, _) => match columns {
            Some(columns) => Ok(json::unchecked(body, columns.clone())),
            None if body.is_empty() && body_use == BodyUse::Arguments => {
                json::checked(Bytes::from_static(b"{}"))
            }
            None => json::checked(body),
        },
        (MediaType::Csv, _) => csv::rows(&body),
        (MediaType::UrlEncoded, BodyUse::Arguments) => form::arguments(&body),
        (MediaType::UrlEncoded, BodyUse::Rows) => form::row(&body),
        (
            MediaType::TextPlain | MediaType::TextXml | MediaType::OctetStream,
            BodyUse::Arguments,
        ) => Ok(Payload::Raw(body)),
        (other, _) => Err(RestError::InvalidBody(format!(
            "Content-Type not acceptable: {}",
            other.mime()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &'static str, content_type: &str, body_use: BodyUse) -> Result<Payload, String> {
        let content_type = MediaType::parse(content_type);
        parse(
            Bytes::from_static(body.as_bytes()),
            &content_type,
            None,
            body_use,
        )
        .map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_body_is_no_arguments_but_no_rows_either() {
        let payload = read("", "application/json", BodyUse::Arguments);
        let expected = Payload::Json {
            text: Bytes::from_static(b"{}"),
            keys: BTreeSet::new(),
            is_object: true,
        };
        assert_eq!(payload, Ok(expected));
        let payload = read("", "application/json", BodyUse::Rows);
        assert_eq!(payload, Err("Empty or invalid json".to_owned()));
    }

    #[test]
    fn columns_leave_the_text_to_postgres() {
        let columns = BTreeSet::from(["a".to_owned()]);
        let check = |body: &'static str, is_object| {
            let text = Bytes::from_static(body.as_bytes());
            let payload = parse(
                text.clone(),
                &MediaType::Json,
                Some(&columns),
                BodyUse::Rows,
            );
            let keys = columns.clone();
            let expected = Payload::Json {
                text,
                keys,
                is_object,
            };
            assert_eq!(payload.expect("a payload"), expected);
        };
        check(r#"[{"a":1},{"b":2}]"#, false);
        check(r#" {"b":1}"#, true);
        check("nonsense", false);
    }

    #[test]
    fn raw_bodies_are_for_functions() {
        for content_type in ["text/plain", "text/xml", "application/octet-stream"] {
            let payload = read("<x/>", content_type, BodyUse::Arguments);
            assert_eq!(payload, Ok(Payload::Raw(Bytes::from_static(b"<x/>"))));
            let rejected = format!("Content-Type not acceptable: {content_type}");
            assert_eq!(read("<x/>", content_type, BodyUse::Rows), Err(rejected));
        }
    }

    #[test]
    fn other_types_are_rejected_by_their_name() {
        let check = |content_type, shown: &str| {
            let rejected = format!("Content-Type not acceptable: {shown}");
            assert_eq!(read("{}", content_type, BodyUse::Rows), Err(rejected));
        };
        check("image/png", "image/png");
        check("application/openapi+json", "application/openapi+json");
        check("", "");
        check("undefined", "undefined");
    }
}
