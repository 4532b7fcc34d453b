//! Rejects most lines of a segment by their bytes: parsing a line costs ten times as much.
//!
//! Whatever a query asks for in a text must occur in the line itself, apart from characters that JSON
//! escapes and letters that are no ASCII; so those are left out of what is looked for.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Query;
use crate::{Level, record::line_level};

/// What every matching line has.
#[derive(Debug, Default)]
pub(crate) struct Prefilter {
    texts: Vec<Needle>,
    status_classes: Vec<u8>,
    min_level: Option<Level>,
    level: Option<Level>,
}

impl Prefilter {
    pub(crate) fn of(query: &Query) -> Self {
        let mut filter = Self {
            min_level: query.level,
            ..Self::default()
        };
        for term in &query.terms {
            match term.required() {
                Some(Required::Text(text)) => filter.texts.extend(Needle::in_text(text)),
                Some(Required::StatusClass(class)) => filter.status_classes.push(class),
                Some(Required::Level(level)) => filter.level = Some(level),
                None => {}
            }
        }
        filter
    }

    /// Whether the line may match.
    pub(crate) fn admits(&self, line: &[u8]) -> bool {
        self.admits_level(line)
            // A letter that is no ASCII may be a letter of ASCII in lower case.
            && (self.texts.iter().all(|text| text.is_in(line)) || !line.is_ascii())
            && self.status_classes.iter().all(|class| may_have_status(line, *class))
    }

    fn admits_level(&self, line: &[u8]) -> bool {
        if self.min_level.is_none() && self.level.is_none() {
            return true;
        }
        line_level(line).is_none_or(|level| {
            self.min_level.is_none_or(|min| level >= min)
                && self.level.is_none_or(|wanted| level == wanted)
        })
    }
}

/// What a term requires of a line.
pub(super) enum Required<'a> {
    /// This text, in lower case, somewhere.
    Text(&'a str),
    /// A field `status` of three digits of which this is the first.
    StatusClass(u8),
    Level(Level),
}

/// ASCII in lower case that JSON does not escape.
#[derive(Debug)]
struct Needle {
    bytes: Vec<u8>,
    /// Index of the byte that is expected least often.
    rarest: usize,
}

impl Needle {
    /// The longest part of a text that stands in lines as it is; `None` if there is none.
    fn in_text(text: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii() && !c.is_ascii_control() && c != '"' && c != '\\';
        let part = text.split(|c| !is_plain(c)).max_by_key(|part| part.len())?;
        let bytes = part.as_bytes().to_ascii_lowercase();
        let rarest = (0..bytes.len()).min_by_key(|at| frequency(bytes[*at]))?;
        Some(Self { bytes, rarest })
    }

    fn is_in(&self, line: &[u8]) -> bool {
        let lower = self.bytes[self.rarest];
        let after = self.bytes.len() - self.rarest;
        let mut found = memchr::memchr2_iter(lower, lower.to_ascii_uppercase(), line);
        found.any(|at| {
            let start = at.checked_sub(self.rarest);
            let part = start.and_then(|start| line.get(start..at + after));
            part.is_some_and(|part| part.eq_ignore_ascii_case(&self.bytes))
        })
    }
}

/// A rank by how often bytes occur in our lines.
fn frequency(byte: u8) -> u8 {
    match byte {
        b'z' | b'q' | b'x' | b'j' | b'k' | b'w' | b'%' | b'*' | b'@' | b'!' => 0,
        b'v' | b'f' | b'y' | b'b' | b'g' | b'h' => 1,
        b'p' | b'm' | b'u' | b'c' | b'd' | b'l' | b'9' | b'8' | b'7' => 2,
        b'0'..=b'6' | b'n' | b'r' | b'o' | b's' | b'/' | b'_' | b'-' => 3,
        b'e' | b't' | b'a' | b'i' | b' ' | b',' | b':' | b'.' => 4,
        _ => 2,
    }
}

/// The beginning of the key `status`, and of `status.id`, which `status` also finds. Built once: for
/// short lines that takes as long as the search.
static STATUS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"status"));

