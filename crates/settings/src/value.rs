//! Values of settings after they have been checked.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use url::Url;

use crate::{byte_size, duration};

/// Text that must not be printed: `Debug` and `Display` give `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text so that it is not printed by accident.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. The name makes every place that reads a secret easy to find.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// A URL together with its spelling, which parsing can change: `http://host` becomes `http://host/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenUrl {
    text: String,
    url: Url,
}

impl WrittenUrl {
    /// Reads a URL; `None` when the text is not an absolute one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let text = text.to_owned();
        Some(Self { text, url })
    }

    /// The text as it was written.
    pub fn as_written(&self) -> &str {
        &self.text
    }

    /// The URL that it means.
    pub fn url(&self) -> &Url {
        &self.url
    }
}

/// Marks a setting whose value is a number of bytes; look-ups give a `u64`.
#[derive(Debug)]
pub enum ByteSize {}

/// One checked value. Displays as it would be written in TOML, with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer, also a port.
    Integer(i64),
    /// Text, paths and words of a fixed choice.
    Text(String),
    /// A URL.
    Url(WrittenUrl),
    /// Text that is never printed.
    Secret(Secret),
    /// A duration.
    Duration(Duration),
    /// A size in bytes.
    Bytes(u64),
    /// An ordered list of texts.
    List(Vec<String>),
    /// Names and texts.
    Table(BTreeMap<String, String>),
    /// Names and texts that are never printed.
    SecretTable(BTreeMap<String, Secret>),
    /// A list of small tables of texts.
    Records(Vec<BTreeMap<String, String>>),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(formatter),
            Self::Integer(value) => value.fmt(formatter),
            Self::Text(value) => write!(formatter, "{value:?}"),
            Self::Url(value) => write!(formatter, "{:?}", value.as_written()),
            Self::Secret(value) => value.fmt(formatter),
            Self::Duration(value) => formatter.write_str(&duration::render(*value)),
            Self::Bytes(value) => formatter.write_str(&byte_size::render(*value)),
            Self::List(items) => write!(formatter, "{items:?}"),
            Self::Table(entries) => write_table(formatter, entries),
            Self::SecretTable(entries) => write_table(formatter, entries),
            Self::Records(records) => {
                formatter.write_str("[")?;
                for (index, record) in records.iter().enumerate() {
                    if index > 0 {
                        formatter.write_str(", ")?;
                    }
                    write_table(formatter, record)?;
                }
                formatter.write_str("]")
            }
        }
    }
}

fn write_table(
    formatter: &mut fmt::Formatter<'_>,
    entries: &BTreeMap<String, impl fmt::Debug>,
) -> fmt::Result {
    if entries.is_empty() {
        return formatter.write_str("{}");
    }
    formatter.write_str("{ ")?;
    for (index, (name, value)) in entries.iter().enumerate() {
        if index > 0 {
            formatter.write_str(", ")?;
        }
        write!(formatter, "{name} = {value:?}")?;
    }
    formatter.write_str(" }")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("hunter2");
        let table = Value::SecretTable([("KEY".to_owned(), secret.clone())].into());

        assert_eq!(
            format!("{secret} {secret:?} {table}"),
            "*** *** { KEY = *** }"
        );
        assert!(!format!("{table:?}").contains("hunter2"));
        assert_eq!(secret.expose(), "hunter2");
    }
}
