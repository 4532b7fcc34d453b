//! The headers of requests to a worker, and of its responses: hop-by-hop headers are removed, forwarding
//! headers are set.

use axum::extract::Request;
use http::{
    HeaderMap, HeaderName, HeaderValue, Uri, Version,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
    },
    uri::Authority,
};
use plinth_project::PublicUrl;
use url::Url;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
const APIKEY: HeaderName = HeaderName::from_static("apikey");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Reserved for the platform, which does not set it yet.
const OWN_KEY: HeaderName = HeaderName::from_static("sb-api-key");

/// Turns the request into the one that the worker gets.
pub(super) fn prepare(request: &mut Request, is_upgrade: bool) {
    let target = request.uri().path_and_query().cloned();
    let uri = std::mem::replace(
        request.uri_mut(),
        target.map_or_else(Uri::default, Uri::from),
    );
    *request.version_mut() = Version::HTTP_11;
    // Extensions are for this process alone.
    let extensions = std::mem::take(request.extensions_mut());
    let headers = request.headers_mut();
    let protocol = headers.get(UPGRADE).cloned().filter(|_| is_upgrade);
    remove_hop_by_hop(headers);
    for name in [EXPECT, OWN_KEY] {
        headers.remove(name);
    }
    if let Some(protocol) = protocol {
        headers.insert(UPGRADE, protocol);
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    }
    // HTTP/2 has no host header, and a proxy in front may have sent its own.
    if let Some(host) = headers.get(FORWARDED_HOST).cloned() {
        headers.insert(HOST, host);
    } else if let Some(host) = uri.authority()
        && let Ok(host) = HeaderValue::from_str(host.as_str())
    {
        headers.insert(HOST, host);
    }
    let public = extensions.get::<PublicUrl>();
    if let Some(public) = public.filter(|public| public.is_configured()) {
        set_public_url(headers, public);
    }
    remove_forwarded_port(headers);
}

/// The port has a header of its own; with both, programs that join them would have it twice.
fn remove_forwarded_port(headers: &mut HeaderMap) {
    let host = headers
        .get(FORWARDED_HOST)
        .and_then(|host| host.to_str().ok());
    let authority = host.and_then(|host| host.parse::<Authority>().ok());
    let host = authority.and_then(|authority| HeaderValue::from_str(authority.host()).ok());
    if let Some(host) = host {
        headers.insert(FORWARDED_HOST, host);
    }
}

/// Where a public URL is configured, functions see it, whatever proxies have sent.
fn set_public_url(headers: &mut HeaderMap, public: &PublicUrl) {
    let Ok(url) = Url::parse(public.as_str()) else {
        return;
    };
    let port = url.port().map(|port| format!(":{port}"));
    let host = format!(
        "{}{}",
        url.host_str().unwrap_or_default(),
        port.unwrap_or_default()
    );
    let port = url.port_or_known_default().unwrap_or(80);
    for (name, text) in [
        (HOST, host.as_str()),
        (FORWARDED_HOST, &host),
        (FORWARDED_PROTO, url.scheme()),
        (FORWARDED_PORT, &port.to_string()),
    ] {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    }
}

/// Headers that a client must not remove by naming them in `connection`.
fn is_protected(name: &HeaderName) -> bool {
    let own = [HOST, AUTHORIZATION, CONTENT_LENGTH, APIKEY, REQUEST_ID];
    name.as_str().starts_with("x-forwarded-") || own.contains(name)
}

/// Removes hop-by-hop headers. Trailers pass with the body, and so does the header that announces them.
pub(super) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !is_protected(name))
        .collect();
    let always = [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in always.into_iter().chain(named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(uri: &str, headers: &[(&'static str, &'static str)]) -> Request {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn what_belongs_to_the_clients_connection_stays_there() {
        let mut out = request(
            "https://api.example/tasks/7?x=%2F",
            &[
                (
                    "connection",
                    "close, x-hop, apikey, Authorization, X-Forwarded-Host, host",
                ),
                ("x-hop", "1"),
                ("transfer-encoding", "chunked"),
                ("sb-api-key", "forged"),
                ("expect", "100-continue"),
                ("authorization", "Bearer t"),
                ("apikey", "k"),
                ("x-forwarded-host", "api.example"),
            ],
        );

        prepare(&mut out, false);

        assert_eq!(out.uri(), "/tasks/7?x=%2F");
        let mut names: Vec<_> = out.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["apikey", "authorization", "host", "x-forwarded-host"]
        );
        assert_eq!(out.headers()[HOST], "api.example");
    }

    #[test]
    fn the_configured_url_is_reported_whatever_host_was_called() {
        let headers = [
            ("host", "127.0.0.1:54321"),
            ("x-forwarded-host", "127.0.0.1:54321"),
            ("x-forwarded-proto", "http"),
        ];
        let headers_with = |public: PublicUrl| {
            let mut out = request("/hello", &headers);
            out.extensions_mut().insert(public);
            prepare(&mut out, false);
            let text = |name: HeaderName| out.headers().get(name).cloned();
            [HOST, FORWARDED_HOST, FORWARDED_PROTO, FORWARDED_PORT].map(|name| {
                let value = text(name).map(|value| value.to_str().unwrap().to_owned());
                value.unwrap_or_default()
            })
        };

        assert_eq!(
            headers_with(PublicUrl::configured("https://api.example.com/base")),
            ["api.example.com", "api.example.com", "https", "443"]
        );
        assert_eq!(
            headers_with(PublicUrl::configured("https://api.example.com:8443")),
            ["api.example.com:8443", "api.example.com", "https", "8443"]
        );
        assert_eq!(
            headers_with(PublicUrl::new("https://api.example.com")),
            ["127.0.0.1:54321", "127.0.0.1", "http", ""]
        );
    }

    #[test]
    fn an_upgrade_is_asked_for_anew() {
        let headers = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
        ];

        let mut out = request("/ws", &headers);
        prepare(&mut out, true);
        assert_eq!(
            (&out.headers()[UPGRADE], &out.headers()[CONNECTION]),
            (
                &HeaderValue::from_static("websocket"),
                &HeaderValue::from_static("upgrade"),
            )
        );
        let mut out = request("/ws", &headers);
        prepare(&mut out, false);
        assert!(out.headers().is_empty());
    }
}
