//! DNS queries and responses (RFC 1035 §4).

const HEADER_BYTES: usize = 12;
const RECURSION_DESIRED: u16 = 0x0100;
const IS_RESPONSE: u16 = 0x8000;
const INTERNET: u16 = 1;
const NO_SUCH_NAME: u16 = 3;
const MAX_LABEL_BYTES: usize = 63;
/// More labels and pointers than any valid name has, so pointers that form a loop are detected.
const MAX_JUMPS: usize = 128;

/// The type of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    A,
    Mx,
    Aaaa,
}

impl Kind {
    fn code(self) -> u16 {
        match self {
            Self::A => 1,
            Self::Mx => 15,
            Self::Aaaa => 28,
        }
    }
}

/// The result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DnsResponse {
    /// Names of mail servers; for addresses, empty texts.
    Found(Vec<String>),
    /// The name exists, but has no record of that type.
    Nothing,
    NoSuchName,
}

/// The packet of a query, if the domain is valid.
pub(super) fn question(id: u16, domain: &str, kind: Kind) -> Option<Vec<u8>> {
    let mut packet = Vec::with_capacity(HEADER_BYTES + domain.len() + 6);
    for word in [id, RECURSION_DESIRED, 1, 0, 0, 0] {
        packet.extend(word.to_be_bytes());
    }
    for label in domain.split('.') {
        let length = u8::try_from(label.len()).ok()?;
        if !(1..=MAX_LABEL_BYTES).contains(&label.len()) {
            return None;
        }
        packet.push(length);
        packet.extend(label.as_bytes());
    }
    packet.push(0);
    packet.extend(kind.code().to_be_bytes());
    packet.extend(INTERNET.to_be_bytes());
    Some(packet)
}

/// Parses the response to query `id`; `None` for other packets and server failures.
pub(super) fn read(packet: &[u8], id: u16, kind: Kind) -> Option<DnsResponse> {
    let flags = word(packet, 2)?;
    if word(packet, 0)? != id || flags & IS_RESPONSE == 0 {
        return None;
    }
    match flags & 0x000f {
        0 => {}
        NO_SUCH_NAME => return Some(DnsResponse::NoSuchName),
        _ => return None,
    }
    let mut at = HEADER_BYTES;
    for _ in 0..word(packet, 4)? {
        at = after_name(packet, at)? + 4;
    }
    let mut found = Vec::new();
    for _ in 0..word(packet, 6)? {
        at = after_name(packet, at)?;
        let (code, length) = (word(packet, at)?, word(packet, at + 8)?);
        let data = at + 10;
        if code == kind.code() {
            found.push(match kind {
                Kind::Mx => name(packet, data + 2)?,
                Kind::A | Kind::Aaaa => String::new(),
            });
        }
        at = data + usize::from(length);
    }
    Some(if found.is_empty() {
        DnsResponse::Nothing
    } else {
        DnsResponse::Found(found)
    })
}

fn word(packet: &[u8], at: usize) -> Option<u16> {
    let bytes = packet.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

/// Where the name at `at` ends; it may end in a pointer.
fn after_name(packet: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *packet.get(at)? {
            0 => return Some(at + 1),
            length if length >= 0xc0 => return Some(at + 2),
            length => at += 1 + usize::from(length),
        }
    }
}

/// The name at `at` in lower case, with pointers followed.
fn name(packet: &[u8], mut at: usize) -> Option<String> {
    let mut labels = Vec::new();
    for _ in 0..MAX_JUMPS {
        match *packet.get(at)? {
            0 => return Some(labels.join(".")),
            length if length >= 0xc0 => at = usize::from(word(packet, at)? & 0x3fff),
            length => {
                let label = packet.get(at + 1..at + 1 + usize::from(length))?;
                labels.push(String::from_utf8_lossy(label).to_lowercase());
                at += 1 + usize::from(length);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_question_is_written_as_the_standard_has_it() {
        let packet = question(0x1234, "mail.dev", Kind::Mx).expect("a packet");

        let expected = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\
                         \x04mail\x03dev\x00\x00\x0f\x00\x01";
        assert_eq!(packet, expected);
        assert_eq!(question(1, "a..b", Kind::Mx), None);
        assert_eq!(question(1, &"a".repeat(64), Kind::Mx), None);
    }

    #[test]
    fn references_in_names_are_followed() {
        let mut packet = question(7, "mail.dev", Kind::Mx).expect("a packet");
        packet[2] = 0x81;
        packet[7] = 1;
        packet.extend(b"\xc0\x0c\x00\x0f\x00\x01\x00\x00\x00\x05\x00\x07\x00\x0a\x02MX\xc0\x0c");

        let found = read(&packet, 7, Kind::Mx);

        assert_eq!(
            found,
            Some(DnsResponse::Found(vec!["mx.mail.dev".to_owned()]))
        );
        assert_eq!(read(&packet, 8, Kind::Mx), None, "another question's");
        assert_eq!(read(&packet, 7, Kind::A), Some(DnsResponse::Nothing));
    }

    #[test]
    fn server_errors_are_no_response() {
        let mut packet = question(7, "mail.dev", Kind::Mx).expect("a packet");
        assert_eq!(read(&packet, 7, Kind::Mx), None, "a question is none");
        packet[2] = 0x81;
        packet[3] = 0x83;
        assert_eq!(read(&packet, 7, Kind::Mx), Some(DnsResponse::NoSuchName));
        packet[3] = 0x82;
        assert_eq!(read(&packet, 7, Kind::Mx), None, "it failed");
    }

    proptest! {
        #[test]
        fn no_packet_makes_it_panic(rest in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut packet = vec![0, 7, 0x81, 0, 0, 1, 0, 3, 0, 0, 0, 0];
            packet.extend(rest);
            _ = read(&packet, 7, Kind::Mx);
        }
    }
}
