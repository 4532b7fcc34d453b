//! The forms a setting's value can take, and how each is read.

use std::collections::BTreeMap;

use crate::node::{Body, Node};
use crate::value::{Secret, Value, WrittenUrl};
use crate::{byte_size, colour, duration, network};

/// The form of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// An integer within bounds, both included.
    Integer {
        /// Smallest allowed value.
        min: i64,
        /// Largest allowed value.
        max: i64,
    },
    /// A TCP port of another program.
    Port,
    /// A TCP port to listen on, where 0 takes a free one.
    ListenPort,
    /// Any text.
    Text,
    /// Any text, never printed.
    Secret,
    /// An absolute URL.
    Url,
    /// A file or folder.
    Path,
    /// A path of a URL.
    UrlPath,
    /// A colour with enough contrast to white text.
    Accent,
    /// A duration as Go writes it.
    Duration,
    /// A size in bytes.
    Bytes,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    List,
    /// A list of some of these words, at least one.
    Choices(&'static [&'static str]),
    /// A list of IP addresses and networks (CIDR).
    Networks,
    /// A list of ports.
    Ports,
    /// A table whose members have nothing but a name.
    Names,
    /// A table of texts.
    Table,
    /// A table of texts that are never printed.
    SecretTable,
    /// A list of tables with these names, all texts.
    Records(&'static [&'static str]),
}

impl Kind {
    /// The form in words, as errors and the reference print it: "expected …".
    pub fn expected(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Integer { min, max: i64::MAX } => format!("an integer from {min}"),
            Self::Integer { min, max } => format!("an integer from {min} to {max}"),
            Self::Port => "a port from 1 to 65535".to_owned(),
            Self::ListenPort => "a port from 1 to 65535, or 0 for a free one".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::Secret => "a string (secret)".to_owned(),
            Self::Url => "a URL such as https://example.com".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::UrlPath => "a path such as /account".to_owned(),
            Self::Accent => "a colour such as #1f6f54 with a contrast of at least 4.5:1 \
                             to white text"
                .to_owned(),
            Self::Duration => "a duration such as 1h30m, 10s or 500ms".to_owned(),
            Self::Bytes => "a size such as 50MiB or a number of bytes".to_owned(),
            Self::Choice(words) => format!("one of {}", quoted(words)),
            Self::Choices(words) => format!("a list of {}", quoted(words)),
            Self::List => "a list of strings".to_owned(),
            Self::Networks => "a list of IP addresses or networks such as 10.0.0.0/8".to_owned(),
            Self::Ports => "a list of ports such as 25".to_owned(),
            Self::Names => "a table of empty tables".to_owned(),
            Self::Table => "a table of strings".to_owned(),
            Self::SecretTable => "a table of strings (secret)".to_owned(),
            Self::Records(names) => format!("a list of tables with {}", names.join(", ")),
        }
    }

    /// Whether values of this kind must not be printed.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Secret | Self::SecretTable)
    }

    /// Reads a written value; `None` when it is not of this form.
    pub(crate) fn read(&self, node: &Node) -> Option<Value> {
        match (&node.body, self) {
            (Body::Untyped(text), _) => self.read_text(text),
            (Body::Bool(value), Self::Bool) => Some(Value::Bool(*value)),
            (Body::Integer(value), Self::Integer { .. } | Self::Port | Self::ListenPort) => {
                self.read_integer(*value)
            }
            (Body::Integer(value), Self::Bytes) => u64::try_from(*value).ok().map(Value::Bytes),
            (Body::Text(_), Self::Bool | Self::Integer { .. } | Self::Port | Self::ListenPort) => {
                None
            }
            (Body::Text(_), Self::Table | Self::SecretTable | Self::Names | Self::Records(_)) => {
                None
            }
            (Body::Text(text), _) => self.read_text(text),
            (Body::List(items), Self::List | Self::Choices(_) | Self::Networks) => {
                self.read_list(texts(items)?)
            }
            (Body::List(items), Self::Ports) => self.read_list(numbers(items)?),
            (Body::List(items), Self::Records(names)) => items
                .iter()
                .map(|item| {
                    item.as_table()
                        .and_then(|entries| read_record(entries, names))
                })
                .collect::<Option<_>>()
                .map(Value::Records),
            (Body::Table(entries), Self::Names) => entries
                .values()
                .all(|entry| entry.as_table().is_some())
                .then(|| Value::List(entries.keys().cloned().collect())),
            (Body::Table(entries), Self::Table) => text_entries(entries).map(Value::Table),
            (Body::Table(entries), Self::SecretTable) => {
                let entries = text_entries(entries)?.into_iter();
                let secrets = entries
                    .map(|(name, text)| (name, Secret::new(text)))
                    .collect();
                Some(Value::SecretTable(secrets))
            }
            _ => None,
        }
    }

    fn read_text(&self, text: &str) -> Option<Value> {
        match self {
            Self::Bool => read_bool(text).map(Value::Bool),
            Self::Integer { .. } | Self::Port | Self::ListenPort => {
                self.read_integer(text.trim().parse().ok()?)
            }
            Self::Text | Self::Path => Some(Value::Text(text.to_owned())),
            Self::Secret => Some(Value::Secret(Secret::new(text))),
            Self::Url => WrittenUrl::parse(text).map(Value::Url),
            Self::UrlPath => is_url_path(text).then(|| Value::Text(text.to_owned())),
            Self::Accent => colour::carries_white_text(text).then(|| Value::Text(text.to_owned())),
            Self::Duration => duration::parse(text).map(Value::Duration),
            Self::Bytes => byte_size::parse(text).map(Value::Bytes),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::List | Self::Choices(_) | Self::Networks | Self::Ports => {
                self.read_list(split_list(text))
            }
            Self::Names => Some(Value::List(split_list(text))),
            Self::Table | Self::SecretTable => self.read(&read_table_text(text)?),
            Self::Records(_) => {
                let json: serde_json::Value = serde_json::from_str(text).ok()?;
                self.read(&Node::from_json(&json))
            }
        }
    }

    fn read_integer(&self, value: i64) -> Option<Value> {
        let (min, max) = match self {
            Self::Integer { min, max } => (*min, *max),
            Self::ListenPort => (0, i64::from(u16::MAX)),
            _ => (1, i64::from(u16::MAX)),
        };
        (min..=max)
            .contains(&value)
            .then_some(Value::Integer(value))
    }

    fn read_list(&self, items: Vec<String>) -> Option<Value> {
        if matches!(self, Self::Choices(_)) && items.is_empty() {
            return None;
        }
        let fits = |item: &String| match self {
            Self::Choices(words) => words.contains(&item.as_str()),
            Self::Networks => network::is_network(item),
            Self::Ports => item.parse().is_ok_and(|port: u16| port > 0),
            _ => true,
        };
        items.iter().all(fits).then_some(Value::List(items))
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}

