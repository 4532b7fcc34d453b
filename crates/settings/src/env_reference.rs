//! `env(NAME)` in `config.toml`: a reference to an environment variable.

use std::collections::BTreeMap;

use crate::node::{Body, Node};

/// Variables by name: the process's, over those of the folder's `.env` files.
pub(crate) type Environment = BTreeMap<String, String>;

/// A value after its references were resolved.
pub(crate) struct Resolved {
    /// Absent when the value was a reference to an unset variable.
    pub(crate) node: Option<Node>,
    /// Referenced variables that are not set.
    pub(crate) unset: Vec<String>,
}

/// Resolves the references in a value, also inside lists and tables. A variable that is empty
/// counts as not set, as in the official tool; elements that refer to one are left out.
pub(crate) fn resolve(node: &Node, environment: &Environment) -> Resolved {
    let mut unset = Vec::new();
    let node = resolve_into(node, environment, &mut unset);
    Resolved { node, unset }
}

fn resolve_into(node: &Node, environment: &Environment, unset: &mut Vec<String>) -> Option<Node> {
    let body = match &node.body {
        Body::Text(text) => match referenced_name(text) {
            None => return Some(node.clone()),
            Some(name) => match environment.get(name).filter(|value| !value.is_empty()) {
                Some(value) => Body::Untyped(value.clone()),
                None => {
                    unset.push(name.to_owned());
                    return None;
                }
            },
        },
        Body::List(items) => Body::List(
            items
                .iter()
                .filter_map(|item| resolve_into(item, environment, unset))
                .collect(),
        ),
        Body::Table(entries) => Body::Table(
            entries
                .iter()
                .filter_map(|(name, entry)| {
                    Some((name.clone(), resolve_into(entry, environment, unset)?))
                })
                .collect(),
        ),
        _ => return Some(node.clone()),
    };
    Some(Node {
        line: node.line,
        body,
    })
}

/// The variable that a whole text refers to; references inside a longer text do not count.
fn referenced_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("env(")?.strip_suffix(')')?;
    let mut bytes = name.bytes();
    let first = bytes.next()?;
    let is_name = (first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_text_is_a_reference() {
        assert_eq!(referenced_name("env(NAME)"), Some("NAME"));
        assert_eq!(referenced_name("env(project_id)"), Some("project_id"));
        for text in [
            "env()",
            "x env(NAME)",
            "env(NAME) x",
            "env(1A)",
            "env(A-B)",
            "env(A",
            "A",
        ] {
            assert_eq!(referenced_name(text), None, "{text}");
        }
    }

    #[test]
    fn elements_that_refer_to_nothing_are_left_out() {
        let environment = [
            ("A".to_owned(), "1".to_owned()),
            ("B".to_owned(), String::new()),
        ];
        let json = serde_json::json!(["env(A)", "env(B)", "env(C)", "plain"]);

        let resolved = resolve(&Node::from_json(&json), &environment.into());

        let Some(Body::List(items)) = resolved.node.map(|node| node.body) else {
            panic!("a list stays a list");
        };
        let texts: Vec<_> = items.iter().filter_map(Node::as_text).collect();
        assert_eq!(texts, ["1", "plain"]);
        assert_eq!(resolved.unset, ["B", "C"]);
    }
}
