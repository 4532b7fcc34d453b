//! Address ranges: `10.0.0.0/8`, `::1`.

use std::{net::IpAddr, str::FromStr};

/// A range of addresses of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The text is no address range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address or an address range, as in 10.0.0.0/8 or ::1")]
pub struct NetworkParseError(String);

impl Network {
    /// Whether the address is in the range. IPv4-mapped IPv6 addresses count as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(self.prefix))
                    .unwrap_or(0);
                (u32::from(ours) ^ u32::from(theirs)) & mask == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.prefix))
                    .unwrap_or(0);
                (u128::from(ours) ^ u128::from(theirs)) & mask == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkParseError;

    fn from_str(text: &str) -> Result<Self, NetworkParseError> {
        let bad = || NetworkParseError(text.chars().take(64).collect());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| bad())?,
            None => longest,
        };
        if prefix > longest {
            Err(bad())
        } else {
            Ok(Self { address, prefix })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(network: &str, address: &str, expected: bool) {
        let network: Network = network.parse().expect("a network");
        let address = address.parse().expect("an address");
        assert_eq!(network.contains(address), expected, "{network:?} {address}");
    }

    #[test]
    fn a_range_contains_what_shares_its_prefix() {
        check("10.0.0.0/8", "10.255.1.2", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("0.0.0.0/0", "203.0.113.9", true);
        check("192.0.2.7", "192.0.2.7", true);
        check("192.0.2.7", "192.0.2.8", false);
        check("fd00::/8", "fd12::1", true);
        check("fd00::/8", "fe80::1", false);
        check("::/0", "2001:db8::1", true);
    }

    #[test]
    fn families_are_kept_apart_but_mapped_addresses_are_ipv4() {
        check("0.0.0.0/0", "::1", false);
        check("::/0", "10.0.0.1", false);
        check("10.0.0.0/8", "::ffff:10.1.2.3", true);
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "localhost",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "1.2.3.4/a",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
