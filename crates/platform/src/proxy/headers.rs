//! The headers and the query that a service gets.

use http::{
    HeaderMap, HeaderName, Uri,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, ORIGIN,
        PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, REFERER, TE, TRANSFER_ENCODING, UPGRADE,
    },
    uri::PathAndQuery,
};
use url::form_urlencoded;

/// Never passed on: what belongs to the connection, credentials of the operator, and what says from
/// which of our own pages the request came.
static REMOVED: [HeaderName; 17] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    EXPECT,
    AUTHORIZATION,
    COOKIE,
    ORIGIN,
    REFERER,
    HeaderName::from_static("apikey"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("sb-api-key"),
    HeaderName::from_static("x-plinth-as"),
];

/// Whether the request asks for a websocket.
fn is_websocket(headers: &HeaderMap) -> bool {
    let protocol = headers.get(UPGRADE);
    protocol.is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Removes what must not reach a service. The upgrade to a websocket stays.
pub(crate) fn clean(headers: &mut HeaderMap) {
    let upgrade = headers
        .get(UPGRADE)
        .cloned()
        .filter(|_| is_websocket(headers));
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !is_protected(name))
        .collect();
    for name in REMOVED.iter().chain(&named) {
        headers.remove(name);
    }
    if let Some(protocol) = upgrade {
        headers.insert(UPGRADE, protocol);
        headers.insert(CONNECTION, http::HeaderValue::from_static("upgrade"));
    }
}

/// Headers of the edge and of the message itself, which a client must not remove by naming them in
/// `connection`.
fn is_protected(name: &HeaderName) -> bool {
    let name_text = name.as_str();
    name == HOST
        || name == CONTENT_LENGTH
        || name_text == "x-request-id"
        || name_text.starts_with("x-forwarded-")
        || name_text.starts_with("sec-websocket-")
}

/// The first value of a parameter.
pub(crate) fn query_value(uri: &Uri, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    let found = pairs.find(|(own, _)| own == name);
    found.map(|(_, value)| value.into_owned())
}

/// The target with this path, and without parameters of these names; the others stay byte for byte.
pub(crate) fn without_query_values(path: &str, query: Option<&str>, names: &[&str]) -> String {
    let is_kept = |pair: &&str| {
        let mut parsed = form_urlencoded::parse(pair.as_bytes());
        parsed
            .next()
            .is_none_or(|(name, _)| !names.contains(&&*name))
    };
    let kept: Vec<&str> = query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .filter(is_kept)
        .collect();
    let target = match kept.join("&") {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    };
    // Two slashes at the beginning would be read as a host by whoever parses it as a reference.
    debug_assert!(PathAndQuery::try_from(target.as_str()).is_ok());
    target
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn cleaned(headers: &[(&'static str, &'static str)]) -> Vec<(String, String)> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        clean(&mut map);
        let mut left: Vec<_> = map
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().expect("text").to_owned()))
            .collect();
        left.sort();
        left
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn credentials_and_the_connection_stay_behind() {
        let left = cleaned(&[
            ("authorization", "Bearer sbp_x"),
            ("cookie", "sb-platform-auth-token=x"),
            ("cookie", "other=y"),
            ("apikey", "k"),
            ("x-api-key", "k"),
            ("sb-api-key", "k"),
            ("proxy-authorization", "Basic x"),
            ("x-plinth-as", "anon"),
            ("origin", "https://console"),
            ("referer", "https://console/secret"),
            (
                "connection",
                "close, X-Secret, content-length, x-forwarded-for, host",
            ),
            ("x-secret", "named as hop-by-hop"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("content-length", "3"),
            ("host", "a.example"),
            ("x-forwarded-for", "192.0.2.1"),
            ("prefer", "return=representation"),
            ("tus-resumable", "1.0.0"),
        ]);

        let expected = pairs(&[
            ("content-length", "3"),
            ("host", "a.example"),
            ("prefer", "return=representation"),
            ("tus-resumable", "1.0.0"),
            ("x-forwarded-for", "192.0.2.1"),
        ]);
        assert_eq!(left, expected);
    }

    #[test]
    fn a_websocket_is_asked_for_anew() {
        let left = cleaned(&[
            ("connection", "keep-alive, Upgrade, sec-websocket-key"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-key", "k"),
            ("authorization", "Bearer x"),
        ]);

        let expected = pairs(&[
            ("connection", "upgrade"),
            ("sec-websocket-key", "k"),
            ("upgrade", "WebSocket"),
        ]);
        assert_eq!(left, expected);
    }

    #[test]
    fn parameters_are_removed_in_any_spelling() {
        let check = |query, expected: &str| {
            let names = ["apikey", "x-plinth-as"];
            assert_eq!(without_query_values("/f", query, &names), expected);
        };
        check(None, "/f");
        check(Some("apikey=k"), "/f");
        check(Some("a=%2F&%61pikey=k&b&x-plinth-as=anon"), "/f?a=%2F&b");
        check(Some("my_apikey=x&select=*"), "/f?my_apikey=x&select=*");
    }
}
