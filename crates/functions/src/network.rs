//! Which addresses workers may not reach, as the runtime takes them.
//!
//! The runtime knows what is denied, and no exception from it. So exceptions are cut out of what is
//! denied, by halves. It takes no ranges of IPv6; so all of IPv6 is denied, by the system itself
//! ([`crate::worker`]), unless somebody wants to reach some of it.

use std::{fmt, net::IpAddr, str::FromStr};

/// Where nobody but the machine itself and its neighbours should be. The runtime takes an IPv4
/// address in the dress of IPv6 for what it is.
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

/// An address range, as its first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    /// IPv4 stands in the upper 32 bits.
    bits: u128,
    length: u8,
    is_v4: bool,
    /// The one port of it that is meant, if not all.
    port: Option<u16>,
}

/// These ports of every address, unless IPv6 is spoken. The runtime resolves a name and refuses it if
/// it may not reach one of its addresses, so that then a name is out of reach unless it has addresses of
/// IPv6 alone.
pub(crate) fn ports_everywhere(ports: &[u16]) -> impl Iterator<Item = Network> {
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

/// Everything private but for what is reachable, and all of IPv6 unless it is spoken.
pub(crate) fn denied(reachable: &[Network], speaks_ipv6: bool) -> Vec<Network> {
    let private = PRIVATE.iter().filter_map(|text| text.parse().ok());
    let mut denied = reachable
        .iter()
        .fold(private.collect(), |denied: Vec<Network>, hole| {
            denied
                .into_iter()
                .flat_map(|network| network.without(*hole))
                .collect()
        });
    if !speaks_ipv6 {
        denied.push(ALL_OF_IPV6);
    }
    denied
}

/// Whether nothing is reached over IPv6.
pub(crate) fn is_without_ipv6(denied: &[Network]) -> bool {
    denied.contains(&ALL_OF_IPV6)
}

/// Whether the address is among them.
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

    /// As the runtime's command line takes it.
    pub(crate) fn for_runtime(&self) -> Option<String> {
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

    /// The parts of this one that lie outside of the other.
    fn without(self, hole: Self) -> Vec<Self> {
        if hole.contains(self) {
            return Vec::new();
        }
        if !self.contains(hole) {
            return vec![self];
        }
        let length = self.length + 1;
        let lower = Self { length, ..self };
        let upper = Self {
            bits: self.bits | (1 << (128 - u32::from(length))),
            ..lower
        };
        let mut rest = lower.without(hole);
        rest.extend(upper.without(hole));
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
        let (address, longest) = match self.is_v4 {
            true => {
                let bits = u32::try_from(self.bits >> 96).unwrap_or_default();
                (IpAddr::from(bits.to_be_bytes()), 32)
            }
            false => (IpAddr::from(self.bits.to_be_bytes()), 128),
        };
        match self.length == longest {
            true => write!(f, "{address}"),
            false => write!(f, "{address}/{}", self.length),
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
        let denied = denied(&[], true);

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
    fn a_hole_is_exactly_as_large_as_it_is_meant_to_be() {
        let denied = denied(&[network("127.80.76.73"), network("10.0.0.0/8")], true);

        assert!(!is_denied(&denied, "127.80.76.73"));
        assert!(is_denied(&denied, "127.80.76.72") && is_denied(&denied, "127.80.76.74"));
        assert!(is_denied(&denied, "127.0.0.1") && is_denied(&denied, "127.255.255.255"));
        assert!(!is_denied(&denied, "10.9.8.7"));
    }

    #[test]
    fn the_runtime_takes_everything_but_ranges_of_ipv6() {
        let taken: Vec<_> = denied(&[], false)
            .iter()
            .filter_map(Network::for_runtime)
            .collect();

        assert_eq!(taken.len(), PRIVATE.len() - 2);
        assert!(taken.contains(&"10.0.0.0/8".to_owned()));
        assert!(taken.contains(&"[::1]".to_owned()));
    }

    #[test]
    fn all_of_ipv6_is_denied_unless_it_is_spoken() {
        assert!(is_without_ipv6(&denied(&[network("::1")], false)));
        assert!(is_denied(&denied(&[], false), "2606:4700::1111"));
        assert!(!is_without_ipv6(&denied(&[], true)));
    }

    #[test]
    fn a_port_is_refused_wherever_it_is() {
        let taken: Vec<_> = ports_everywhere(&[25, 587])
            .filter_map(|network| network.for_runtime())
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
