//! A value somewhere in the metadata of users.

use serde_json::{Value, json};

/// Deeper paths are mistakes.
const MAX_DEPTH: usize = 20;

/// Which of the two, and what it contains: one of several JSON values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metadata {
    pub(super) is_app: bool,
    pub(super) alternatives: Vec<Value>,
}

impl Metadata {
    /// `user.plan=pro`, `app.roles=admin`. The value is a text, or JSON, or an element of a list.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (path, value) = text.split_once('=')?;
        let mut segments = path.trim().split('.');
        let is_app = match segments.next()? {
            "user" | "user_metadata" => false,
            "app" | "app_metadata" => true,
            _ => return None,
        };
        let keys: Vec<&str> = segments.collect();
        if keys.is_empty() || keys.len() > MAX_DEPTH || keys.contains(&"") {
            return None;
        }
        let mut values = vec![Value::from(value)];
        match serde_json::from_str::<Value>(value) {
            Ok(Value::String(text)) => values = vec![text.into()],
            Ok(other) => values.push(other),
            Err(_) => {}
        }
        // A containment of an array holds for single elements only inside an array.
        let in_lists: Vec<Value> = values.iter().map(|value| json!([value])).collect();
        values.extend(in_lists);
        let nested = |value: Value| {
            let outer = keys.iter().rev();
            outer.fold(value, |inner, key| json!({ *key: inner }))
        };
        Some(Self {
            is_app,
            alternatives: values.into_iter().map(nested).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_leads_to_a_value() {
        let check = |text: &str, is_app, alternatives: Value| {
            let found = Metadata::parse(text).expect(text);
            assert_eq!(found.is_app, is_app);
            assert_eq!(Value::from(found.alternatives), alternatives, "{text}");
        };
        check(
            "user.plan=pro",
            false,
            json!([{ "plan": "pro" }, { "plan": ["pro"] }]),
        );
        check(
            "app_metadata.a.b=7",
            true,
            json!([
                { "a": { "b": "7" } },
                { "a": { "b": 7 } },
                { "a": { "b": ["7"] } },
                { "a": { "b": [7] } },
            ]),
        );
        check("user.x=\"7\"", false, json!([{ "x": "7" }, { "x": ["7"] }]));
        check("user.x=", false, json!([{ "x": "" }, { "x": [""] }]));
        check(
            "user.x=a=b",
            false,
            json!([{ "x": "a=b" }, { "x": ["a=b"] }]),
        );
    }

    #[test]
    fn what_is_no_path_is_rejected() {
        let deep = format!("user{}=1", ".a".repeat(MAX_DEPTH + 1));
        for text in [
            "",
            "plan=pro",
            "user=pro",
            "user.=1",
            "user.a..b=1",
            "user.a",
            &deep,
        ] {
            assert_eq!(Metadata::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in ".*") {
            let _ = Metadata::parse(&text);
            let _ = Metadata::parse(&format!("user.a={text}"));
        }
    }
}
