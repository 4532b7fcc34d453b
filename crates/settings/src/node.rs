//! A value as written, before it is checked: the common form of TOML, JSON and plain text.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

/// Maximum length of a value in an error message.
const MAX_PREVIEW_CHARS: usize = 80;

/// A written value and the line where its key stands, when it comes from a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: Option<usize>,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Bool(bool),
    Integer(i64),
    /// Text from a format with types (TOML, JSON): it is no number or switch.
    Text(String),
    /// Text from a place without types (environment, command line): any kind may parse it.
    Untyped(String),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// A type that no setting has (float, date, null), as it was written.
    Other(String),
}

impl Node {
    pub(crate) fn untyped(text: &str) -> Self {
        Self {
            line: None,
            body: Body::Untyped(text.to_owned()),
        }
    }

    pub(crate) fn from_json(value: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let body = match value {
            Json::Bool(value) => Body::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Body::Integer(value),
                None => Body::Other(number.to_string()),
            },
            Json::String(text) => Body::Text(text.clone()),
            Json::Array(items) => Body::List(items.iter().map(Self::from_json).collect()),
            Json::Object(entries) => Body::Table(
                entries
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::from_json(value)))
                    .collect(),
            ),
            Json::Null => Body::Other("null".to_owned()),
        };
        Self { line: None, body }
    }

    pub(crate) fn from_toml(table: &DeTable<'_>, lines: &LineIndex) -> Self {
        Self {
            line: None,
            body: Body::Table(toml_entries(table, lines)),
        }
    }

    pub(crate) fn as_table(&self) -> Option<&BTreeMap<String, Node>> {
        match &self.body {
            Body::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn as_table_mut(&mut self) -> Option<&mut BTreeMap<String, Node>> {
        match &mut self.body {
            Body::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The text, whatever place it comes from.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) | Body::Untyped(text) => Some(text),
            _ => None,
        }
    }

    /// The value at this path of table keys.
    pub(crate) fn get_path<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<&Node> {
        names
            .into_iter()
            .try_fold(self, |node, name| node.as_table()?.get(name))
    }

    /// The value for an error message, shortened.
    pub(crate) fn preview(&self) -> String {
        let text = match &self.body {
            Body::Bool(value) => value.to_string(),
            Body::Integer(value) => value.to_string(),
            Body::Text(text) | Body::Untyped(text) => format!("{text:?}"),
            Body::List(items) => {
                format!(
                    "[{}]",
                    items
                        .iter()
                        .map(Node::preview)
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
            Body::Table(_) => "a table".to_owned(),
            Body::Other(text) => text.clone(),
        };
        match text.char_indices().nth(MAX_PREVIEW_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// Where the lines of a text begin, to turn byte offsets into line numbers.
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(index, _)| index + 1);
        Self(std::iter::once(0).chain(after_breaks).collect())
    }

    /// The line of a byte, counted from one.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }

    /// The first byte of a line counted from one.
    pub(crate) fn start(&self, line: usize) -> usize {
        line.checked_sub(1)
            .and_then(|index| self.0.get(index))
            .copied()
            .unwrap_or(0)
    }
}

fn toml_entries(table: &DeTable<'_>, lines: &LineIndex) -> BTreeMap<String, Node> {
    table
        .iter()
        .map(|(key, value)| {
            let line = lines.line(key.span().start);
            let node = Node {
                line: Some(line),
                body: toml_body(value.get_ref(), lines),
            };
            (key.get_ref().to_string(), node)
        })
        .collect()
}

fn toml_body(value: &DeValue<'_>, lines: &LineIndex) -> Body {
    match value {
        DeValue::Boolean(value) => Body::Bool(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Body::Integer(value),
            Err(_) => Body::Other(number.to_string()),
        },
        DeValue::String(text) => Body::Text(text.to_string()),
        DeValue::Array(items) => Body::List(
            items
                .iter()
                .map(|item| Node {
                    line: Some(lines.line(item.span().start)),
                    body: toml_body(item.get_ref(), lines),
                })
                .collect(),
        ),
        DeValue::Table(table) => Body::Table(toml_entries(table, lines)),
        DeValue::Float(number) => Body::Other(number.to_string()),
        DeValue::Datetime(moment) => Body::Other(moment.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\nbb\n\nc";
        let lines = LineIndex::new(text);

        assert_eq!(
            [0, 1, 2, 4, 5, 6].map(|offset| lines.line(offset)),
            [1, 1, 2, 2, 3, 4]
        );
        assert_eq!([1, 2, 3, 4].map(|line| lines.start(line)), [0, 2, 5, 6]);
    }

    #[test]
    fn a_long_value_is_shortened_between_characters() {
        let node = Node::untyped(&"é".repeat(200));

        assert_eq!(node.preview().chars().count(), MAX_PREVIEW_CHARS + 1);
    }
}
