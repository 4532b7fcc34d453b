//! Attribute mapping of custom providers.

use serde_json::Value;

use crate::model::Object;

/// Renames claims by `mapping` (a string names the source claim, anything else is the value) and
/// copies those in `allowlist` to `custom_claims`.
pub(super) fn map(raw: Object, mapping: &Object, allowlist: &[String]) -> Object {
    let custom: Object = allowlist
        .iter()
        .filter_map(|name| Some((name.clone(), raw.get(name)?.clone())))
        .collect();
    let mut claims = raw.clone();
    claims.remove("custom_claims");
    if !custom.is_empty() {
        claims.insert("custom_claims".to_owned(), Value::Object(custom));
    }
    for (target, source) in mapping {
        let value = match source {
            Value::String(name) => raw.get(name).cloned(),
            literal => Some(literal.clone()),
        };
        if let Some(value) = value {
            claims.insert(target.clone(), value);
        }
    }
    // The provider's `email_verified` is about its own `email`, not about a mapped one.
    if raw.contains_key("email") && raw.get("email") != claims.get("email") {
        claims.insert("email_verified".to_owned(), false.into());
    }
    claims
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(raw: Value, mapping: Value, allowlist: &[&str], expected: Value) {
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let allowlist: Vec<String> = allowlist.iter().map(|name| (*name).to_owned()).collect();
        let mapped = map(object(raw), &object(mapping), &allowlist);
        assert_eq!(Value::Object(mapped), expected);
    }

    #[test]
    fn claims_get_the_names_that_the_mapping_gives() {
        check(
            json!({ "id": 7, "login": "ann" }),
            json!({ "sub": "id", "nickname": "login", "name": "absent", "slug": 1 }),
            &[],
            json!({ "id": 7, "login": "ann", "sub": 7, "nickname": "ann", "slug": 1 }),
        );
    }

    #[test]
    fn listed_claims_are_kept_and_unlisted_custom_ones_are_not() {
        check(
            json!({ "sub": "1", "groups": ["a"], "custom_claims": { "admin": true } }),
            json!({}),
            &["groups", "absent"],
            json!({ "sub": "1", "groups": ["a"], "custom_claims": { "groups": ["a"] } }),
        );
    }

    #[test]
    fn a_mapped_address_is_not_verified() {
        check(
            json!({ "email": "a@b.c", "email_verified": true, "upn": "x@y.z" }),
            json!({ "email": "upn" }),
            &[],
            json!({ "email": "x@y.z", "email_verified": false, "upn": "x@y.z" }),
        );
        check(
            json!({ "email_verified": true, "mail": "x@y.z" }),
            json!({ "email": "mail" }),
            &[],
            json!({ "email": "x@y.z", "email_verified": true, "mail": "x@y.z" }),
        );
    }
}
