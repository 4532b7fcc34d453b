//! The header of an entry: whether it holds the text or refers to its parts.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

const WHOLE: &[u8] = b"whole\n";
const SPLIT: &[u8] = b"split ";

/// Content of the main entry of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Head<'a> {
    /// The text itself.
    Whole(Text<'a>),
    /// The text is split into other entries.
    Split(Split),
}

/// Never printed.
#[derive(PartialEq)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// Number and checksum of the parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Split {
    pub(super) slot: Slot,
    pub(super) count: usize,
    digest: String,
}

/// Parts alternate between two slots, so that a write never overwrites the current ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slot {
    A,
    B,
}

impl<'a> Head<'a> {
    /// `None` if the entry was not written by us.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if let Some(text) = bytes.strip_prefix(WHOLE) {
            return Some(Self::Whole(Text(text)));
        }
        let line = std::str::from_utf8(bytes.strip_prefix(SPLIT)?).ok()?;
        let mut words = line.split(' ');
        let slot = match words.next()? {
            "a" => Slot::A,
            "b" => Slot::B,
            _ => return None,
        };
        let count = words.next()?.parse().ok()?;
        let digest = words.next()?.to_owned();
        words.next().is_none().then_some(Self::Split(Split {
            slot,
            count,
            digest,
        }))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Whole(Text(text)) => [WHOLE, text].concat(),
            Self::Split(split) => {
                let (slot, count, digest) = (split.slot, split.count, &split.digest);
                [SPLIT, format!("{slot} {count} {digest}").as_bytes()].concat()
            }
        }
    }
}

impl Split {
    pub(super) fn of(text: &[u8], slot: Slot, count: usize) -> Self {
        Self {
            slot,
            count,
            digest: digest(text),
        }
    }

    /// Whether the bytes match the checksum.
    pub(super) fn is_of(&self, text: &[u8]) -> bool {
        self.digest == digest(text)
    }
}

fn digest(text: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

impl Slot {
    pub(super) const BOTH: [Self; 2] = [Self::A, Self::B];

    pub(super) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// The name of a part, numbered from 1.
    pub(super) fn part(self, key: &str, number: usize) -> String {
        format!("{key} (part {self}{number})")
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::A => "a",
            Self::B => "b",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back() {
        let long = "x".repeat(1000);
        let heads = [
            Head::Whole(Text(b"")),
            Head::Whole(Text(b"split a 1 x")),
            Head::Split(Split::of(long.as_bytes(), Slot::A, 12)),
            Head::Split(Split::of(b"", Slot::B, 0)),
        ];
        for head in heads {
            assert_eq!(Head::parse(&head.to_bytes()), Some(head));
        }
    }

    #[test]
    fn what_others_have_written_is_no_head() {
        for bytes in [
            &b""[..],
            b"{\"access_token\":\"t\"}",
            b"whole",
            b"split ",
            b"split c 1 x",
            b"split a -1 x",
            b"split a 1",
            b"split a 1 x y",
            b"split \xff 1 x",
        ] {
            assert_eq!(Head::parse(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn texts_are_not_shown() {
        let head = Head::Whole(Text(b"secret"));
        assert_eq!(format!("{head:?}"), "Whole(…)");
    }
}
