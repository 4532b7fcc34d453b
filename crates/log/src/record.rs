//! One log record and its line in a segment.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Fields, Level, Source, Timestamp};

/// A record's line is cut to this size and then carries the field `truncated: true`.
pub const MAX_RECORD_BYTES: usize = 64 << 10;

/// The name of the field that marks a record whose texts were cut.
pub(crate) const TRUNCATED_FIELD: &str = "truncated";

/// The beginning of every line; the time follows, so that it is found without parsing.
pub(crate) const LINE_PREFIX: &[u8] = b"{\"time\":\"";

/// One entry of the log.
///
/// ```
/// use plinth_log::{Level, Record, Source};
///
/// let record = Record::new(Source::Rest, Level::Info, "rows were read")
///     .project("shop")
///     .request_id("0198c1f2")
///     .field("status", 200)
///     .field("path", "/rest/v1/orders");
/// assert_eq!(record.fields["status"], 200);
/// ```
// The order of the fields is the order in the file; `time` and `level` must stay first (`LINE_PREFIX`,
// `line_level`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When it happened.
    pub time: Timestamp,
    /// How serious it is.
    pub level: Level,
    /// The ref of the project it belongs to; empty until the store fills in its own.
    pub project: String,
    /// Which part of the platform it comes from.
    pub source: Source,
    /// What happened, as a sentence.
    pub message: String,
    /// The request during which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Details under fixed names (`status`, `path`, `user.id`, `duration_ms`).
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub fields: Fields,
}

impl Record {
    /// A record of this moment.
    pub fn new(source: Source, level: Level, message: impl Into<String>) -> Self {
        Self {
            time: Timestamp::now(),
            level,
            project: String::new(),
            source,
            message: message.into(),
            request_id: None,
            fields: Fields::default(),
        }
    }

    /// Sets the project.
    #[must_use]
    pub fn project(mut self, project: impl Into<String>) -> Self {
        self.project = project.into();
        self
    }

    /// Sets the time, if not now.
    #[must_use]
    pub fn at(mut self, time: impl Into<Timestamp>) -> Self {
        self.time = time.into();
        self
    }

    /// Sets the request id.
    #[must_use]
    pub fn request_id(mut self, request_id: impl Into<String>) -> Self {
        self.request_id = Some(request_id.into());
        self
    }

    /// Adds a field; a second one of the same name replaces the first.
    #[must_use]
    pub fn field(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        self.fields.insert(name, value);
        self
    }

    /// Appends the record as one line, its line feed included.
    pub(crate) fn write_line(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(&mut *out, self).expect(
            "a record consists of texts and JSON values, and writing to memory cannot fail",
        );
        out.push(b'\n');
    }

    /// Parses a line; `None` if it is torn or not ours.
    pub(crate) fn parse_line(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Approximate memory use of the texts; cheap enough for every write.
    pub(crate) fn weight(&self) -> usize {
        let request_id = self.request_id.as_ref().map_or(0, String::len);
        let fields = self
            .fields
            .iter()
            .map(|(name, value)| name.len() + weight_of(value) + 8);
        128 + self.project.len() + self.message.len() + request_id + fields.sum::<usize>()
    }
}

fn weight_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 24,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| weight_of(item) + 2).sum::<usize>() + 2,
        Value::Object(members) => {
            members
                .iter()
                .map(|(name, value)| name.len() + weight_of(value) + 8)
                .sum::<usize>()
                + 2
        }
    }
}

/// What stands between time and level.
const LEVEL_PREFIX: &[u8] = b"\",\"level\":\"";

/// The level of a line, which stands behind its time.
pub(crate) fn line_level(line: &[u8]) -> Option<Level> {
    let rest = line.get(LINE_PREFIX.len() + Timestamp::TEXT_LEN..)?;
    let rest = rest.strip_prefix(LEVEL_PREFIX)?;
    let name = rest.get(..memchr::memchr(b'"', rest)?)?;
    let mut levels = Level::ALL.into_iter();
    levels.find(|level| level.as_str().as_bytes() == name)
}

/// Whether `project` may name a folder: 1 to 64 lower-case letters, digits, `_` or `-`.
pub fn is_valid_project(project: &str) -> bool {
    (1..=64).contains(&project.len())
        && project
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_and_starts_with_its_time() {
        let record = Record::new(Source::Api, Level::Warn, "two\nlines, \"quoted\"")
            .project("shop")
            .at(Timestamp::from_micros(1_785_578_400_000_001))
            .request_id("r1")
            .field("status", 503)
            .field("tags", serde_json::json!(["a", null]));

        let mut line = Vec::new();
        record.write_line(&mut line);

        assert!(line.starts_with(b"{\"time\":\"2026-08-01T10:00:00.000001Z\","));
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(Record::parse_line(&line), Some(record));
    }

    #[test]
    fn what_is_absent_is_not_written() {
        let record = Record::new(Source::Jobs, Level::Info, "m")
            .project("p")
            .at(Timestamp::MIN);

        let mut line = Vec::new();
        record.write_line(&mut line);

        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"time\":\"0000-01-01T00:00:00.000000Z\",\"level\":\"info\",\"project\":\"p\",\
             \"source\":\"jobs\",\"message\":\"m\"}\n"
        );
    }

    #[test]
    fn only_refs_that_stay_in_the_folder_are_valid() {
        for good in [
            "a",
            "default",
            "abcdefghijklmnopqrst",
            "shop_2-eu",
            &"x".repeat(64),
        ] {
            assert!(is_valid_project(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../etc",
            "a/b",
            "a\\b",
            "A",
            "a b",
            "é",
            "a\0",
            &"x".repeat(65),
        ] {
            assert!(!is_valid_project(bad), "{bad}");
        }
    }
}
