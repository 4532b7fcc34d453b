//! Masks secrets in what the audit log stores.

use serde_json::Value;

const MASK: &str = "***";

/// Members whose value is a secret. A reference to one, such as its id or name, is not.
const SECRET_NAMES: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "private",
    "api_key",
    "access_key",
    "token",
    "credential",
    "db_pass",
];

/// Endings that say that it is no secret itself.
const HARMLESS_ENDINGS: [&str; 7] = [
    "_id", "_name", "_ids", "_names", "_at", "_count", "_enabled",
];

/// What is stored: null is nothing.
pub(super) fn stored(value: Value) -> Option<Value> {
    (!value.is_null()).then(|| masked(value))
}

fn masked(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let value = if is_secret(&name) {
                    hidden(value)
                } else {
                    masked(value)
                };
                (without_nul(&name), value)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(masked).collect(),
        Value::String(text) => Value::String(without_nul(&plinth_log::redact::redact_text(&text))),
        other => other,
    }
}

fn hidden(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value,
        _ => MASK.into(),
    }
}

/// PostgreSQL stores no NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_named = SECRET_NAMES.iter().any(|secret| name.contains(secret));
    is_named && !HARMLESS_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        let value = json!({
            "name": "ci",
            "token": "sbp_0123456789abcdef0123456789abcdef01234567",
            "token_id": 7,
            "nested": [{ "SMTP_PASSWORD": "hunter2", "has_password": true, "secret": null }],
            "text": "with sb_secret_0123456789abcdefghijkl_01234567 in it",
        });

        let stored = stored(value).expect("something").to_string();

        for secret in ["sbp_0123", "hunter2", "sb_secret_0123456789abcdef"] {
            assert!(!stored.contains(secret), "{stored}");
        }
        assert!(stored.contains("\"token_id\":7") && stored.contains("\"name\":\"ci\""));
        assert!(stored.contains("\"has_password\":true") && stored.contains("\"secret\":null"));
    }

    #[test]
    fn nothing_is_stored_of_null_and_nul_can_be() {
        assert_eq!(stored(Value::Null), None);
        let stored = stored(json!({ "a\0": "b\0😀'\"" }));
        assert_eq!(stored, Some(json!({ "a\u{fffd}": "b\u{fffd}😀'\"" })));
    }
}
