//! Request ids: a trusted proxy's, else a new one.

use http::{HeaderMap, HeaderName, HeaderValue};
use plinth_project::RequestId;
use uuid::Uuid;

/// Header of requests and responses.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

const MAX_LENGTH: usize = 128;

/// The id that a trusted proxy sent, if it is valid; else a new UUID v7.
pub(crate) fn assign(headers: &HeaderMap, is_trusted: bool) -> RequestId {
    let sent = headers.get(HEADER).filter(|_| is_trusted);
    let sent = sent.and_then(|value| value.to_str().ok());
    match sent.filter(|text| is_valid(text)) {
        Some(text) => RequestId(text.into()),
        None => {
            let mut buffer = Uuid::encode_buffer();
            RequestId((&*Uuid::now_v7().hyphenated().encode_lower(&mut buffer)).into())
        }
    }
}

/// The id as a header value. Ids consist of visible ASCII, so there always is one.
pub(crate) fn header_value(id: &RequestId) -> Option<HeaderValue> {
    HeaderValue::from_str(&id.0).ok()
}

fn is_valid(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(sent: &str, is_trusted: bool) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, sent.parse().expect("a header value"));
        assign(&headers, is_trusted).to_string()
    }

    #[test]
    fn a_trusted_proxys_id_is_used() {
        assert_eq!(assigned("edge-42", true), "edge-42");
    }

    #[test]
    fn untrusted_and_invalid_ids_are_replaced() {
        let long = "x".repeat(129);
        for (sent, is_trusted) in [
            ("edge-42", false),
            ("", true),
            ("a b", true),
            (&*long, true),
        ] {
            let id = Uuid::parse_str(&assigned(sent, is_trusted)).expect("a UUID");
            assert_eq!(id.get_version_num(), 7, "{sent}");
        }
    }
}
