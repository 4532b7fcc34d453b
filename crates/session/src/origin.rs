//! The origin of this application, as far as it can be trusted (A38).
//!
//! The `Host` header is chosen by the client. So the origin comes from the configuration or from a proxy
//! that the configuration trusts; otherwise it is unknown.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use http::{Extensions, HeaderMap, header};
use url::{Host, Url};

use crate::network::Network;

/// Scheme, host and port, normalised as browsers do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    text: String,
    is_https: bool,
    is_loopback: bool,
}

impl Origin {
    /// The origin of a URL. `None` for `null`, other schemes and invalid URLs.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let host = url.host()?;
        matches!(url.scheme(), "http" | "https").then(|| Self {
            text: url.origin().ascii_serialization(),
            is_https: url.scheme() == "https",
            is_loopback: is_loopback(&host),
        })
    }

    pub(crate) fn is_https(&self) -> bool {
        self.is_https
    }

    /// The origin according to a trusted proxy.
    pub(crate) fn from_proxy(
        headers: &HeaderMap,
        extensions: &Extensions,
        trusted: &[Network],
    ) -> Option<Self> {
        let ConnectInfo(peer) = extensions.get::<ConnectInfo<SocketAddr>>()?;
        if !trusted.iter().any(|network| network.contains(peer.ip())) {
            return None;
        }
        let scheme = nearest(headers, "x-forwarded-proto")?;
        let host = nearest(headers, "x-forwarded-host")?;
        Self::of(&format!("{scheme}://{host}"))
    }
}

/// The value of the nearest proxy, which is the last.
fn nearest<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let last = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    let nearest = last.rsplit(',').next()?.trim();
    let is_plain = !nearest.is_empty() && !nearest.contains(['/', '@', '?', '#', '\\']);
    is_plain.then_some(nearest)
}

/// Whether cookies may be sent to this client (A41), and whether only over TLS (C18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Plain http on this machine, or allowed by configuration: no `Secure`.
    Open,
    /// With `Secure`. Also where the origin is unknown: a browser on plain http then drops the cookie, and
    /// nothing leaks.
    Secure,
    /// Plain http across a network: cookies are not written.
    Rejected,
}

impl Transport {
    pub(crate) fn of(origin: Option<&Origin>, headers: &HeaderMap, allow_insecure: bool) -> Self {
        match origin {
            Some(origin) if origin.is_https => Self::Secure,
            Some(origin) if origin.is_loopback || allow_insecure => Self::Open,
            Some(_) => Self::Rejected,
            None if allow_insecure || is_loopback_host(headers) => Self::Open,
            None => Self::Secure,
        }
    }
}

/// Headers that proxies add.
const FORWARDING: [&str; 5] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// Whether the client claims to talk to its own machine. Trusted only to omit `Secure` in the response to
/// that client; and not behind a proxy, because many pass on the application's own address instead of
/// the public one.
fn is_loopback_host(headers: &HeaderMap) -> bool {
    if FORWARDING.iter().any(|name| headers.contains_key(*name)) {
        return false;
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    host.and_then(|host| Origin::of(&format!("http://{host}")))
        .is_some_and(|origin| origin.is_loopback)
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => IpAddr::from(*address).is_loopback(),
        Host::Ipv6(address) => IpAddr::from(*address).is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn request(peer: &str, pairs: &[(&'static str, &'static str)]) -> (HeaderMap, Extensions) {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
        (headers, extensions)
    }

    fn check_proxy(peer: &str, pairs: &[(&'static str, &'static str)], expected: Option<&str>) {
        let (headers, extensions) = request(peer, pairs);
        let trusted = [Network::parse("10.0.0.0/8").unwrap()];
        let origin = Origin::from_proxy(&headers, &extensions, &trusted);
        assert_eq!(
            origin.as_ref().map(|origin| origin.text.as_str()),
            expected,
            "{pairs:?}"
        );
    }

    #[test]
    fn origins_have_one_spelling() {
        let origin = |url: &str| Origin::of(url).map(|origin| origin.text);

        assert_eq!(
            origin("HTTPS://App.Example.com:443/x?y").as_deref(),
            Some("https://app.example.com")
        );
        assert_eq!(
            origin("http://app.example.com:8080").as_deref(),
            Some("http://app.example.com:8080")
        );
        for other in [
            "null",
            "",
            "ftp://a",
            "app.example.com",
            "data:text/html,x",
            "file:///a",
        ] {
            assert_eq!(origin(other), None, "{other}");
        }
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        let forwarded = [
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "app.example.com"),
        ];

        check_proxy("10.1.2.3:9", &forwarded, Some("https://app.example.com"));
        check_proxy("192.0.2.1:9", &forwarded, None);
        check_proxy(
            "10.1.2.3:9",
            &[("host", "evil.example"), ("x-forwarded-proto", "https")],
            None,
        );
        let (headers, _) = request("10.1.2.3:9", &forwarded);
        let trusted = [Network::parse("10.0.0.0/8").unwrap()];
        assert_eq!(
            Origin::from_proxy(&headers, &Extensions::new(), &trusted),
            None
        );
    }

    #[test]
    fn the_nearest_proxy_decides_and_its_header_cannot_be_extended() {
        let host = |value| {
            [
                ("x-forwarded-proto", "http, https"),
                ("x-forwarded-host", value),
            ]
        };

        check_proxy(
            "10.0.0.1:9",
            &host("evil.example, app.example.com"),
            Some("https://app.example.com"),
        );
        for odd in [
            "app.example.com@evil.example",
            "evil.example/app",
            "evil\\x",
            "a#b",
            "a?b",
            "",
        ] {
            check_proxy("10.0.0.1:9", &host(odd), None);
        }
    }

    #[test]
    fn cookies_go_only_to_secure_origins() {
        let none = HeaderMap::new();
        let transport =
            |url: &str, insecure| Transport::of(Origin::of(url).as_ref(), &none, insecure);

        assert_eq!(
            transport("https://app.example.com", false),
            Transport::Secure
        );
        assert_eq!(
            transport("https://app.example.com", true),
            Transport::Secure
        );
        assert_eq!(
            transport("http://app.example.com", false),
            Transport::Rejected
        );
        assert_eq!(transport("http://app.example.com", true), Transport::Open);
        for local in [
            "http://localhost:3000",
            "http://127.0.0.1",
            "http://[::1]:1",
            "http://a.localhost",
        ] {
            assert_eq!(transport(local, false), Transport::Open, "{local}");
        }
    }

    #[test]
    fn an_unknown_origin_counts_as_secure_except_on_the_own_machine() {
        let with_host = |host| {
            let (headers, _) = request("192.0.2.1:9", &[("host", host)]);
            Transport::of(None, &headers, false)
        };

        assert_eq!(with_host("app.example.com"), Transport::Secure);
        assert_eq!(with_host("localhost:3000"), Transport::Open);
        assert_eq!(with_host("localhost.example.com"), Transport::Secure);
        assert_eq!(with_host("not a host"), Transport::Secure);
    }

    #[test]
    fn behind_an_untrusted_proxy_loopback_is_not_believed() {
        for name in FORWARDING {
            let (headers, _) = request("127.0.0.1:9", &[("host", "127.0.0.1:3000"), (name, "x")]);
            assert_eq!(Transport::of(None, &headers, false), Transport::Secure);
        }
    }
}