/// The spellings that Go takes for a boolean, in any case.
fn read_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "t" | "true" => Some(true),
        "0" | "f" | "false" => Some(false),
        _ => None,
    }
}

/// Only unreserved characters, so that the path needs no percent-encoding, and no dot segments.
fn is_url_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    let mut segments = match text.strip_prefix('/') {
        Some("") => return true,
        Some(rest) => rest.strip_suffix('/').unwrap_or(rest).split('/'),
        None => return false,
    };
    segments.all(|segment| !matches!(segment, "" | "." | "..") && segment.chars().all(is_plain))
}

fn split_list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A table in one line of text: a JSON object, or `name=value,name=value`.
fn read_table_text(text: &str) -> Option<Node> {
    if text.trim_start().starts_with('{') {
        let json: serde_json::Value = serde_json::from_str(text).ok()?;
        return Some(Node::from_json(&json));
    }
    let entries = split_list(text)
        .iter()
        .map(|entry| {
            let (name, value) = entry.split_once('=')?;
            Some((name.trim().to_owned(), Node::untyped(value.trim())))
        })
        .collect::<Option<_>>()?;
    Some(Node {
        line: None,
        body: Body::Table(entries),
    })
}

fn texts(items: &[Node]) -> Option<Vec<String>> {
    items
        .iter()
        .map(|item| item.as_text().map(str::to_owned))
        .collect()
}

/// Numbers as texts, also where they were written as such.
fn numbers(items: &[Node]) -> Option<Vec<String>> {
    let text = |item: &Node| match &item.body {
        Body::Integer(number) => Some(number.to_string()),
        _ => item.as_text().map(str::to_owned),
    };
    items.iter().map(text).collect()
}

fn text_entries(entries: &BTreeMap<String, Node>) -> Option<BTreeMap<String, String>> {
    entries
        .iter()
        .map(|(name, node)| Some((name.clone(), node.as_text()?.to_owned())))
        .collect()
}

