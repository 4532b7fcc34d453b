//! The first line of an entry, which says whether it holds the text or where the text is.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

const WHOLE: &[u8] = b"whole\n";
const SPLIT: &[u8] = b"split ";

/// What stands under a key.
#[derive(Debug, PartialEq)]
pub(super) enum Head<'a> {
    /// The text itself.
    Whole(Text<'a>),
    /// The text is in entries of its own.
    Split(Split),
}

/// Never shown.
#[derive(PartialEq)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// Which parts make up a text, and how to know that they belong together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Split {
    pub(super) place: Place,
    pub(super) count: usize,
    digest: String,
}

/// Parts have two places, so that new ones never overwrite those that are still in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    A,
    B,
}

impl<'a> Head<'a> {
    /// `None` for what we have not written.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if let Some(text) = bytes.strip_prefix(WHOLE) {
            return Some(Self::Whole(Text(text)));
        }
        let line = std::str::from_utf8(bytes.strip_prefix(SPLIT)?).ok()?;
        let mut words = line.split(' ');
        let place = match words.next()? {
            "a" => Place::A,
            "b" => Place::B,
            _ => return None,
        };
        let count = words.next()?.parse().ok()?;
        let digest = words.next()?.to_owned();
        words.next().is_none().then_some(Self::Split(Split {
            place,
            count,
            digest,
        }))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Whole(Text(text)) => [WHOLE, text].concat(),
            Self::Split(split) => {
                let (place, count, digest) = (split.place, split.count, &split.digest);
                [SPLIT, format!("{place} {count} {digest}").as_bytes()].concat()
            }
        }
    }
}

impl Split {
    pub(super) fn of(text: &[u8], place: Place, count: usize) -> Self {
        Self {
            place,
            count,
            digest: digest(text),
        }
    }

    /// Whether these are the bytes that were split.
    pub(super) fn is_of(&self, text: &[u8]) -> bool {
        self.digest == digest(text)
    }
}

fn digest(text: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

impl Place {
    pub(super) const BOTH: [Self; 2] = [Self::A, Self::B];

    pub(super) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// What the part with this number is called; the first is 1.
    pub(super) fn part(self, key: &str, number: usize) -> String {
        format!("{key} (part {self}{number})")
    }
}

impl fmt::Display for Place {
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
            Head::Split(Split::of(long.as_bytes(), Place::A, 12)),
            Head::Split(Split::of(b"", Place::B, 0)),
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
