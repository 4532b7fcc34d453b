//! CSRF protection: whether a change comes from this application (A32).
//!
//! Browsers attach cookies to every request, whichever page caused it. So a cookie-authenticated change must
//! also come from an allowed origin, according to headers that browsers set and scripts cannot; no body
//! is read and forms need no token.

use http::{HeaderMap, Method, header};

use crate::origin::Origin;

/// How a cookie-authenticated change from another origin is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsrfPolicy {
    /// Rejected with 403 `csrf_rejected`.
    #[default]
    Enforce,
    /// Accepted. Only where another layer makes this check.
    Off,
}

/// Whether a request may change something. WebSocket upgrades count: their messages are unseen.
pub(crate) fn may_change_state(method: &Method, headers: &HeaderMap) -> bool {
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE].contains(method);
    !is_safe || headers.contains_key(header::UPGRADE)
}

/// Whether the browser says that the request comes from our own or an allowed origin.
///
/// Same-site is not enough: a sub-domain may belong to another party.
pub(crate) fn is_allowed_origin(
    headers: &HeaderMap,
    own: Option<&Origin>,
    allowed: &[Origin],
) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if matches!(text("sec-fetch-site"), Some("same-origin" | "none")) {
        return true;
    }
    let source = match headers.get(header::ORIGIN) {
        Some(origin) => origin.to_str().ok(),
        None => text("referer"),
    };
    let source = source.and_then(Origin::of);
    source.is_some_and(|source| own == Some(&source) || allowed.contains(&source))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        pairs.iter().map(pair).collect()
    }

    fn check(pairs: &[(&'static str, &'static str)], expected: bool) {
        let own = Origin::of("https://app.example.com").unwrap();
        let allowed = [Origin::of("https://admin.example.com:8443").unwrap()];
        let found = is_allowed_origin(&headers(pairs), Some(&own), &allowed);
        assert_eq!(found, expected, "{pairs:?}");
    }

    #[test]
    fn the_browsers_own_word_is_enough() {
        check(&[("sec-fetch-site", "same-origin")], true);
        check(&[("sec-fetch-site", "none")], true);
        check(&[("sec-fetch-site", "same-site")], false);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(&[("sec-fetch-site", "Same-Origin")], false);
    }

    #[test]
    fn otherwise_the_origin_decides() {
        check(&[("origin", "https://app.example.com")], true);
        check(&[("origin", "https://admin.example.com:8443")], true);
        check(
            &[
                ("sec-fetch-site", "same-site"),
                ("origin", "https://admin.example.com:8443"),
            ],
            true,
        );
        check(&[("origin", "https://admin.example.com")], false);
        check(&[("origin", "http://app.example.com")], false);
        check(&[("origin", "https://app.example.com.evil.example")], false);
        check(&[("origin", "null")], false);
        check(&[], false);
    }

    #[test]
    fn the_referer_counts_only_without_an_origin() {
        check(&[("referer", "https://app.example.com/form?x=1")], true);
        check(
            &[("referer", "https://evil.example/https://app.example.com/")],
            false,
        );
        check(
            &[("origin", "null"), ("referer", "https://app.example.com/")],
            false,
        );
    }

    #[test]
    fn without_a_known_origin_only_the_browsers_word_counts() {
        let found = |pairs| is_allowed_origin(&headers(pairs), None, &[]);

        assert!(found(&[("sec-fetch-site", "same-origin")]));
        assert!(!found(&[
            ("origin", "https://app.example.com"),
            ("host", "app.example.com")
        ]));
    }

    #[test]
    fn safe_methods_are_those_that_change_nothing() {
        for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE] {
            assert!(!may_change_state(&method, &HeaderMap::new()), "{method}");
        }
        for method in [
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::CONNECT,
        ] {
            assert!(may_change_state(&method, &HeaderMap::new()), "{method}");
        }
        assert!(may_change_state(
            &Method::GET,
            &headers(&[("upgrade", "websocket")])
        ));
    }
}
