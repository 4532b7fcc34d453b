//! One condition of the query bar.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    pattern::{Pattern, contains_ignoring_case},
    prefilter::Required,
};
use crate::{Level, QueryError, Record, Source};

/// One condition of the query bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    is_excluding: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    /// Somewhere in the message, the request id or a value; in lower case.
    Text(String),
    Level(Level),
    Source(Source),
    Field {
        key: String,
        pattern: Pattern,
    },
}

impl Term {
    /// `text` occurs in the message, the request id or the value of a field.
    pub fn text(text: &str) -> Self {
        Self::including(Test::Text(text.to_lowercase()))
    }

    /// The value under `key` is exactly this, apart from upper and lower case.
    pub fn field(key: &str, value: &str) -> Result<Self, QueryError> {
        Self::with_pattern(key, value, Pattern::exact(value))
    }

    /// The value under `key` is like this, as typed without quotes.
    pub(super) fn like(key: &str, value: &str) -> Result<Self, QueryError> {
        Self::with_pattern(key, value, Pattern::parse(key, value))
    }

    fn with_pattern(key: &str, value: &str, pattern: Pattern) -> Result<Self, QueryError> {
        Ok(Self::including(match key {
            "level" => Test::Level(value.parse()?),
            "source" => Test::Source(value.parse()?),
            _ => Test::Field {
                key: key.to_owned(),
                pattern,
            },
        }))
    }

    fn including(test: Test) -> Self {
        Self {
            is_excluding: false,
            test,
        }
    }

    /// The opposite: records that meet the condition are left out.
    #[must_use]
    pub fn excluding(mut self) -> Self {
        self.is_excluding = !self.is_excluding;
        self
    }

    /// What the line of every record has that meets the condition.
    pub(super) fn required(&self) -> Option<Required<'_>> {
        if self.is_excluding {
            return None;
        }
        match &self.test {
            Test::Text(text) => Some(Required::Text(text)),
            Test::Level(level) => Some(Required::Level(*level)),
            Test::Source(_) => None,
            Test::Field { pattern, .. } => pattern.required(),
        }
    }

    pub(super) fn matches(&self, record: &Record) -> bool {
        let holds = match &self.test {
            Test::Text(text) => contains_text(record, text),
            Test::Level(level) => record.level == *level,
            Test::Source(source) => record.source == *source,
            Test::Field { key, pattern } => {
                value_of(record, key).is_some_and(|value| pattern.matches(&value))
            }
        };
        holds != self.is_excluding
    }
}

fn contains_text(record: &Record, text: &str) -> bool {
    contains_ignoring_case(&record.message, text)
        || record
            .request_id
            .as_ref()
            .is_some_and(|id| contains_ignoring_case(id, text))
        || record
            .fields
            .iter()
            .any(|(_, value)| contains_ignoring_case(&text_of(value), text))
}

/// What a key of the query bar means in this record. `user` also finds `user.id`, as `function`
/// finds `function.name`: people type the short form.
fn value_of<'a>(record: &'a Record, key: &str) -> Option<Cow<'a, str>> {
    match key {
        "project" => Some(Cow::Borrowed(&record.project)),
        "message" => Some(Cow::Borrowed(&record.message)),
        "request_id" => record.request_id.as_deref().map(Cow::Borrowed),
        _ => record
            .fields
            .get(key)
            .or_else(|| record.fields.get(format!("{key}.id").as_str()))
            .or_else(|| record.fields.get(format!("{key}.name").as_str()))
            .map(text_of),
    }
}

fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record::new(
            Source::Rest,
            Level::Error,
            "Canceling statement due to Timeout",
        )
        .project("shop")
        .request_id("0198-AB")
        .field("status", 503)
        .field("path", "/rest/v1/orders")
        .field("user.id", "u1")
        .field("cached", false)
    }

    fn check(term: Result<Term, QueryError>, expected: bool) {
        let term = term.unwrap();
        assert_eq!(term.matches(&record()), expected, "{term:?}");
        assert_eq!(
            term.clone().excluding().matches(&record()),
            !expected,
            "-{term:?}"
        );
    }

    #[test]
    fn keys_find_fields_and_the_parts_of_a_record() {
        check(Term::like("status", "5xx"), true);
        check(Term::like("status", "503"), true);
        check(Term::like("status", "4xx"), false);
        check(Term::like("path", "/rest/v1/*"), true);
        check(Term::like("user", "u1"), true);
        check(Term::like("user.id", "u1"), true);
        check(Term::like("cached", "false"), true);
        check(Term::like("level", "ERROR"), true);
        check(Term::like("level", "warn"), false);
        check(Term::like("source", "rest"), true);
        check(Term::like("project", "sh*"), true);
        check(Term::like("request_id", "0198-ab"), true);
        check(Term::like("message", "*timeout"), true);
        check(Term::like("absent", "*"), false);
    }

    #[test]
    fn exact_values_take_stars_as_they_are() {
        check(Term::field("path", "/rest/v1/*"), false);
        check(Term::field("path", "/rest/v1/orders"), true);
    }

    #[test]
    fn text_is_sought_in_message_request_and_values() {
        check(Ok(Term::text("TIMEOUT")), true);
        check(Ok(Term::text("orders")), true);
        check(Ok(Term::text("0198")), true);
        check(Ok(Term::text("503")), true);
        check(Ok(Term::text("user.id")), false);
    }

    #[test]
    fn misspelt_levels_and_sources_are_rejected() {
        let level = Term::like("level", "eror").unwrap_err();
        let source = Term::like("source", "db").unwrap_err();

        assert_eq!(level, QueryError::UnknownLevel("eror".to_owned()));
        assert_eq!(source, QueryError::UnknownSource("db".to_owned()));
    }
}