/// A line with one status, and no other value under that key, is judged by its first digit.
fn may_have_status(line: &[u8], class: u8) -> bool {
    let mut has_another = false;
    for at in STATUS.find_iter(line) {
        match &line[at + STATUS.needle().len()..] {
            [b'"', b':', digit, ..] if digit.is_ascii_digit() => {
                if has_another || *digit == class {
                    return true;
                }
                has_another = true;
            }
            // A text as value, `status.id`, or a torn line.
            [b'"', b':', ..] | [b'.', ..] | [] => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Record, Source};

    fn line(record: &Record) -> Vec<u8> {
        let mut line = Vec::new();
        record.write_line(&mut line);
        line
    }

    fn record(message: &str) -> Record {
        Record::new(Source::Rest, Level::Warn, message).project("shop")
    }

    fn query(terms: &str) -> Query {
        Query {
            terms: Query::parse_terms(terms).expect("good terms"),
            ..Query::all()
        }
    }

    fn admits(terms: &str, record: &Record) -> bool {
        Prefilter::of(&query(terms)).admits(&line(record))
    }

    #[test]
    fn lines_without_the_text_are_rejected() {
        let failed = record("The Query Failed")
            .field("status", 503)
            .field("path", "/rest/v1/Orders");
        for terms in [
            "failed",
            "QUERY",
            "path:/rest/v1/orders",
            "path:*orders",
            "status:5xx",
            "status:503",
            "level:warn",
        ] {
            assert!(admits(terms, &failed), "{terms}");
        }
        for terms in [
            "passed",
            "path:/rest/v1/users",
            "path:*users*",
            "status:4xx",
            "status:404",
            "level:error",
            "failed passed",
        ] {
            assert!(!admits(terms, &failed), "{terms}");
        }
    }

    #[test]
    fn exclusions_reject_nothing() {
        assert!(admits(
            "-passed -level:error -status:4xx",
            &record("failed").field("status", 503)
        ));
    }

    #[test]
    fn the_minimum_level_is_read_from_the_line() {
        let at_least = |level| {
            let query = Query {
                level: Some(level),
                ..Query::all()
            };
            Prefilter::of(&query).admits(&line(&record("m")))
        };
        assert!(at_least(Level::Info));
        assert!(at_least(Level::Warn));
        assert!(!at_least(Level::Error));
    }

    /// The prefilter is only an optimisation: it must never change what a query finds.
    #[test]
    fn whatever_matches_is_admitted() {
        let nested = serde_json::json!({ "z": [1.5, "a\"b"], "a": null });
        let records = [
            record("plain text").field("status", 200),
            record("quoted \"text\" and \\ back\nline\ttab"),
            record("Straße ÜBER Kelvin \u{212a}"),
            record("K")
                .field("status", "503")
                .field("n", 1e21)
                .field("f", 0.1),
            record("m").field("status.id", 404).field("nested", nested),
            record("m")
                .field("inner", serde_json::json!({ "status": 200 }))
                .field("status.id", 404),
            record("m")
                .request_id("0198-AB")
                .field("ok", true)
                .field("none", serde_json::Value::Null),
            record("{\"status\":200}").field("status", 503),
        ];
        let terms = [
            "text",
            "\"quoted \\\"text\\\"\"",
            "back",
            "straße",
            "über",
            "kelvin k",
            "k",
            "status:5xx",
            "status:4xx",
            "status:2xx",
            "status:503",
            "status:*",
            "n:1e+21",
            "f:0.1",
            "nested:*a*b*",
            "0198-ab",
            "ok:true",
            "none:null",
            "message:*tab",
            "project:shop",
            "project:s*p",
            "503",
            "1.5",
            "\"a\\\"b\"",
            "\"\\\\\"",
        ];
        let mut matches = 0;
        for terms in terms {
            let query = query(terms);
            for record in &records {
                if query.matches(record) {
                    matches += 1;
                    assert!(admits(terms, record), "{terms} in {record:?}");
                }
            }
        }
        assert!(matches > 30, "{matches}");
    }
}
