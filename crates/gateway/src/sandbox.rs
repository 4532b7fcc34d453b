//! A sandboxing `Content-Security-Policy` for documents written by users (design §7).
//!
//! They share the host of our own pages, whose session cookies scripts can read. In a sandbox they
//! are displayed, but run in an opaque origin.

use axum::response::Response;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use hyper::body::Body as _;

const POLICY: HeaderValue =
    HeaderValue::from_static("sandbox allow-scripts allow-forms allow-popups");

/// Adds the policy to every response that a browser may render as a document with scripts, in
/// addition to a policy that it already has, unless that allows nothing.
pub(crate) fn apply(response: &mut Response) {
    // Caches take headers over into the response that they have, whose policy must stay.
    if response.status() == StatusCode::NOT_MODIFIED {
        response.headers_mut().remove(CONTENT_SECURITY_POLICY);
        response.headers_mut().remove(CONTENT_TYPE);
        return;
    }
    let is_empty = response.body().size_hint().exact() == Some(0);
    let mut policies = response.headers().get_all(CONTENT_SECURITY_POLICY).iter();
    let is_sandboxed = policies.any(|policy| policy == "sandbox");
    if !is_empty && !is_sandboxed && !is_harmless(response.headers()) {
        response
            .headers_mut()
            .append(CONTENT_SECURITY_POLICY, POLICY);
    }
}

/// Whether exactly one content type is declared, of a kind without scripts. Of several types browsers
/// use the last, and without any they sniff.
fn is_harmless(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return false;
    };
    let Ok(kind) = kind.to_str() else {
        return false;
    };
    let essence = kind.split(';').next().unwrap_or_default();
    !kind.contains(',') && is_harmless_kind(&essence.trim().to_ascii_lowercase())
}

fn is_harmless_kind(essence: &str) -> bool {
    let Some((family, kind)) = essence.split_once('/') else {
        return false;
    };
    match family {
        "image" | "audio" | "video" | "font" => !kind.ends_with("xml") && kind != "*",
        "text" => matches!(
            kind,
            "plain" | "css" | "csv" | "event-stream" | "javascript" | "markdown"
        ),
        "application" => {
            kind.ends_with("+json")
                || matches!(
                    kind,
                    "json"
                        | "javascript"
                        | "octet-stream"
                        | "pdf"
                        | "wasm"
                        | "x-ndjson"
                        | "zip"
                        | "gzip"
                )
        }
        _ => essence == "multipart/form-data",
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        body::Body,
        response::{Html, IntoResponse},
    };

    use super::*;

    fn is_sandboxed(mut response: Response) -> bool {
        apply(&mut response);
        response.headers().contains_key(CONTENT_SECURITY_POLICY)
    }

    #[test]
    fn documents_with_scripts_are_sandboxed_beside_their_own_policy() {
        let own = [(CONTENT_SECURITY_POLICY, "default-src 'self'")];
        let mut response = (own, Html("<p>hi</p>")).into_response();

        apply(&mut response);

        let policies: Vec<_> = response
            .headers()
            .get_all(CONTENT_SECURITY_POLICY)
            .iter()
            .collect();
        assert_eq!(
            policies,
            [HeaderValue::from_static("default-src 'self'"), POLICY]
        );
    }

    #[test]
    fn a_stricter_sandbox_is_enough() {
        let own = [(CONTENT_SECURITY_POLICY, "sandbox")];
        let mut response = (own, Html("<p>hi</p>")).into_response();

        apply(&mut response);

        let policies = response.headers().get_all(CONTENT_SECURITY_POLICY).iter();
        assert_eq!(policies.count(), 1);
    }

    #[test]
    fn the_policy_of_a_cached_response_stays() {
        for body in [
            Body::empty(),
            Body::from_stream(futures_util::stream::empty::<Result<&str, std::io::Error>>()),
        ] {
            let own = [
                (CONTENT_SECURITY_POLICY, "default-src *"),
                (CONTENT_TYPE, "image/png"),
            ];
            let mut response = (StatusCode::NOT_MODIFIED, own, body).into_response();

            apply(&mut response);

            assert_eq!(response.headers().get(CONTENT_SECURITY_POLICY), None);
            assert_eq!(response.headers().get(CONTENT_TYPE), None);
        }
    }

    #[test]
    fn what_may_be_a_document_is_sandboxed_and_nothing_else() {
        for (content_type, expected) in [
            ("application/json", false),
            ("application/vnd.pgrst.object+json; nulls=stripped", false),
            ("Text/Plain; charset=utf-8", false),
            ("text/event-stream", false),
            ("image/png", false),
            ("application/pdf", false),
            ("image/svg+xml", true),
            ("TEXT/HTML; charset=x", true),
            ("text/plain, text/html", true),
            ("text/html;x=\"\u{e9}\"", true),
            ("application/xhtml+xml", true),
            ("multipart/x-mixed-replace; boundary=b", true),
            ("*/*", true),
            ("image/*", true),
            ("application/unknown", true),
            ("html", true),
            ("", true),
        ] {
            let value = HeaderValue::from_bytes(content_type.as_bytes()).unwrap();
            let response = ([(CONTENT_TYPE, value)], "<script>").into_response();
            assert_eq!(is_sandboxed(response), expected, "{content_type}");
        }
    }

    #[test]
    fn what_browsers_must_sniff_is_sandboxed() {
        assert!(is_sandboxed(Response::new(Body::from("<script>"))));

        let mut twice = Response::new(Body::from("<script>"));
        for kind in ["text/plain", "text/html"] {
            let kind = HeaderValue::from_static(kind);
            twice.headers_mut().append(CONTENT_TYPE, kind);
        }
        assert!(is_sandboxed(twice));

        assert!(!is_sandboxed(Response::new(Body::empty())));
    }
}
