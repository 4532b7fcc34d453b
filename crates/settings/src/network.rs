//! IP addresses and networks (CIDR): `10.0.0.0/8`, `::1`.

use std::net::IpAddr;

/// Whether the text is an IP address, or one with a prefix length that fits its family.
pub(crate) fn is_network(text: &str) -> bool {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let longest = if address.is_ipv4() { 32 } else { 128 };
    prefix.is_none_or(|prefix| prefix.parse::<u8>().is_ok_and(|length| length <= longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ranges_are_networks() {
        for text in [
            "127.0.0.1",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "::1",
            "fd00::/8",
            "::/0",
        ] {
            assert!(is_network(text), "{text}");
        }
        for text in [
            "",
            "localhost",
            "10.0.0.0/33",
            "::/129",
            "10.0.0/8",
            "10.0.0.0/",
            "1.2.3.4/a",
        ] {
            assert!(!is_network(text), "{text}");
        }
    }
}
