//! The resolved settings and the typed questions that services ask.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use crate::layers::{Entry, Layer};
use crate::path::SettingPath;
use crate::problem::Place;
use crate::table::{self, Declared};
use crate::value::{Secret, Value};

/// Where a value comes from, the strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An option of the command line.
    CommandLine,
    /// This environment variable.
    Environment(String),
    /// This file.
    File(PathBuf),
    /// What operators stored.
    Stored,
    /// Nobody set it.
    Default,
}

impl Source {
    /// Whether operators cannot change the value because a stronger layer sets it.
    pub fn is_fixed(&self) -> bool {
        !matches!(self, Self::Stored | Self::Default)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => formatter.write_str("command line"),
            Self::Environment(name) => formatter.write_str(name),
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Stored => formatter.write_str("stored"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

impl From<&Place> for Source {
    fn from(place: &Place) -> Self {
        match place {
            Place::CommandLine => Self::CommandLine,
            Place::Environment(name) => Self::Environment(name.clone()),
            Place::File { path, .. } => Self::File(path.clone()),
            Place::Stored => Self::Stored,
        }
    }
}

/// All settings of one project, checked and immutable.
///
/// Settings are asked for by their dotted name. A name that is not declared, or a question that
/// does not fit its kind, is a mistake in the program and panics; no input can cause it. Members
/// of maps that nobody configured answer with their defaults.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<SettingPath, Entry>,
    members: BTreeSet<SettingPath>,
}

impl Settings {
    /// Stacks layers, the weakest first.
    pub(crate) fn stack(layers: impl IntoIterator<Item = Layer>) -> Self {
        let mut settings = Self::default();
        for layer in layers {
            settings.values.extend(layer.values);
            settings.members.extend(layer.members);
        }
        settings
    }

    /// A switch.
    pub fn bool(&self, path: &str) -> bool {
        self.opt_bool(path).unwrap_or_else(|| no_default(path))
    }

    /// A switch that may be left open.
    pub fn opt_bool(&self, path: &str) -> Option<bool> {
        self.ask(path, "a switch", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    /// A whole number.
    pub fn integer(&self, path: &str) -> i64 {
        self.opt_integer(path).unwrap_or_else(|| no_default(path))
    }

    /// A whole number that may be left out.
    pub fn opt_integer(&self, path: &str) -> Option<i64> {
        self.ask(path, "a number", |value| match value {
            Value::Integer(value) => Some(*value),
            _ => None,
        })
    }

    /// A port; 0 asks for a free one.
    pub fn port(&self, path: &str) -> u16 {
        self.opt_port(path).unwrap_or_else(|| no_default(path))
    }

    /// A port that may be left out.
    pub fn opt_port(&self, path: &str) -> Option<u16> {
        self.ask(path, "a port", |value| match value {
            Value::Integer(value) => u16::try_from(*value).ok(),
            _ => None,
        })
    }

    /// Text, also a URL, a path or a word of a fixed choice, as it was written.
    pub fn text(&self, path: &str) -> &str {
        self.opt_text(path).unwrap_or_else(|| no_default(path))
    }

    /// Text that may be left out. Empty text counts as left out.
    pub fn opt_text(&self, path: &str) -> Option<&str> {
        self.ask(path, "a text", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// A URL that may be left out, parsed. [`Settings::opt_text`] gives it as it was written.
    pub fn opt_url(&self, path: &str) -> Option<Url> {
        self.opt_text(path).map(|text| match Url::parse(text) {
            Ok(url) => url,
            Err(_) => panic!("the setting `{path}` is not declared as a URL"),
        })
    }

    /// A file or folder that may be left out, as it was written.
    pub fn opt_path(&self, path: &str) -> Option<&Path> {
        self.opt_text(path).map(Path::new)
    }

    /// A secret, which may always be left out.
    pub fn secret(&self, path: &str) -> Option<&Secret> {
        self.ask(path, "a secret", |value| match value {
            Value::Secret(secret) => Some(secret),
            _ => None,
        })
    }

    /// A span of time.
    pub fn duration(&self, path: &str) -> Duration {
        self.opt_duration(path).unwrap_or_else(|| no_default(path))
    }

    /// A span of time that may be left out.
    pub fn opt_duration(&self, path: &str) -> Option<Duration> {
        self.ask(path, "a duration", |value| match value {
            Value::Duration(value) => Some(*value),
            _ => None,
        })
    }

    /// A size in bytes.
    pub fn bytes(&self, path: &str) -> u64 {
        self.opt_bytes(path).unwrap_or_else(|| no_default(path))
    }

    /// A size in bytes that may be left out.
    pub fn opt_bytes(&self, path: &str) -> Option<u64> {
        self.ask(path, "a size", |value| match value {
            Value::Bytes(value) => Some(*value),
            _ => None,
        })
    }

    /// A list of texts.
    pub fn list(&self, path: &str) -> &[String] {
        let list = self.ask(path, "a list", |value| match value {
            Value::List(items) => Some(items.as_slice()),
            _ => None,
        });
        list.unwrap_or_else(|| no_default(path))
    }

    /// A table of texts.
    pub fn table(&self, path: &str) -> &BTreeMap<String, String> {
        let table = self.ask(path, "a table", |value| match value {
            Value::Table(entries) => Some(entries),
            _ => None,
        });
        table.unwrap_or_else(|| no_default(path))
    }

    /// A table of secrets.
    pub fn secrets(&self, path: &str) -> &BTreeMap<String, Secret> {
        let table = self.ask(path, "a table of secrets", |value| match value {
            Value::SecretTable(entries) => Some(entries),
            _ => None,
        });
        table.unwrap_or_else(|| no_default(path))
    }

    /// A list of small tables.
    pub fn records(&self, path: &str) -> &[BTreeMap<String, String>] {
        let records = self.ask(path, "a list of tables", |value| match value {
            Value::Records(records) => Some(records.as_slice()),
            _ => None,
        });
        records.unwrap_or_else(|| no_default(path))
    }

    /// The names of a map's members that somebody configured, in order: `entries("functions")`.
    pub fn entries(&self, path: &str) -> Vec<&str> {
        let map = SettingPath::parse(path);
        assert!(
            table::is_map(&map),
            "`{path}` is not declared as a table with free names"
        );
        self.members
            .iter()
            .filter_map(|member| {
                let (name, parent) = member.segments().split_last()?;
                (parent == map.segments()).then_some(name.as_str())
            })
            .collect()
    }

    /// The value of any setting, of whatever kind.
    pub fn value(&self, path: &str) -> Option<&Value> {
        let path = SettingPath::parse(path);
        self.value_at(&path, declared(&path))
    }

    /// Where the value comes from.
    pub fn source(&self, path: &str) -> Source {
        let path = SettingPath::parse(path);
        let _ = declared(&path);
        self.source_at(&path)
    }

    /// Whether two trees answer every question alike, sources included.
    pub fn is_same(&self, other: &Self) -> bool {
        let answers = |settings: &Self| -> Vec<(SettingPath, Value, Source)> {
            let entries = settings.values.iter();
            entries
                .map(|(path, entry)| (path.clone(), entry.value.clone(), (&entry.place).into()))
                .collect()
        };
        self.members == other.members && answers(self) == answers(other)
    }

    pub(crate) fn value_at<'a>(
        &'a self,
        path: &SettingPath,
        declared: &'static Declared,
    ) -> Option<&'a Value> {
        self.values
            .get(path)
            .map(|entry| &entry.value)
            .or(declared.default.as_ref())
    }

    pub(crate) fn source_at(&self, path: &SettingPath) -> Source {
        self.values
            .get(path)
            .map_or(Source::Default, |entry| (&entry.place).into())
    }

    pub(crate) fn place_at(&self, path: &SettingPath) -> Option<&Place> {
        self.values.get(path).map(|entry| &entry.place)
    }

    fn ask<'a, T: 'a>(
        &'a self,
        path: &str,
        question: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let parsed = SettingPath::parse(path);
        let declared = declared(&parsed);
        let value = self.value_at(&parsed, declared)?;
        Some(read(value).unwrap_or_else(|| {
            panic!(
                "the setting `{path}` is not {question} but {}",
                declared.key.kind().expected()
            )
        }))
    }
}

fn declared(path: &SettingPath) -> &'static Declared {
    table::find(path).unwrap_or_else(|| panic!("the setting `{path}` is not declared"))
}

fn no_default<T>(path: &str) -> T {
    panic!("the setting `{path}` has no default; ask for it as an optional one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn every_declared_setting_answers_without_a_file() {
        let settings = Settings::default();

        for key in keys::all() {
            let path = key.path().replace('*', "google");
            let path = match key.path().starts_with("auth.hook") {
                true => key.path().replace('*', "send_email"),
                false => path,
            };
            assert_eq!(
                settings.value(&path),
                key.default_value().as_ref(),
                "{path}"
            );
            assert_eq!(settings.source(&path), Source::Default);
        }
    }

    #[test]
    fn typed_questions_reach_the_defaults() {
        let settings = Settings::default();

        assert_eq!(settings.port("api.port"), 54321);
        assert_eq!(settings.list("api.schemas"), ["public", "graphql_public"]);
        assert_eq!(settings.bytes("plinth.limits.max_body"), 50 << 20);
        assert_eq!(
            settings.duration("plinth.pool.max_lifetime"),
            Duration::from_secs(1800)
        );
        assert_eq!(
            settings.text("auth.external.gitlab.url"),
            "https://gitlab.com"
        );
        assert_eq!(settings.opt_url("auth.external.azure.url"), None);
        assert_eq!(settings.secret("auth.jwt_secret"), None);
        assert!(settings.bool("functions.never-mentioned.verify_jwt"));
        assert!(settings.entries("functions").is_empty());
    }

    #[test]
    #[should_panic(expected = "the setting `auth.nonsense` is not declared")]
    fn an_undeclared_name_is_a_mistake_in_the_program() {
        Settings::default().bool("auth.nonsense");
    }

    #[test]
    #[should_panic(expected = "is not a text but a port from 1 to 65535")]
    fn a_question_of_the_wrong_kind_is_a_mistake_in_the_program() {
        Settings::default().text("api.port");
    }
}
