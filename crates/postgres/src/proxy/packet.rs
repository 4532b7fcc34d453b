//! The first packet of a connection: parsing and rendering. Nothing here touches a socket.

use super::{ErrorResponse, Sqlstate};

/// PostgreSQL's own limit for start-up packets.
pub(super) const MAX_LENGTH: usize = 10_000;
const LENGTH_BYTES: usize = 4;

const CANCEL_REQUEST: u32 = 1234 << 16 | 5678;
const SSL_REQUEST: u32 = 1234 << 16 | 5679;
const GSS_REQUEST: u32 = 1234 << 16 | 5680;

/// Far above `NAMEDATALEN`.
const MAX_NAME_BYTES: usize = 512;

/// The first packet of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet {
    /// `SSLRequest`.
    TlsRequest,
    /// `GSSENCRequest`.
    GssRequest,
    /// `CancelRequest`, unparsed: it is forwarded as it came.
    Cancel(Vec<u8>),
    /// `StartupMessage`.
    Startup(Startup),
}

/// A start-up message of protocol 3.x.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Startup {
    /// Major and minor version as they came.
    pub version: u32,
    /// In the order in which they came.
    pub parameters: Vec<Parameter>,
}

/// A name and a value, which are bytes in the client's encoding.
pub type Parameter = (Vec<u8>, Vec<u8>);

/// Why a packet is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    #[error("invalid length of startup packet")]
    Length,
    #[error("invalid startup packet layout")]
    Layout,
    #[error("unsupported frontend protocol {major}.{minor}: server supports 3.0 and newer 3.x")]
    Version { major: u16, minor: u16 },
    #[error("no PostgreSQL user name specified in startup packet")]
    NoUser,
    #[error("the {0} name in the startup packet is not a valid name")]
    Name(&'static str),
}

impl PacketError {
    /// The error sent to the client.
    pub fn response(&self) -> ErrorResponse {
        let sqlstate = match self {
            Self::Length | Self::Layout => Sqlstate::ProtocolViolation,
            Self::Version { .. } => Sqlstate::FeatureNotSupported,
            Self::NoUser | Self::Name(_) => Sqlstate::InvalidAuthorization,
        };
        ErrorResponse::new(sqlstate, self.to_string())
    }
}

/// How many bytes follow the four of the length.
pub(super) fn body_length(length: [u8; LENGTH_BYTES]) -> Result<usize, PacketError> {
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    match length.checked_sub(LENGTH_BYTES) {
        Some(body) if body >= 4 && length <= MAX_LENGTH => Ok(body),
        _ => Err(PacketError::Length),
    }
}

impl Packet {
    /// Reads what follows the length.
    pub fn parse(body: &[u8]) -> Result<Self, PacketError> {
        let (code, rest) = body.split_first_chunk().ok_or(PacketError::Length)?;
        match u32::from_be_bytes(*code) {
            SSL_REQUEST if rest.is_empty() => Ok(Self::TlsRequest),
            GSS_REQUEST if rest.is_empty() => Ok(Self::GssRequest),
            CANCEL_REQUEST if rest.len() >= 8 => Ok(Self::Cancel(with_length(body))),
            SSL_REQUEST | GSS_REQUEST | CANCEL_REQUEST => Err(PacketError::Length),
            version if version >> 16 == 3 => {
                let parameters = parse_parameters(rest)?;
                Ok(Self::Startup(Startup {
                    version,
                    parameters,
                }))
            }
            version => {
                let halves = [(version >> 16) as u16, version as u16];
                Err(PacketError::Version {
                    major: halves[0],
                    minor: halves[1],
                })
            }
        }
    }
}

/// Pairs of NUL-terminated texts and one NUL at the very end.
fn parse_parameters(mut rest: &[u8]) -> Result<Vec<Parameter>, PacketError> {
    let mut parameters = Vec::new();
    loop {
        let name = take_text(&mut rest)?;
        if name.is_empty() {
            return if rest.is_empty() {
                Ok(parameters)
            } else {
                Err(PacketError::Layout)
            };
        }
        parameters.push((name, take_text(&mut rest)?));
    }
}

fn take_text(rest: &mut &[u8]) -> Result<Vec<u8>, PacketError> {
    let end = rest
        .iter()
        .position(|byte| *byte == 0)
        .ok_or(PacketError::Layout)?;
    let text = rest[..end].to_vec();
    *rest = &rest[end + 1..];
    Ok(text)
}

impl Startup {
    /// The requested user and database. The database defaults to the user's name, as in PostgreSQL.
    pub fn target(&self) -> Result<(&str, &str), PacketError> {
        let user = self
            .find("user")
            .filter(|user| !user.is_empty())
            .ok_or(PacketError::NoUser)?;
        let database = self
            .find("database")
            .filter(|database| !database.is_empty());
        Ok((
            valid_name(user, "user")?,
            valid_name(database.unwrap_or(user), "database")?,
        ))
    }

    /// The same message for another user and database, everything else as it was.
    #[must_use]
    pub fn with_target(&self, user: &str, database: &str) -> Self {
        let mut parameters = self.parameters.clone();
        for (name, value) in [("user", user), ("database", database)] {
            parameters.retain(|(existing, _)| existing != name.as_bytes());
            parameters.push((name.into(), value.into()));
        }
        Self {
            version: self.version,
            parameters,
        }
    }

    /// The whole packet, its length included.
    pub fn render(&self) -> Vec<u8> {
        let mut body = self.version.to_be_bytes().to_vec();
        for (name, value) in &self.parameters {
            for text in [name, value] {
                body.extend(text.iter().filter(|byte| **byte != 0));
                body.push(0);
            }
        }
        body.push(0);
        with_length(&body)
    }

