//! The networks that workers may not reach, in the form that the runtime takes.
//!
//! The runtime has no exceptions from what is denied, so reachable networks are cut out of the denied
//! ranges by halving them. It takes no IPv6 ranges, so all of IPv6 is denied by the kernel
//! (`sandbox::seccomp`), unless an IPv6 network is to be reachable.

use std::{fmt, net::IpAddr, str::FromStr};

/// The machine itself, private networks, and link-local and reserved ranges. The runtime treats an
/// IPv4-mapped IPv6 address as IPv4.
const PRIVATE: [&str; 16] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::",
    "::1",
    "fd00:ec2::254",
    "fc00::/7",
    "fe80::/10",
];

/// An address range: a prefix of so many bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    /// An IPv4 address is in the upper 32 bits.
    bits: u128,
    length: u8,
    is_v4: bool,
    /// A single port, or all of them.
    port: Option<u16>,
}

/// These ports on every IPv4 address. The runtime rejects a host name if any of its addresses is denied,
/// so that with IPv6 allowed only hosts with IPv6 addresses alone are reached on these ports.
pub(crate) fn ports_on_all_hosts(ports: &[u16]) -> impl Iterator<Item = Network> {
    ports.iter().map(|port| Network {
        bits: 0,
        length: 0,
        is_v4: true,
        port: Some(*port),
    })
}

const ALL_OF_IPV6: Network = Network {
    bits: 0,
    length: 0,
    is_v4: false,
    port: None,
};

/// Everything private except what is reachable, and all of IPv6 unless it is allowed.
pub(crate) fn denied_networks(reachable: &[Network], allows_ipv6: bool) -> Vec<Network> {
    let private = PRIVATE.iter().filter_map(|text| text.parse().ok());
    let mut denied = reachable
        .iter()
        .fold(private.collect(), |denied: Vec<Network>, reachable| {
            denied
                .into_iter()
                .flat_map(|network| network.without(*reachable))
                .collect()
        });
    if !allows_ipv6 {
        denied.push(ALL_OF_IPV6);
    }
    denied
}

/// Whether all of IPv6 is denied.
pub(crate) fn denies_ipv6(denied: &[Network]) -> bool {
    denied.contains(&ALL_OF_IPV6)
}

/// Whether the address is in one of the networks.
pub(crate) fn is_denied(denied: &[Network], address: IpAddr) -> bool {
    let address = Network::from(address.to_canonical());
    denied.iter().any(|network| network.contains(address))
}

impl Network {
    pub(crate) fn is_ipv6(&self) -> bool {
        !self.is_v4
    }

    fn contains(self, other: Self) -> bool {
        let mask = mask(self.length);
        self.is_v4 == other.is_v4
            && self.length <= other.length
            && (self.bits ^ other.bits) & mask == 0
    }

    /// In the form of the runtime's `--deny-net`, which takes no IPv6 ranges.
    pub(crate) fn to_deno_argument(self) -> Option<String> {
        let host = match (self.is_v4, self.length) {
            (true, _) => self.to_string(),
            (false, 128) => format!("[{self}]"),
            (false, _) => return None,
        };
        Some(match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        })
    }

    /// This network without the other one.
    fn without(self, other: Self) -> Vec<Self> {
        if other.contains(self) {
            return Vec::new();
        }
        if !self.contains(other) {
            return vec![self];
        }
        let length = self.length + 1;
        let lower = Self { length, ..self };
        let upper = Self {
            bits: self.bits | (1 << (128 - u32::from(length))),
            ..lower
        };
        let mut rest = lower.without(other);
        rest.extend(upper.without(other));
        rest
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self {
                bits: u128::from(u32::from(address)) << 96,
                length: 32,
                is_v4: true,
                port: None,
            },
            IpAddr::V6(address) => Self {
                bits: u128::from(address),
                length: 128,
                is_v4: false,
                port: None,
            },
        }
    }
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().map_err(drop)?)),
            None => (text, None),
        };
        let whole = Self::from(address.parse::<IpAddr>().map_err(drop)?);
        let length = length.unwrap_or(whole.length);
        if length > whole.length {
            return Err(());
        }
        Ok(Self {
            bits: whole.bits & mask(length),
            length,
            ..whole
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, longest) = if self.is_v4 {
            let bits = u32::try_from(self.bits >> 96).unwrap_or_default();
            (IpAddr::from(bits.to_be_bytes()), 32)
        } else {
            (IpAddr::from(self.bits.to_be_bytes()), 128)
        };
        if self.length == longest {
            write!(f, "{address}")
        } else {
            write!(f, "{address}/{}", self.length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().expect("a network")
    }

    fn is_denied(denied: &[Network], address: &str) -> bool {
        super::is_denied(denied, address.parse().expect("an address"))
    }

    #[test]
    fn private_addresses_are_denied_and_public_ones_are_not() {
        let denied = denied_networks(&[], true);

        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "::1",
            "::",
            "fd00:ec2::254",
            "fd12:3456::1",
            "fe80::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_denied(&denied, address), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "2606:4700::1111", "8.8.8.8"] {
            assert!(!is_denied(&denied, address), "{address}");
        }
    }

    #[test]
    fn exactly_the_reachable_networks_are_cut_out() {
        let denied = denied_networks(&[network("127.80.76.73"), network("10.0.0.0/8")], true);

        assert!(!is_denied(&denied, "127.80.76.73"));
        assert!(is_denied(&denied, "127.80.76.72") && is_denied(&denied, "127.80.76.74"));
        assert!(is_denied(&denied, "127.0.0.1") && is_denied(&denied, "127.255.255.255"));
        assert!(!is_denied(&denied, "10.9.8.7"));
    }

    #[test]
    fn the_runtime_takes_everything_but_ipv6_ranges() {
        let taken: Vec<_> = denied_networks(&[], false)
            .iter()
            .filter_map(|network| network.to_deno_argument())
            .collect();

        assert_eq!(taken.len(), PRIVATE.len() - 2);
        assert!(taken.contains(&"10.0.0.0/8".to_owned()));
        assert!(taken.contains(&"[::1]".to_owned()));
    }

    #[test]
    fn all_of_ipv6_is_denied_unless_it_is_allowed() {
        assert!(denies_ipv6(&denied_networks(&[network("::1")], false)));
        assert!(is_denied(&denied_networks(&[], false), "2606:4700::1111"));
        assert!(!denies_ipv6(&denied_networks(&[], true)));
    }

    #[test]
    fn a_port_is_denied_on_every_host() {
        let taken: Vec<_> = ports_on_all_hosts(&[25, 587])
            .filter_map(|network| network.to_deno_argument())
            .collect();

        assert_eq!(taken, ["0.0.0.0/0:25", "0.0.0.0/0:587"]);
    }

    #[test]
    fn ranges_are_written_as_they_are_read() {
        for text in ["10.0.0.0/8", "127.0.0.1", "fe80::/10", "::1", "0.0.0.0/0"] {
            assert_eq!(network(text).to_string(), text);
        }
        assert_eq!(network("10.1.2.3/8").to_string(), "10.0.0.0/8");
        for text in ["", "a", "10.0.0.0/33", "::/129", "10.0.0.0/x"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
