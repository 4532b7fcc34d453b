//! Options by PostgREST's names, and the conversion of their values (rest contract §9).
//!
//! Values that PostgREST rejects are errors; values that it silently treats as unset are warnings.
//! Both name the option, its value and what was expected, and all of them are collected.

use std::collections::BTreeMap;

/// Options from all sources, by dashed name.
#[derive(Debug, Default)]
pub(crate) struct Options {
    given: BTreeMap<String, Entry>,
    problems: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    value: Value,
    /// As the user wrote it: `PGRST_DB_POOL`, `db-pool`, `pgrst.db_pool`.
    written_name: String,
}

/// A value. Only the file has all four kinds; other sources have text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    /// As it was written.
    Number(String),
    Flag(bool),
    List(Vec<Value>),
}

impl Value {
    /// For messages.
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Number(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(_) => "a list".to_owned(),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given<T> {
    /// Not mentioned: the previous value stays.
    Absent,
    /// Explicitly unset: the default applies.
    Unset,
    Value(T),
}

impl<T> Given<T> {
    pub(crate) fn store(self, field: &mut T, default: T) {
        match self {
            Self::Absent => {}
            Self::Unset => *field = default,
            Self::Value(value) => *field = value,
        }
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Given<U> {
        match self {
            Self::Absent => Given::Absent,
            Self::Unset => Given::Unset,
            Self::Value(value) => Given::Value(change(value)),
        }
    }

    pub(crate) fn unwrap_or(self, default: T) -> T {
        match self {
            Self::Absent | Self::Unset => default,
            Self::Value(value) => value,
        }
    }

    pub(crate) fn optional(self) -> Option<T> {
        self.map(Some).unwrap_or(None)
    }
}

impl Options {
    /// Adds a value, unless a source of higher precedence has set it.
    pub(crate) fn add(&mut self, name: &str, written_name: &str, value: Value) {
        self.given.entry(name.to_owned()).or_insert_with(|| Entry {
            value,
            written_name: written_name.to_owned(),
        });
    }

    /// Adds an error without the value, which may be secret.
    pub(crate) fn reject(&mut self, names: &[&str], reason: &str) {
        let written_name = self.find(names).map(|entry| entry.written_name.as_str());
        let name = written_name.unwrap_or(names.first().copied().unwrap_or_default());
        self.problems.push(format!("{name}: {reason}"));
    }

    /// All options that start with `prefix.`, by full name.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Vec<(String, String)> {
        let inside = |name: &&String| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let names = self.given.keys().filter(inside);
        names
            .filter_map(|name| Some((name.clone(), text_of(&self.given[name].value)?)))
            .collect()
    }

    /// The warnings, or all errors.
    pub(crate) fn finish(self) -> Result<Vec<String>, Vec<String>> {
        if self.problems.is_empty() {
            Ok(self.warnings)
        } else {
            Err(self.problems)
        }
    }

    /// The first of the names with a value that is not empty, else the first that is present.
    fn find(&self, names: &[&str]) -> Option<&Entry> {
        let mut entries = names.iter().filter_map(|name| self.given.get(*name));
        let first = entries.clone().next();
        entries.find(|entry| !entry.value.is_empty()).or(first)
    }

    /// Converts an option with `read`, whose error says what was expected.
    pub(crate) fn read<T>(
        &mut self,
        names: &[&str],
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Given<T> {
        let Some(entry) = self.find(names) else {
            return Given::Absent;
        };
        if entry.value.is_empty() {
            return Given::Unset;
        }
        let outcome = match text_of(&entry.value) {
            Some(text) => read(&text),
            None => Err("a single value".to_owned()),
        };
        match outcome {
            Ok(value) => Given::Value(value),
            Err(expected) => {
                let problem = invalid(entry, &expected);
                self.problems.push(problem);
                Given::Absent
            }
        }
    }

    pub(crate) fn text(&mut self, names: &[&str]) -> Given<String> {
        self.read(names, |text| Ok(text.to_owned()))
    }

    /// Comma-separated parts, trimmed.
    pub(crate) fn list(&mut self, names: &[&str]) -> Given<Vec<String>> {
        self.text(names).map(|text| split(&text))
    }

    /// A list for which an empty value means an empty list, not the default.
    pub(crate) fn list_or_empty(&mut self, names: &[&str]) -> Given<Vec<String>> {
        match self.list(names) {
            Given::Unset => Given::Value(Vec::new()),
            other => other,
        }
    }

    /// One of the given words.
    pub(crate) fn choice<T: Copy>(&mut self, names: &[&str], choices: &[(&str, T)]) -> Given<T> {
        self.read(names, |text| {
            let found = choices.iter().find(|(word, _)| *word == text);
            found.map(|(_, meaning)| *meaning).ok_or_else(|| {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            })
        })
    }

    /// A whole number.
    pub(crate) fn integer(&mut self, names: &[&str]) -> Given<i64> {
        self.lenient(names, "a whole number", |value| match value {
            Value::Text(text) | Value::Number(text) => whole_number(text),
            Value::Flag(_) | Value::List(_) => None,
        })
    }

    /// `true` or `false` in any case, or a number; positive numbers mean true.
    pub(crate) fn flag(&mut self, names: &[&str]) -> Given<bool> {
        self.lenient(names, "true or false", |value| match value {
            Value::Flag(flag) => Some(*flag),
            Value::Text(text) => flag_of(text),
            Value::Number(_) | Value::List(_) => None,
        })
    }

    fn lenient<T>(
        &mut self,
        names: &[&str],
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Given<T> {
        let Some(entry) = self.find(names) else {
            return Given::Absent;
        };
        match read(&entry.value) {
            Some(value) => Given::Value(value),
            None => {
                if !entry.value.is_empty() {
                    let warning = format!("{}; using the default", invalid(entry, expected));
                    self.warnings.push(warning);
                }
                Given::Unset
            }
        }
    }
}

fn invalid(entry: &Entry, expected: &str) -> String {
    let (name, value) = (&entry.written_name, entry.value.shown());
    format!("{name}: {value} is invalid; expected {expected}")
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Flag(flag) => Some(flag.to_string()),
        Value::List(_) => None,
    }
}

fn split(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).collect()
}

/// Numbers in the file may be written as `1e3` or `10.0`.
fn whole_number(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    let is_exact = number.fract() == 0.0 && number.abs() < 9e15;
    is_exact.then_some(number as i64)
}

fn flag_of(text: &str) -> Option<bool> {
    let letters: String = text.chars().filter(|c| c.is_alphabetic()).collect();
    match letters.to_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => Some(text.trim().parse::<i64>().ok()? > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        for (name, text) in pairs {
            options.add(name, name, Value::Text((*text).to_owned()));
        }
        options
    }

    #[test]
    fn flags_are_words_in_any_case_or_numbers() {
        let check = |text: &str, expected| {
            assert_eq!(options(&[("a", text)]).flag(&["a"]), expected, "{text}");
        };

        check("true", Given::Value(true));
        check("FALSE", Given::Value(false));
        check("\"true\"", Given::Value(true));
        check("1", Given::Value(true));
        check("2", Given::Value(true));
        check("0", Given::Value(false));
        check("-1", Given::Value(false));
        check("", Given::Unset);
        check("yes", Given::Unset);
    }

    #[test]
    fn what_postgrest_takes_for_unset_is_a_warning_only() {
        let mut options = options(&[("db-pool", "many"), ("db-max-rows", "")]);
        options.add("db-channel-enabled", "x", Value::Number("13".to_owned()));

        assert_eq!(options.integer(&["db-pool"]), Given::Unset);
        assert_eq!(options.integer(&["db-max-rows"]), Given::Unset);
        assert_eq!(options.flag(&["db-channel-enabled"]), Given::Unset);

        assert_eq!(
            options.finish().expect("no problem"),
            [
                "db-pool: \"many\" is invalid; expected a whole number; using the default",
                "x: 13 is invalid; expected true or false; using the default",
            ]
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let mut options = options(&[("log-level", "never"), ("db-tx-end", "random")]);

        options.choice(&["log-level"], &[("crit", 1), ("error", 2)]);
        options.choice(&["db-tx-end"], &[("commit", 1)]);

        assert_eq!(
            options.finish(),
            Err(vec![
                "log-level: \"never\" is invalid; expected one of crit, error".to_owned(),
                "db-tx-end: \"random\" is invalid; expected one of commit".to_owned(),
            ])
        );
    }

    #[test]
    fn the_first_name_with_a_value_counts_and_stronger_sources_come_first() {
        let mut options = options(&[("db-schemas", ""), ("db-schema", "api, other ")]);
        options.add("db-schema", "weaker", Value::Text("never".to_owned()));

        let schemas = options.list(&["db-schemas", "db-schema"]);

        assert_eq!(schemas, Given::Value(vec!["api".into(), "other".into()]));
    }

    #[test]
    fn an_empty_text_is_unset_but_for_lists_that_may_be_empty() {
        let mut options = options(&[("a", "")]);

        assert_eq!(options.text(&["a"]), Given::Unset);
        assert_eq!(options.list_or_empty(&["a"]), Given::Value(vec![]));
        assert_eq!(options.list_or_empty(&["b"]), Given::Absent);
    }

    #[test]
    fn numbers_may_be_written_in_the_files_ways() {
        for (text, expected) in [("10", 10), (" 7 ", 7), ("1e3", 1000), ("10.0", 10)] {
            assert_eq!(whole_number(text), Some(expected), "{text}");
        }
        for text in ["1.5", "x", "1e300", "0x10"] {
            assert_eq!(whole_number(text), None, "{text}");
        }
    }
}