    /// The last one counts, as in the server.
    fn find(&self, name: &str) -> Option<&[u8]> {
        let found = self
            .parameters
            .iter()
            .rfind(|(existing, _)| existing == name.as_bytes());
        found.map(|(_, value)| value.as_slice())
    }
}

/// Control characters are in no sensible name, but could forge lines of the log.
fn valid_name<'a>(name: &'a [u8], what: &'static str) -> Result<&'a str, PacketError> {
    let text = std::str::from_utf8(name).map_err(|_| PacketError::Name(what))?;
    if text.len() > MAX_NAME_BYTES || text.chars().any(char::is_control) {
        return Err(PacketError::Name(what));
    }
    Ok(text)
}

fn with_length(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + LENGTH_BYTES).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn startup(parameters: &[(&str, &str)]) -> Startup {
        let parameters = parameters
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        Startup {
            version: 3 << 16,
            parameters: parameters.collect(),
        }
    }

    fn parse(packet: &[u8]) -> Result<Packet, PacketError> {
        let length = body_length(packet[..4].try_into().unwrap())?;
        assert_eq!(length, packet.len() - 4);
        Packet::parse(&packet[4..])
    }

    #[test]
    fn a_startup_message_survives_the_round_trip() {
        let message = startup(&[
            ("user", "postgres"),
            ("options", "-c x=y"),
            ("replication", "1"),
        ]);
        assert_eq!(parse(&message.render()), Ok(Packet::Startup(message)));
    }

    #[test]
    fn user_and_database_are_replaced_and_the_rest_is_kept() {
        let message = startup(&[("user", "postgres.abc"), ("application_name", "psql")]);

        let routed = message.with_target("owner_abc", "abc");

        assert_eq!(message.target(), Ok(("postgres.abc", "postgres.abc")));
        assert_eq!(routed.target(), Ok(("owner_abc", "abc")));
        assert_eq!(routed.find("application_name"), Some(&b"psql"[..]));
        assert_eq!(routed.parameters.len(), 3);
    }

    #[test]
    fn requests_before_the_startup_message_are_recognised() {
        for (code, expected) in [(5679_u16, Packet::TlsRequest), (5680, Packet::GssRequest)] {
            let bytes = [&[0, 0, 0, 8, 0x04, 0xd2][..], &code.to_be_bytes()].concat();
            assert_eq!(parse(&bytes), Ok(expected));
        }
        let mut cancel = vec![0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e];
        cancel.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(parse(&cancel), Ok(Packet::Cancel(cancel)));
    }

    #[test]
    fn lengths_outside_of_the_limits_are_rejected() {
        for length in [0, 3, 4, 7, 10_001, u32::MAX] {
            assert_eq!(
                body_length(length.to_be_bytes()),
                Err(PacketError::Length),
                "{length}"
            );
        }
        assert_eq!(body_length(10_000_u32.to_be_bytes()), Ok(9_996));
        // The first bytes of a TLS handshake and of an HTTP request.
        assert_eq!(
            body_length([0x16, 0x03, 0x01, 0x02]),
            Err(PacketError::Length)
        );
        assert_eq!(body_length(*b"GET "), Err(PacketError::Length));
    }

    #[test]
    fn other_versions_and_broken_layouts_are_rejected() {
        let old = PacketError::Version { major: 2, minor: 0 };
        assert_eq!(Packet::parse(&[0, 2, 0, 0]), Err(old));
        for tail in [
            &b"user"[..],
            b"user\0",
            b"user\0x\0",
            b"user\0x\0\0trailing\0",
            b"",
        ] {
            let body = [&[0, 3, 0, 0], tail].concat();
            assert_eq!(Packet::parse(&body), Err(PacketError::Layout), "{tail:?}");
        }
    }

    #[test]
    fn names_that_are_missing_or_could_forge_the_log_are_rejected() {
        assert_eq!(startup(&[]).target(), Err(PacketError::NoUser));
        assert_eq!(startup(&[("user", "")]).target(), Err(PacketError::NoUser));
        for name in ["a\nb", "a\u{1f}b", &"x".repeat(600)] {
            assert_eq!(
                startup(&[("user", name)]).target(),
                Err(PacketError::Name("user"))
            );
            let message = startup(&[("user", "ada"), ("database", name)]);
            assert_eq!(message.target(), Err(PacketError::Name("database")));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_parse_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Packet::Startup(startup)) = Packet::parse(&bytes) {
                let _ = startup.target();
            }
        }

        #[test]
        fn any_parameters_parse_without_panic(tail in proptest::collection::vec(0..4_u8, 0..60)) {
            let body = [&[0, 3, 0, 0], &tail[..]].concat();
            if let Ok(Packet::Startup(startup)) = Packet::parse(&body) {
                prop_assert_eq!(&startup.render()[4..], &body[..]);
            }
        }

        #[test]
        fn rewriting_always_gives_a_packet_that_says_so(
            user in "[a-z.]{1,20}", database in "[a-z]{1,20}",
            names in proptest::collection::vec("[a-z_]{1,12}", 0..8),
        ) {
            let pairs: Vec<_> = names.iter().map(|name| (name.as_str(), "value")).collect();
            let routed = startup(&pairs).with_target(&user, &database);
            match parse(&routed.render()) {
                Ok(Packet::Startup(parsed)) => {
                    prop_assert_eq!(parsed.target(), Ok((user.as_str(), database.as_str())));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
