//! Names of requests: a trusted proxy's, else our own.

use http::{HeaderMap, HeaderName, HeaderValue};
use plinth_project::RequestId;
use uuid::Uuid;

/// Where a request's name travels, both ways.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

const MAX_LENGTH: usize = 128;

/// The name that a trusted proxy gave, if it is a sane one; else a new one. They sort by time.
pub(crate) fn name(headers: &HeaderMap, is_trusted: bool) -> RequestId {
    let given = headers.get(HEADER).filter(|_| is_trusted);
    match given
        .and_then(|value| value.to_str().ok())
        .filter(|text| is_sane(text))
    {
        Some(text) => RequestId(text.into()),
        None => {
            let mut buffer = Uuid::encode_buffer();
            RequestId((&*Uuid::now_v7().hyphenated().encode_lower(&mut buffer)).into())
        }
    }
}

/// The name as a header value. Names consist of visible ASCII, so there always is one.
pub(crate) fn header_value(id: &RequestId) -> Option<HeaderValue> {
    HeaderValue::from_str(&id.0).ok()
}

fn is_sane(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(given: &str, is_trusted: bool) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, given.parse().expect("a header value"));
        name(&headers, is_trusted).to_string()
    }

    #[test]
    fn a_trusted_proxys_name_is_taken() {
        assert_eq!(named("edge-42", true), "edge-42");
    }

    #[test]
    fn strangers_and_odd_names_get_a_name_of_ours() {
        let long = "x".repeat(129);
        for (given, is_trusted) in [
            ("edge-42", false),
            ("", true),
            ("a b", true),
            (&*long, true),
        ] {
            let name = named(given, is_trusted);
            assert_eq!(
                Uuid::parse_str(&name).expect("a UUID").get_version_num(),
                7,
                "{given}"
            );
        }
    }
}
