//! Where a token holds its role: `jwt-role-claim-key` (rest contract §4.1).
//!
//! A JSONPath of RFC 9535, or in the older syntax of PostgREST (`.a.b[0]`), which is tried second.

mod cursor;
mod legacy;
mod parse;
mod path;
mod pattern;

use std::borrow::Cow;

use serde_json::{Map, Value};

use legacy::LegacyPath;
use path::JsonPath;

/// A way into a token's claims.
#[derive(Debug, Clone)]
pub(crate) struct RoleClaim {
    text: String,
    path: Path,
}

#[derive(Debug, Clone)]
enum Path {
    /// `$.role`, which needs no walking about.
    Role,
    Json(JsonPath),
    Legacy(LegacyPath),
}

impl Default for RoleClaim {
    fn default() -> Self {
        Self {
            text: "$.role".to_owned(),
            path: Path::Role,
        }
    }
}

impl RoleClaim {
    /// Says what was expected where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = match text {
            "$.role" => Path::Role,
            _ => match JsonPath::parse(text) {
                Ok(path) => Path::Json(path),
                Err(_) if text.starts_with(['.', '[']) => Path::Legacy(LegacyPath::parse(text)?),
                Err(problem) => return Err(problem),
            },
        };
        let text = text.to_owned();
        Ok(Self { text, path })
    }

    /// As it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is the older syntax, which PostgREST is about to drop.
    pub(crate) fn is_legacy(&self) -> bool {
        matches!(self.path, Path::Legacy(_))
    }

    pub(crate) fn is_default(&self) -> bool {
        matches!(self.path, Path::Role)
    }

    /// The role. What is not a text is given as its JSON.
    pub(crate) fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<Cow<'a, str>> {
        let role = match &self.path {
            Path::Role => claims.get("role"),
            Path::Json(path) => path.first(claims),
            Path::Legacy(path) => path.find(claims),
        };
        Some(match role? {
            Value::String(role) => Cow::Borrowed(role.as_str()),
            other => Cow::Owned(other.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(path: &str, claims: Value, expected: Option<&str>) {
        let claim = RoleClaim::parse(path).unwrap_or_else(|problem| panic!("{path}: {problem}"));
        let Value::Object(claims) = claims else {
            panic!("claims are an object");
        };
        assert_eq!(claim.find(&claims).as_deref(), expected, "{path}");
    }

    #[test]
    fn both_syntaxes_find_a_role() {
        let claims = || {
            json!({
                "role": "plain",
                "a": { "b": ["zero", "one"], "long-name": "dashed" },
                "https://example.com/roles": [{ "value": "first" }],
            })
        };

        check("$.role", claims(), Some("plain"));
        check("$.a.b[1]", claims(), Some("one"));
        check(".a.b[1]", claims(), Some("one"));
        check("$['a']['long-name']", claims(), Some("dashed"));
        check(".a.\"long-name\"", claims(), Some("dashed"));
        check(
            "$[\"https://example.com/roles\"][0].value",
            claims(),
            Some("first"),
        );
        check(
            ".\"https://example.com/roles\"[0].value",
            claims(),
            Some("first"),
        );
        check("$.a.b[7]", claims(), None);
        check(".a.b[7]", claims(), None);
        check("$.missing", claims(), None);
    }

    #[test]
    fn a_role_that_is_no_text_is_given_as_json() {
        check("$.role", json!({ "role": 7 }), Some("7"));
        check("$.role", json!({ "role": null }), Some("null"));
        check("$.a", json!({ "a": ["x"] }), Some(r#"["x"]"#));
    }

    #[test]
    fn what_is_neither_syntax_is_refused() {
        for bad in [
            "$.my_role;;domain",
            "@@.role.other",
            "role.other",
            ".role##",
            ".my_role;;domain",
            ".#$$%&$%/",
            "1234",
            ".role[?(@ =)]",
            "",
            "$.",
            "$[",
        ] {
            assert!(RoleClaim::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_older_syntax_is_known_as_such() {
        assert!(RoleClaim::parse(".role").expect("legacy").is_legacy());
        assert!(!RoleClaim::parse("$.a").expect("new").is_legacy());
        assert!(RoleClaim::default().is_default());
    }
}
