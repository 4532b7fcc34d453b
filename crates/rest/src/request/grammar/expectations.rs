//! What would have been welcome where a text stopped making sense.
//!
//! A grammar runs twice at most. The first run is [`Silent`] and costs nothing beyond reading. Only
//! a text that fails is read again with a [`Record`], whose rules of keeping and forgetting are
//! those of Haskell's Parsec, because its sentences are part of the wire contract (§7.3).

use std::fmt::Debug;

use super::failure::{render_char, render_string};

/// A place in the text, given as the number of bytes that follow: the smaller, the further.
pub(in crate::request) type Remaining = usize;

/// Something that a grammar can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::request) enum Expected {
    Char(char),
    Word(&'static str),
    Label(&'static str),
}

/// What stood there instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::request) enum Found {
    /// A character that does not fit, or the end.
    Next(Option<char>),
    /// A character that is ruled out at this place.
    Forbidden(char),
}

/// Keeps what is learnt about the place where reading may fail.
pub(in crate::request) trait Expectations: Default + Debug {
    /// Whether anything is kept; where not, a grammar may take shortcuts.
    const RECORDS: bool;

    /// Something was read, so that what was possible before it no longer matters.
    fn forget(&mut self);
    /// Adds to what is known; further places win over nearer ones.
    fn note(&mut self, at: Remaining, found: Found, expected: &[Expected]);
    /// Puts back what was known before, as if it had been there all the time.
    fn follow(&mut self, earlier: Self);
    /// Names all that was expected by one label.
    fn relabel(&mut self, label: &'static str);
    fn is_empty(&self) -> bool;
}

/// Keeps nothing.
#[derive(Debug, Default)]
pub(super) struct Silent;

impl Expectations for Silent {
    const RECORDS: bool = false;

    fn forget(&mut self) {}
    fn note(&mut self, _: Remaining, _: Found, _: &[Expected]) {}
    fn follow(&mut self, _: Self) {}
    fn relabel(&mut self, _: &'static str) {}
    fn is_empty(&self) -> bool {
        true
    }
}

/// Keeps everything that belongs to the furthest place.
#[derive(Debug)]
pub(super) struct Record {
    at: Remaining,
    /// The first that did not fit.
    found: Option<Option<char>>,
    forbidden: Vec<char>,
    expected: Vec<Expected>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            at: Remaining::MAX,
            found: None,
            forbidden: Vec::new(),
            expected: Vec::new(),
        }
    }
}

impl Expectations for Record {
    const RECORDS: bool = true;

    fn forget(&mut self) {
        *self = Self::default();
    }

    fn note(&mut self, at: Remaining, found: Found, expected: &[Expected]) {
        let mut later = Self {
            at,
            expected: expected.to_vec(),
            ..Self::default()
        };
        match found {
            Found::Next(next) => later.found = Some(next),
            Found::Forbidden(forbidden) => later.forbidden.push(forbidden),
        }
        let earlier = std::mem::replace(self, later);
        self.follow(earlier);
    }

    fn follow(&mut self, earlier: Self) {
        match (earlier.is_empty(), self.is_empty()) {
            (false, true) => *self = earlier,
            (true, false) => {}
            _ if earlier.at < self.at => *self = earlier,
            _ if earlier.at > self.at => {}
            _ => {
                let later = std::mem::replace(self, earlier);
                self.found = self.found.or(later.found);
                self.forbidden.extend(later.forbidden);
                self.expected.extend(later.expected);
            }
        }
    }

    fn relabel(&mut self, label: &'static str) {
        self.expected.clear();
        self.expected.push(Expected::Label(label));
    }

    fn is_empty(&self) -> bool {
        self.found.is_none() && self.forbidden.is_empty() && self.expected.is_empty()
    }
}

impl Record {
    /// Where reading failed, at most `start` bytes before the end.
    pub(super) fn at(&self, start: Remaining) -> Remaining {
        self.at.min(start)
    }

    /// `unexpected "x" expecting "a", "b" or c`.
    pub(super) fn details(&self) -> String {
        let found = match (&self.forbidden[..], self.found) {
            ([], None) => None,
            ([], Some(None)) => Some("end of input".to_owned()),
            ([], Some(Some(next))) => Some(render_string(next.encode_utf8(&mut [0; 4]))),
            (forbidden, _) => list(forbidden.iter().copied().map(render_char)),
        };
        let expected = list(self.expected.iter().map(|expected| match expected {
            Expected::Char(char) => render_string(char.encode_utf8(&mut [0; 4])),
            Expected::Word(word) => render_string(word),
            Expected::Label(label) => (*label).to_owned(),
        }));
        match (found, expected) {
            (None, None) => "unknown parse error".to_owned(),
            (Some(found), None) => format!("unexpected {found}"),
            (None, Some(expected)) => format!("expecting {expected}"),
            (Some(found), Some(expected)) => format!("unexpected {found} expecting {expected}"),
        }
    }
}

/// `a`, `a or b`, `a, b or c`; each thing once.
fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let mut distinct: Vec<String> = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    let last = distinct.pop()?;
    match distinct.is_empty() {
        true => Some(last),
        false => Some(format!("{} or {last}", distinct.join(", "))),
    }
}
