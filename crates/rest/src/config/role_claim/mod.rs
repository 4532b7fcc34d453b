//! Where a token holds its role: `jwt-role-claim-key` (rest contract §4.1).
//!
//! A JSONPath of RFC 9535, which `jsonpath-rfc9535` evaluates, or PostgREST's older syntax
//! (`.a.b[0]`), which is tried second.

mod legacy;

use jsonpath_rfc9535::JsonPath;
use serde_json::{Map, Value};

use legacy::LegacyPath;

/// Levels of parentheses in a JSONPath. The library's parsing time doubles with each.
const MAX_NESTING: usize = 8;

/// A path into a token's claims.
#[derive(Debug, Clone)]
pub(crate) struct RoleClaim {
    text: String,
    path: Path,
}

#[derive(Debug, Clone)]
enum Path {
    /// `$.role`, the default, needs no JSONPath.
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
    /// The error says what is wrong with the text, and where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = match text {
            "$.role" => Path::Role,
            _ => match parse_json_path(text) {
                Ok(path) => Path::Json(path),
                Err(_) if text.starts_with(['.', '[']) => Path::Legacy(LegacyPath::parse(text)?),
                Err(problem) => return Err(problem),
            },
        };
        let text = text.to_owned();
        Ok(Self { text, path })
    }

    /// The text that it was parsed from.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is the older syntax, which PostgREST has deprecated.
    pub(crate) fn is_legacy(&self) -> bool {
        matches!(self.path, Path::Legacy(_))
    }

    pub(crate) fn is_default(&self) -> bool {
        matches!(self.path, Path::Role)
    }

    /// The role: the first match. A value that is not a string is given as its JSON text.
    pub(crate) fn find(&self, claims: &Map<String, Value>) -> Option<String> {
        match &self.path {
            Path::Role => claims.get("role").map(to_text),
            Path::Legacy(path) => path.find(claims).map(to_text),
            Path::Json(path) => {
                // The library starts at a `Value`, which the claims are not.
                let root = Value::Object(claims.clone());
                path.query_values(&root).first().copied().map(to_text)
            }
        }
    }
}

fn to_text(role: &Value) -> String {
    match role {
        Value::String(role) => role.clone(),
        other => other.to_string(),
    }
}

fn parse_json_path(text: &str) -> Result<JsonPath, String> {
    if nesting(text) > MAX_NESTING {
        return Err(format!("more than {MAX_NESTING} levels of parentheses"));
    }
    let path = JsonPath::parse(text).map_err(|error| error.to_string())?;
    // `$` alone is valid, but the claims as a whole are no role.
    if path.singular_steps().is_some_and(<[_]>::is_empty) {
        return Err("the path selects all claims; add a name, as in $.role".to_owned());
    }
    Ok(path)
}

/// How deep parentheses nest outside of quoted text.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                characters.next();
            }
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '(') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests;
