//! Protection against server-side request forgery.
//!
//! Admins of a project can define providers, but must not reach private addresses through this
//! server: neither directly nor by a DNS name that resolves to one, now or later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// A DNS resolver that returns public addresses only.
pub(super) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|found| is_public(found.ip())).collect();
            if public.is_empty() {
                return Err(format!("{} has no public address", name.as_str()).into());
            }
            let addresses: Addrs = Box::new(public.into_iter());
            Ok(addresses)
        })
    }
}

/// Whether the host of a URL is not a private address. Names are not resolved.
pub(super) fn is_public_host(url: &Url) -> bool {
    match url.host() {
        None => false,
        Some(Host::Domain(name)) => !is_localhost(name),
        Some(Host::Ipv4(ip)) => is_public(ip.into()),
        Some(Host::Ipv6(ip)) => is_public(ip.into()),
    }
}

/// Whether the host resolves to public addresses only.
pub(super) async fn resolves_to_public(url: &Url) -> bool {
    let Some(Host::Domain(name)) = url.host() else {
        return is_public_host(url);
    };
    match tokio::net::lookup_host((name, 443)).await {
        Ok(found) => {
            let mut found = found.map(|found| is_public(found.ip())).peekable();
            found.peek().is_some() && found.all(|is_public| is_public)
        }
        Err(_) => false,
    }
}

pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_special = ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || a == 0
        || a >= 240
        // Carrier-grade NAT, protocol assignments, benchmarks.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b));
    !is_special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(inner) = embedded_v4(ip) {
        return is_public_v4(inner);
    }
    let [first, second, ..] = ip.segments();
    // Global unicast, except documentation and Teredo addresses.
    (first & 0xe000) == 0x2000 && !(first == 0x2001 && (second == 0xdb8 || second == 0))
}

/// The IPv4 address embedded in a NAT64, 6to4 or mapped IPv6 address.
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let words = ip.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match words {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => ip.to_ipv4_mapped(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_not_public() {
        for ip in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(ip.parse().expect("an address")), "{ip}");
        }
        for ip in [
            "1.1.1.1",
            "93.184.216.34",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(ip.parse().expect("an address")), "{ip}");
        }
    }

    #[test]
    fn urls_are_checked_as_browsers_parse_them() {
        let is_public = |url: &str| is_public_host(&Url::parse(url).expect("a URL"));
        assert!(is_public("https://idp.example.com/"));
        for url in [
            "https://localhost/",
            "https://idp.LOCALHOST/",
            "https://localhost./",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[::1]/",
            "https://127.0.0.1.:443/",
        ] {
            assert!(!is_public(url), "{url}");
        }
    }
}
