//! IP networks: `10.0.0.0/8`, `::1`.

use std::net::IpAddr;

/// All addresses with this prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok())?;
        (prefix <= bits).then_some(Self { address, prefix })
    }

    /// IPv4-mapped IPv6 addresses count as IPv4.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let same = |ours: u128, theirs: u128, bits: u32| {
            self.prefix == 0 || (ours ^ theirs) >> (bits - self.prefix) == 0
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                same(ours.to_bits().into(), theirs.to_bits().into(), 32)
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => same(ours.to_bits(), theirs.to_bits(), 128),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(network: &str, address: &str, expected: bool) {
        let network = Network::parse(network).unwrap();
        assert_eq!(
            network.contains(address.parse().unwrap()),
            expected,
            "{address}"
        );
    }

    #[test]
    fn the_first_bits_decide() {
        check("10.0.0.0/8", "10.255.0.1", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("10.0.0.0/8", "::ffff:10.0.0.1", true);
        check("0.0.0.0/0", "203.0.113.9", true);
        check("0.0.0.0/0", "::1", false);
        check("127.0.0.1", "127.0.0.1", true);
        check("127.0.0.1", "127.0.0.2", false);
        check("2001:db8::/32", "2001:db8:1::1", true);
        check("2001:db8::/32", "2001:db9::1", false);
    }

    #[test]
    fn other_texts_are_no_networks() {
        for text in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/x",
            "10.0.0.0/",
            "localhost",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
