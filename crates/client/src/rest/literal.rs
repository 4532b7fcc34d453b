//! Values in filters.

use std::collections::HashSet;
use std::fmt::Display;

use serde_json::Value;

/// `(a,"b,c")`: a list for `in`, each item once.
pub(super) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let mut seen = HashSet::new();
    let items: Vec<String> = items
        .into_iter()
        .map(|item| item.to_string())
        .filter(|item| seen.insert(item.clone()))
        .map(|item| quoted_if(&item, |char| matches!(char, ',' | '(' | ')' | '"' | '\\')))
        .collect();
    format!("({})", items.join(","))
}

/// `{a,"b,c"}`: an array as Postgres writes it.
pub(super) fn array(items: impl IntoIterator<Item = impl Display>) -> String {
    let is_special =
        |char: char| matches!(char, ',' | '{' | '}' | '"' | '\\') || char.is_whitespace();
    let quoted = |item: String| {
        if item.is_empty() || item.eq_ignore_ascii_case("null") {
            format!("\"{item}\"")
        } else {
            quoted_if(&item, is_special)
        }
    };
    let items: Vec<String> = items
        .into_iter()
        .map(|item| quoted(item.to_string()))
        .collect();
    format!("{{{}}}", items.join(","))
}

fn quoted_if(item: &str, is_special: impl Fn(char) -> bool) -> String {
    if item.contains(is_special) {
        format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        item.to_owned()
    }
}

/// A JSON value as an argument in a query: arrays as Postgres writes them, texts bare.
pub(super) fn argument(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => array(items.iter().map(argument)),
        other => other.to_string(),
    }
}

/// What a column may contain, be contained by or overlap: an array, a JSON value, or a text that
/// is sent as it is (a range such as `[1,5)`).
#[derive(Clone, Debug)]
pub struct Contained(String);

impl Contained {
    /// An array of these.
    pub fn array(items: impl IntoIterator<Item = impl Display>) -> Self {
        Self(array(items))
    }

    /// Anything that can be written as JSON.
    pub fn json(value: &impl serde::Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self)
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl From<&str> for Contained {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Contained {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<T: Display> From<Vec<T>> for Contained {
    fn from(items: Vec<T>) -> Self {
        Self::array(items)
    }
}

impl<T: Display, const N: usize> From<[T; N]> for Contained {
    fn from(items: [T; N]) -> Self {
        Self::array(items)
    }
}

/// An array of JSON becomes a Postgres array, an object stays JSON.
impl From<Value> for Contained {
    fn from(value: Value) -> Self {
        match &value {
            Value::Object(_) => Self(value.to_string()),
            other => Self(argument(other)),
        }
    }
}

/// A select list without whitespace, except inside double quotes.
pub(super) fn columns(text: &str) -> String {
    let mut is_quoted = false;
    let kept = text.chars().filter(|char| {
        if *char == '"' {
            is_quoted = !is_quoted;
        }
        is_quoted || !char.is_whitespace()
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_quote_what_would_end_an_item() {
        assert_eq!(list(["a", "b,c", "d(e)", "a"]), r#"(a,"b,c","d(e)")"#);
        assert_eq!(list([1, 2, 2]), "(1,2)");
        assert_eq!(
            list([r#"say "x""#, r"back\slash"]),
            r#"("say \"x\"","back\\slash")"#
        );
        assert_eq!(list(Vec::<String>::new()), "()");
    }

    #[test]
    fn arrays_are_spelled_as_postgres_reads_them() {
        assert_eq!(
            array(["a", "b c", "", "NULL", "{x}"]),
            r#"{a,"b c","","NULL","{x}"}"#
        );
        assert_eq!(array([1, 2]), "{1,2}");
    }

    #[test]
    fn arguments_are_bare_texts_arrays_or_json() {
        assert_eq!(argument(&json!("a b")), "a b");
        assert_eq!(argument(&json!(1.5)), "1.5");
        assert_eq!(argument(&json!(null)), "null");
        assert_eq!(argument(&json!(["a", 2])), "{a,2}");
        assert_eq!(argument(&json!({ "a": [1] })), r#"{"a":[1]}"#);
    }

    #[test]
    fn what_is_contained_keeps_its_kind() {
        assert_eq!(Contained::from("[1,5)").into_text(), "[1,5)");
        assert_eq!(Contained::from(["x", "y"]).into_text(), "{x,y}");
        assert_eq!(Contained::from(json!({ "a": 1 })).into_text(), r#"{"a":1}"#);
        assert_eq!(Contained::from(json!(["a"])).into_text(), "{a}");
    }

    #[test]
    fn a_selection_loses_whitespace_outside_of_quotes() {
        assert_eq!(columns("a, b ( c,\n d )"), "a,b(c,d)");
        assert_eq!(columns(r#" "my column" , b"#), r#""my column",b"#);
    }
}
