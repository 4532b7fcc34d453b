//! Which addresses we call on somebody else's word.
//!
//! Whoever may define providers must not reach through us what only this machine can: neither by
//! naming such an address nor by a name that leads there, now or later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Finds public addresses only.
pub(super) struct PublicOnly;

impl Resolve for PublicOnly {
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

/// Whether a URL names no place that is hidden from the public. Names are not looked up.
pub(super) fn is_public_host(url: &Url) -> bool {
    match url.host() {
        None => false,
        Some(Host::Domain(name)) => !is_this_machine(name),
        Some(Host::Ipv4(ip)) => is_public(ip.into()),
        Some(Host::Ipv6(ip)) => is_public(ip.into()),
    }
}

/// Whether every address that the name leads to is public.
pub(super) async fn leads_to_public(url: &Url) -> bool {
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

pub(super) fn is_this_machine(name: &str) -> bool {
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
        // Carriers' networks, protocol assignments, benchmarks.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b));
    !is_special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(inner) = carried_v4(ip) {
        return is_public_v4(inner);
    }
    let [first, second, ..] = ip.segments();
    // Only this range is given out; within it, documentation and Teredo are no places to call.
    (first & 0xe000) == 0x2000 && !(first == 0x2001 && (second == 0xdb8 || second == 0))
}

/// The older address that some newer ones carry.
fn carried_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
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
    fn hidden_addresses_are_not_public() {
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
    fn urls_are_judged_by_what_browsers_make_of_them() {
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
