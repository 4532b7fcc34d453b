//! The cursor of `list-v2`: lines of `kind:value` in Base64, which clients pass back unread.

use base64::{Engine, engine::general_purpose::STANDARD};
use time::OffsetDateTime;

use crate::{error::StorageError, wire_time};

pub(super) const COLUMNS: &[&str] = &["name", "created_at", "updated_at"];
pub(super) const ORDERS: &[&str] = &["asc", "desc"];

/// Where a page starts: after this name, or after this time and name when sorted by time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) name: String,
    pub(super) order: &'static str,
    pub(super) column: &'static str,
    pub(super) time: Option<String>,
}

impl Cursor {
    pub(super) fn encode(&self) -> String {
        let mut lines = vec![format!("l:{}", self.name)];
        lines.push(format!("o:{}", self.order));
        lines.push(format!("c:{}", self.column));
        lines.extend(self.time.as_ref().map(|time| format!("a:{time}")));
        STANDARD.encode(lines.join("\n"))
    }

    pub(super) fn decode(text: &str) -> Result<Self, StorageError> {
        Self::parse(text).ok_or_else(|| StorageError::invalid_parameter("continuation token"))
    }

    fn parse(text: &str) -> Option<Self> {
        let text = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
        let mut cursor = Self {
            name: String::new(),
            order: "asc",
            column: "name",
            time: None,
        };
        for line in text.split('\n') {
            let (kind, value) = line.split_once(':')?;
            let word = |words: &'static [&'static str]| words.iter().find(|word| **word == value);
            match kind {
                "l" => cursor.name = value.to_owned(),
                "o" => cursor.order = word(ORDERS)?,
                "c" => cursor.column = word(COLUMNS)?,
                "a" => {
                    let time = plinth_db::parse_time(value)?;
                    cursor.time = Some(wire_time::render(time));
                }
                _ => return None,
            }
        }
        (!cursor.name.is_empty() && !cursor.name.contains('\0')).then_some(cursor)
    }

    /// The cursor after an entry of that name and time.
    pub(super) fn after(&self, name: String, time: Option<OffsetDateTime>) -> Self {
        Self {
            name,
            time: time.map(wire_time::render),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_encoding_and_decoding() {
        let cursor = Cursor {
            name: "a/b: c".to_owned(),
            order: "desc",
            column: "created_at",
            time: Some("2026-01-02T03:04:05.678Z".to_owned()),
        };
        assert_eq!(Cursor::decode(&cursor.encode()).ok(), Some(cursor));
    }

    #[test]
    fn an_invalid_cursor_is_rejected() {
        for text in [
            "x",
            "",
            &STANDARD.encode("l:"),
            &STANDARD.encode("l:a\nc:size"),
            &STANDARD.encode("l:a\na:soon"),
            &STANDARD.encode("l:a\na:0000-01-01T00:00:00Z"),
            &STANDARD.encode("l:a\na:9999-12-31T23:59:59-23:59"),
            &STANDARD.encode("l:a\0b"),
        ] {
            assert!(Cursor::decode(text).is_err(), "{text}");
        }
    }
}
