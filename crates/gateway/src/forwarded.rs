//! Forwarding headers: `Forwarded` (RFC 7239) and `X-Forwarded-*`.
//!
//! Only parsing; whether a peer is trusted is decided in [`crate::origin`].

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, header::FORWARDED, uri::Authority};

/// The valid parts of the headers. `X-Forwarded-*` win over `Forwarded`, because a proxy that knows
/// only the former passes a client's `Forwarded` on unchanged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// Addresses the request passed through, the client first. An entry that is no address is `None`.
    pub(crate) chain: Vec<Option<IpAddr>>,
    pub(crate) scheme: Option<&'static str>,
    pub(crate) host: Option<Authority>,
    pub(crate) port: Option<u16>,
    /// The path prefix that the proxy removed; begins with a slash, ends with none.
    pub(crate) prefix: Option<String>,
}

impl Forwarded {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let standard = Self::read_standard(headers);
        let chain: Vec<_> = entries(headers, "x-forwarded-for")
            .map(parse_node)
            .collect();
        Self {
            chain: if chain.is_empty() {
                standard.chain
            } else {
                chain
            },
            scheme: first(headers, "x-forwarded-proto")
                .and_then(scheme)
                .or(standard.scheme),
            host: first(headers, "x-forwarded-host")
                .and_then(authority)
                .or(standard.host),
            port: first(headers, "x-forwarded-port").and_then(|port| port.parse().ok()),
            prefix: first(headers, "x-forwarded-prefix").and_then(prefix),
        }
    }

    /// The host and scheme of the first element are those that the client used.
    fn read_standard(headers: &HeaderMap) -> Self {
        let mut forwarded = Self::default();
        for element in entries(headers, FORWARDED.as_str()) {
            let is_first = forwarded.chain.is_empty();
            let mut node = None;
            for pair in element.split(';') {
                let Some((name, value)) = pair.split_once('=') else {
                    continue;
                };
                let value = value.trim().trim_matches('"');
                match name.trim().to_ascii_lowercase().as_str() {
                    "for" => node = parse_node(value),
                    "proto" if is_first => forwarded.scheme = scheme(value),
                    "host" if is_first => forwarded.host = authority(value),
                    _ => {}
                }
            }
            forwarded.chain.push(node);
        }
        forwarded
    }
}

/// The comma-separated entries of all headers of that name.
fn entries<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let values = headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

fn first<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    entries(headers, name).next()
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn parse_node(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    let address = bare
        .parse()
        .or_else(|_| text.parse().map(|node: SocketAddr| node.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

fn scheme(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "https" | "wss" => Some("https"),
        "http" | "ws" => Some("http"),
        _ => None,
    }
}

/// A host with or without a port, and nothing else, because it is used in links.
pub(crate) fn authority(text: &str) -> Option<Authority> {
    let authority: Authority = text.parse().ok()?;
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
    authority
        .as_str()
        .bytes()
        .all(is_plain)
        .then_some(authority)
}

fn prefix(text: &str) -> Option<String> {
    let prefix = text.trim_end_matches('/');
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%".contains(&b);
    let is_path = prefix.starts_with('/') && !prefix.starts_with("//");
    (is_path && prefix.bytes().all(is_plain)).then(|| prefix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&'static str, &str)]) -> Forwarded {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header value"));
        }
        Forwarded::read(&map)
    }

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().expect("an address"))
    }

    #[test]
    fn nodes_are_read_with_and_without_ports() {
        let forwarded = read(&[
            ("x-forwarded-for", "192.0.2.1, 192.0.2.2:8080,unknown"),
            (
                "x-forwarded-for",
                "2001:db8::1, [2001:db8::2], [2001:db8::3]:1, ::ffff:10.0.0.1",
            ),
        ]);

        let expected = [
            ip("192.0.2.1"),
            ip("192.0.2.2"),
            None,
            ip("2001:db8::1"),
            ip("2001:db8::2"),
            ip("2001:db8::3"),
            ip("10.0.0.1"),
        ];
        assert_eq!(forwarded.chain, expected);
    }

    #[test]
    fn the_standard_header_is_understood() {
        let forwarded = read(&[(
            "forwarded",
            "for=\"[2001:db8::7]:4711\";proto=https;host=\"api.example:8443\", For=10.0.0.1;host=x",
        )]);

        assert_eq!(forwarded.chain, [ip("2001:db8::7"), ip("10.0.0.1")]);
        assert_eq!(forwarded.scheme, Some("https"));
        assert_eq!(forwarded.host, authority("api.example:8443"));
    }

    #[test]
    fn the_older_headers_win() {
        let forwarded = read(&[
            ("forwarded", "for=192.0.2.9;proto=http;host=old.example"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-proto", "wss, http"),
            ("x-forwarded-host", "new.example, other.example"),
            ("x-forwarded-port", "8443"),
            ("x-forwarded-prefix", "/base/"),
        ]);

        assert_eq!(
            forwarded,
            Forwarded {
                chain: vec![ip("192.0.2.1")],
                scheme: Some("https"),
                host: authority("new.example"),
                port: Some(8443),
                prefix: Some("/base".to_owned()),
            }
        );
    }

    #[test]
    fn invalid_values_are_ignored() {
        let forwarded = read(&[
            ("x-forwarded-proto", "javascript"),
            ("x-forwarded-host", "user@evil.example"),
            ("x-forwarded-port", "99999"),
            ("x-forwarded-prefix", "//evil.example"),
        ]);

        assert_eq!(forwarded, Forwarded::default());
    }

    #[test]
    fn a_host_with_anything_beside_it_is_rejected() {
        for text in [
            "",
            "a/b",
            "user@host",
            "a b",
            "ho\"st",
            "host:port:1",
            "<script>",
        ] {
            assert_eq!(authority(text), None, "{text}");
        }
        for text in [
            "localhost",
            "127.0.0.1:54321",
            "[::1]:54321",
            "my_host.example",
        ] {
            assert!(authority(text).is_some(), "{text}");
        }
    }
}
