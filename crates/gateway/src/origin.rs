//! The client's address and the host it used, with proxies taken into account.
//!
//! Forwarding headers count only from a trusted proxy. The client is then the last entry of the
//! chain that is no trusted proxy: all entries before it can be forged.

use std::net::{IpAddr, SocketAddr};

use http::{
    HeaderMap, HeaderName, HeaderValue, Uri,
    header::{FORWARDED, HOST, VIA},
    uri::Authority,
};

use plinth_project::{ClientAddress, SentHeaders};

use crate::{
    GatewayConfig,
    forwarded::{Forwarded, authority},
    request_id,
};

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The peer's address.
    pub remote: SocketAddr,
    /// Our address.
    pub local: SocketAddr,
    /// Whether we terminate TLS.
    pub is_tls: bool,
}

/// The request as the client sent it, before proxies.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) client: ClientAddress,
    pub(crate) is_trusted: bool,
    pub(crate) scheme: &'static str,
    /// Host and, if it is not the scheme's default, port.
    pub(crate) authority: String,
    /// The host alone, for finding the project.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The path prefix that a proxy removed.
    pub(crate) prefix: String,
    /// Our address of the connection.
    pub(crate) local: SocketAddr,
}

impl Origin {
    pub(crate) fn read(
        config: &GatewayConfig,
        peer: &Peer,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Self {
        let peer_ip = peer.remote.ip().to_canonical();
        let is_trusted = config.trusts(peer_ip);
        let is_forwarded = headers.keys().any(|name| is_one_of(name, &FORWARDING));
        let forwarded = if is_trusted && headers.keys().any(|name| is_one_of(name, &REPLACED)) {
            Forwarded::read(headers)
        } else {
            Forwarded::default()
        };

        let own_scheme = if peer.is_tls { "https" } else { "http" };
        let scheme = forwarded.scheme.unwrap_or(own_scheme);
        let sent = forwarded.host.or_else(|| sent_authority(uri, headers));
        let (host, port) = match sent {
            Some(sent) => (sent.host().to_owned(), sent.port_u16().or(forwarded.port)),
            None => (host_text(peer.local.ip()), Some(peer.local.port())),
        };
        let default_port = if scheme == "https" { 443 } else { 80 };
        let port = port.unwrap_or(default_port);
        let mut authority = host.clone();
        if port != default_port {
            authority.push(':');
            authority.push_str(itoa::Buffer::new().format(port));
        }
        let ip = client_ip(config, peer_ip, &forwarded.chain);
        let client = ClientAddress {
            ip,
            peer: peer_ip,
            is_forwarded,
        };
        let prefix = forwarded.prefix.unwrap_or_default();
        Self {
            client,
            is_trusted,
            scheme,
            authority,
            host,
            port,
            prefix,
            local: SocketAddr::new(peer.local.ip().to_canonical(), peer.local.port()),
        }
    }

    /// Replaces the forwarding headers by verified values, so that a client cannot forge what a
    /// function or SQL (`request.headers`) reads from them. Returns what was sent, as well for the
    /// request id, which is replaced too: a signature covers the headers as they were sent.
    pub(crate) fn rewrite_headers(&self, headers: &mut HeaderMap) -> Option<SentHeaders> {
        let sent = SentHeaders::save(headers, |name| is_one_of(name, &REPLACED));
        if sent.is_some() {
            for name in [FORWARDED, PREFIX, REAL_IP] {
                headers.remove(name);
            }
        }
        let texts = [
            (FOR, ip_text(self.client.ip)),
            (HOST_NAME, self.authority.clone()),
        ];
        for (name, text) in texts {
            match HeaderValue::try_from(text) {
                Ok(value) => drop(headers.insert(name, value)),
                Err(_) => drop(headers.remove(name)),
            }
        }
        headers.insert(PROTO, HeaderValue::from_static(self.scheme));
        headers.insert(PORT, HeaderValue::from(self.port));
        sent
    }
}

/// What proxies and tunnels add to requests.
static FORWARDING: [HeaderName; 4] = [FOR, FORWARDED, REAL_IP, VIA];

/// The headers that a service gets with a value of ours, or not at all.
static REPLACED: [HeaderName; 8] = [
    FORWARDED,
    FOR,
    HOST_NAME,
    PROTO,
    PORT,
    PREFIX,
    REAL_IP,
    request_id::HEADER,
];

/// Every name of every request is asked for. Most requests have none of them, which the first letters
/// show: looking all of them up takes longer.
fn is_one_of(name: &HeaderName, names: &[HeaderName]) -> bool {
    name.as_str().starts_with(['f', 'v', 'x']) && names.contains(name)
}

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const HOST_NAME: HeaderName = HeaderName::from_static("x-forwarded-host");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
const PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// HTTP/2 and the absolute form have the host in the target, which takes precedence.
fn sent_authority(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let in_target = uri.authority().map(Authority::as_str);
    let in_header = || headers.get(HOST).and_then(|value| value.to_str().ok());
    in_target.or_else(in_header).and_then(authority)
}

fn client_ip(config: &GatewayConfig, peer: IpAddr, chain: &[Option<IpAddr>]) -> IpAddr {
    let mut client = peer;
    for node in chain.iter().rev() {
        let Some(node) = node else { break };
        client = *node;
        if !config.trusts(client) {
            break;
        }
    }
    client
}

/// Each request has one, and the formatting machinery takes several times as long.
fn ip_text(ip: IpAddr) -> String {
    let IpAddr::V4(ip) = ip else {
        return ip.to_string();
    };
    let mut text = String::with_capacity("255.255.255.255".len());
    for (index, octet) in ip.octets().into_iter().enumerate() {
        if index > 0 {
            text.push('.');
        }
        text.push_str(itoa::Buffer::new().format(octet));
    }
    text
}

fn host_text(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

#[cfg(test)]
mod tests {
    use plinth_settings::Settings;

    use super::*;

    fn origin(peer: &str, headers: &[(&'static str, &str)]) -> Origin {
        let mut config = GatewayConfig::from_settings(&Settings::default());
        config.trusted_proxies = vec!["10.0.0.0/8".parse().expect("a network")];
        let peer = Peer {
            remote: peer.parse().expect("an address"),
            local: "127.0.0.1:54321".parse().expect("an address"),
            is_tls: false,
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header value"));
        }
        Origin::read(&config, &peer, &Uri::from_static("/auth/v1/user"), &map)
    }

    fn client(peer: &str, chain: &str) -> String {
        origin(peer, &[("x-forwarded-for", chain)])
            .client
            .ip
            .to_string()
    }

    #[test]
    fn headers_of_an_untrusted_peer_are_ignored() {
        let origin = origin(
            "203.0.113.5:999",
            &[
                ("x-forwarded-for", "192.0.2.1"),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-host", "evil.example"),
                ("x-forwarded-prefix", "/evil"),
                ("host", "api.example"),
            ],
        );

        assert_eq!(origin.client.ip.to_string(), "203.0.113.5");
        assert_eq!(
            (origin.scheme, origin.authority.as_str()),
            ("http", "api.example")
        );
        assert_eq!(origin.prefix, "");
        assert!(!origin.is_trusted);
    }

    #[test]
    fn a_proxy_is_recognised_by_its_headers_even_if_untrusted() {
        let is_forwarded = |headers: &[_]| origin("127.0.0.1:999", headers).client.is_forwarded;
        assert!(!is_forwarded(&[("host", "localhost")]));
        assert!(is_forwarded(&[("x-forwarded-for", "192.0.2.1")]));
        assert!(is_forwarded(&[("forwarded", "for=192.0.2.1")]));
        assert!(is_forwarded(&[("x-real-ip", "192.0.2.1")]));
        assert!(is_forwarded(&[("via", "1.1 proxy")]));
    }

    #[test]
    fn a_trusted_proxy_names_the_client_and_the_address() {
        let origin = origin(
            "10.1.2.3:999",
            &[
                ("x-forwarded-for", "192.0.2.1"),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-host", "api.example"),
                ("x-forwarded-port", "8443"),
                ("x-forwarded-prefix", "/base"),
                ("host", "127.0.0.1:54321"),
            ],
        );

        assert_eq!(origin.client.ip.to_string(), "192.0.2.1");
        assert_eq!(origin.client.peer.to_string(), "10.1.2.3");
        assert_eq!(
            (origin.scheme, origin.authority.as_str()),
            ("https", "api.example:8443")
        );
        assert_eq!(
            (origin.host.as_str(), origin.prefix.as_str()),
            ("api.example", "/base")
        );
    }

    #[test]
    fn the_client_is_the_last_entry_that_is_no_trusted_proxy() {
        assert_eq!(
            client("10.0.0.1:1", "198.51.100.7, 192.0.2.1, 10.0.0.9"),
            "192.0.2.1"
        );
        assert_eq!(client("10.0.0.1:1", "10.0.0.8, 10.0.0.9"), "10.0.0.8");
        assert_eq!(client("10.0.0.1:1", "192.0.2.1, unknown"), "10.0.0.1");
        assert_eq!(client("10.0.0.1:1", ""), "10.0.0.1");
        assert_eq!(client("[::ffff:10.0.0.1]:1", "192.0.2.1"), "192.0.2.1");
    }

    #[test]
    fn a_missing_or_bad_host_is_where_the_client_connected_to() {
        for headers in [&[][..], &[("host", "user@evil.example")][..]] {
            let origin = origin("192.0.2.1:1", headers);
            assert_eq!(origin.authority, "127.0.0.1:54321");
        }
    }

    #[test]
    fn the_schemes_own_port_is_left_out() {
        assert_eq!(
            origin("192.0.2.1:1", &[("host", "a.example:80")]).authority,
            "a.example"
        );
        let ports = [
            ("host", "a.example"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-port", "443"),
        ];
        assert_eq!(origin("10.0.0.1:1", &ports).authority, "a.example");
    }

    #[test]
    fn forged_headers_are_rewritten() {
        let forged = [
            ("x-forwarded-for", "192.0.2.1"),
            ("x-real-ip", "192.0.2.1"),
            ("forwarded", "for=192.0.2.1"),
            ("x-request-id", "forged"),
            ("x-client-info", "supabase-js/2"),
            ("host", "a.example:8080"),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in forged {
            headers.append(name, HeaderValue::from_static(value));
        }

        let sent = origin("203.0.113.5:999", &forged).rewrite_headers(&mut headers);

        let sent = sent.expect("what was sent");
        for (name, value) in forged {
            let is_replaced = !matches!(name, "host" | "x-client-info");
            assert_eq!(
                sent.values(name).any(|sent| sent == value),
                is_replaced,
                "{name}"
            );
        }
        assert_eq!(headers["x-forwarded-for"], "203.0.113.5");
        assert_eq!(headers["x-forwarded-proto"], "http");
        assert_eq!(headers["x-forwarded-host"], "a.example:8080");
        assert_eq!(headers["x-forwarded-port"], "8080");
        assert!(!headers.contains_key("x-real-ip") && !headers.contains_key("forwarded"));
    }

    #[test]
    fn without_forged_headers_nothing_is_kept() {
        let usual = [
            ("host", "a.example:8080"),
            ("x-client-info", "supabase-js/2"),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in usual {
            headers.append(name, HeaderValue::from_static(value));
        }

        let sent = origin("203.0.113.5:999", &usual).rewrite_headers(&mut headers);

        assert!(sent.is_none());
        assert_eq!(headers["x-forwarded-for"], "203.0.113.5");
        assert_eq!(headers["x-forwarded-host"], "a.example:8080");
    }
}
