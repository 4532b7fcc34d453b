//! Values of settings after they have been checked.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::{byte_size, duration};

/// Text that must not be shown: `Debug` and `Display` print `***`.
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

/// One resolved value. Displays as a person would write it, with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number, including ports.
    Integer(i64),
    /// Text, URLs, paths and words of a fixed choice.
    Text(String),
    /// Text that is never shown.
    Secret(Secret),
    /// A span of time.
    Duration(Duration),
    /// A size in bytes.
    Bytes(u64),
    /// An ordered list of texts.
    List(Vec<String>),
    /// Names and texts.
    Table(BTreeMap<String, String>),
    /// Names and texts that are never shown.
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
