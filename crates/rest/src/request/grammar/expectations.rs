//! What the grammar expected where parsing failed, for error messages.
//!
//! Texts are parsed with [`Discard`], which costs nothing. Only if that fails they are parsed again
//! with a [`Recorder`], which merges expectations by the rules of Haskell's Parsec, because its
//! messages are part of the wire contract (§7.3).

use std::fmt::Debug;

use super::failure::{render_char, render_string};

/// A position in the text, as the number of bytes that remain: smaller is further.
pub(in crate::request) type Remaining = usize;

/// Something that a rule expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::request) enum Expected {
    Char(char),
    Word(&'static str),
    Label(&'static str),
}

/// What was found instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::request) enum Found {
    /// An unexpected character, or the end.
    Next(Option<char>),
    /// A character that a rule forbids here.
    Forbidden(char),
}

/// Collects what was expected at the furthest position.
pub(in crate::request) trait Expectations: Default + Debug {
    /// Whether anything is recorded; otherwise rules may take shortcuts.
    const RECORDS: bool;

    /// Input was consumed, so earlier expectations no longer matter.
    fn clear(&mut self);
    /// Adds expectations; those at a further position win.
    fn record(&mut self, at: Remaining, found: Found, expected: &[Expected]);
    /// Merges expectations that were recorded earlier.
    fn merge_earlier(&mut self, earlier: Self);
    /// Replaces all expectations by one label.
    fn relabel(&mut self, label: &'static str);
    fn is_empty(&self) -> bool;
}

/// Records nothing.
#[derive(Debug, Default)]
pub(super) struct Discard;

impl Expectations for Discard {
    const RECORDS: bool = false;

    fn clear(&mut self) {}
    fn record(&mut self, _: Remaining, _: Found, _: &[Expected]) {}
    fn merge_earlier(&mut self, _: Self) {}
    fn relabel(&mut self, _: &'static str) {}
    fn is_empty(&self) -> bool {
        true
    }
}

/// Records everything at the furthest position.
#[derive(Debug)]
pub(super) struct Recorder {
    at: Remaining,
    /// The first unexpected character.
    found: Option<Option<char>>,
    forbidden: Vec<char>,
    expected: Vec<Expected>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            at: Remaining::MAX,
            found: None,
            forbidden: Vec::new(),
            expected: Vec::new(),
        }
    }
}

impl Expectations for Recorder {
    const RECORDS: bool = true;

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn record(&mut self, at: Remaining, found: Found, expected: &[Expected]) {
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
        self.merge_earlier(earlier);
    }

    fn merge_earlier(&mut self, earlier: Self) {
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

impl Recorder {
    /// Where parsing failed, at most `start` bytes before the end.
    pub(super) fn position(&self, start: Remaining) -> Remaining {
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

/// `a`, `a or b`, `a, b or c`, without duplicates.
fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let mut distinct: Vec<String> = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    let last = distinct.pop()?;
    if distinct.is_empty() {
        Some(last)
    } else {
        Some(format!("{} or {last}", distinct.join(", ")))
    }
}