fn read_record(
    entries: &BTreeMap<String, Node>,
    names: &[&str],
) -> Option<BTreeMap<String, String>> {
    let known = entries.keys().all(|name| names.contains(&name.as_str()));
    // Switches and numbers are accepted and kept as text, like all members of a record.
    let text = |node: &Node| match &node.body {
        Body::Bool(value) => Some(value.to_string()),
        Body::Integer(value) => Some(value.to_string()),
        _ => node.as_text().map(str::to_owned),
    };
    let mut entries = entries.iter();
    known
        .then(|| {
            entries.try_fold(BTreeMap::new(), |mut record, (name, node)| {
                record.insert(name.clone(), text(node)?);
                Some(record)
            })
        })
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(body: Body) -> Node {
        Node { line: None, body }
    }

    #[test]
    fn typed_places_are_read_strictly() {
        let text = written(Body::Text("1".to_owned()));

        assert_eq!(Kind::Bool.read(&text), None);
        assert_eq!(Kind::Port.read(&text), None);
        assert_eq!(Kind::Bytes.read(&text), Some(Value::Bytes(1)));
        assert_eq!(Kind::Text.read(&written(Body::Integer(1))), None);
    }

    #[test]
    fn untyped_places_are_read_by_kind() {
        let check = |kind: Kind, text: &str, expected: Option<Value>| {
            assert_eq!(kind.read(&Node::untyped(text)), expected, "{kind:?} {text}");
        };
        check(Kind::Bool, "TRUE", Some(Value::Bool(true)));
        check(Kind::Bool, "maybe", None);
        check(Kind::Port, "0", None);
        check(Kind::ListenPort, "0", Some(Value::Integer(0)));
        check(Kind::ListenPort, "65536", None);
        check(
            Kind::Integer { min: 1, max: 2 },
            " 2 ",
            Some(Value::Integer(2)),
        );
        check(Kind::Integer { min: 1, max: 2 }, "3", None);
        check(Kind::Url, "example.com", None);
        check(Kind::Choice(&["a", "b"]), "c", None);
        check(Kind::Accent, "#ffcc00", None);
        check(
            Kind::Accent,
            "#1f6f54",
            Some(Value::Text("#1f6f54".to_owned())),
        );
        check(Kind::UrlPath, "account", None);
        check(Kind::UrlPath, "/a/../b", None);
        check(Kind::UrlPath, "/a?b", None);
        check(Kind::UrlPath, "/a/b", Some(Value::Text("/a/b".to_owned())));
        check(Kind::UrlPath, "/", Some(Value::Text("/".to_owned())));
        check(
            Kind::List,
            "a, b,,",
            Some(Value::List(vec!["a".to_owned(), "b".to_owned()])),
        );
        check(Kind::List, "", Some(Value::List(vec![])));
        check(Kind::Networks, "10.0.0.0/8,nonsense", None);
        let some = Value::List(vec!["b".to_owned(), "a".to_owned()]);
        check(Kind::Choices(&["a", "b", "c"]), "b,a", Some(some));
        check(Kind::Choices(&["a", "b"]), "a,d", None);
        check(Kind::Choices(&["a", "b"]), "", None);
        check(Kind::Ports, "25,0", None);
        check(Kind::Ports, "25,smtp", None);
    }

    #[test]
    fn ports_are_numbers_wherever_they_are_written() {
        let expected = Some(Value::List(vec!["25".to_owned(), "587".to_owned()]));
        let items = |bodies: [Body; 2]| written(Body::List(bodies.map(written).into()));

        assert_eq!(Kind::Ports.read(&Node::untyped("25, 587")), expected);
        let numbers = items([Body::Integer(25), Body::Integer(587)]);
        assert_eq!(Kind::Ports.read(&numbers), expected);
        let too_large = items([Body::Integer(25), Body::Integer(65_536)]);
        assert_eq!(Kind::Ports.read(&too_large), None);
    }

    #[test]
    fn a_table_fits_in_one_line_of_text() {
        let expected = [("A", "1"), ("B", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();

        for text in ["A=1, B=x", r#"{"A": "1", "B": "x"}"#] {
            assert_eq!(
                Kind::Table.read(&Node::untyped(text)),
                Some(Value::Table(BTreeMap::clone(&expected)))
            );
        }
        assert_eq!(Kind::Table.read(&Node::untyped("A")), None);
        assert_eq!(Kind::Table.read(&Node::untyped(r#"{"A": 1}"#)), None);
    }

    #[test]
    fn records_take_only_their_own_names() {
        let kind = Kind::Records(&["name"]);

        assert!(kind.read(&Node::untyped(r#"[{"name": "a"}]"#)).is_some());
        assert_eq!(kind.read(&Node::untyped(r#"[{"nmae": "a"}]"#)), None);
        assert_eq!(kind.read(&Node::untyped("[1]")), None);
    }

    #[test]
    fn members_of_records_may_be_switches_and_numbers() {
        let kind = Kind::Records(&["key", "required", "max"]);
        let written = r#"[{"key": "a", "required": true, "max": 40}]"#;

        let expected = [("key", "a"), ("required", "true"), ("max", "40")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));

        assert_eq!(
            kind.read(&Node::untyped(written)),
            Some(Value::Records(vec![expected.into()]))
        );
        assert_eq!(kind.read(&Node::untyped(r#"[{"key": ["a"]}]"#)), None);
    }
}
