//! Names in statements.

use plinth_db::{QuotedIdent, QuotedLiteral};

use super::StatementError;

/// The longest name that PostgreSQL keeps whole, in bytes.
const MAX_NAME_BYTES: usize = 63;

/// Rejects what PostgreSQL would cut or not take. `what` says whose name it is.
pub fn check_name(what: &str, name: &str) -> Result<(), StatementError> {
    let reason = if name.is_empty() {
        "must not be empty".to_owned()
    } else if name.contains('\0') {
        "must not contain a zero character".to_owned()
    } else if name.len() > MAX_NAME_BYTES {
        format!(
            "must not be longer than {MAX_NAME_BYTES} bytes; it has {}",
            name.len()
        )
    } else {
        return Ok(());
    };
    Err(StatementError::new(format!("The name of {what} {reason}")))
}

/// A new name, quoted.
pub(super) fn new_name(what: &str, name: &str) -> Result<QuotedIdent, StatementError> {
    check_name(what, name)?;
    Ok(QuotedIdent::new(name))
}

/// Names in a list, quoted.
pub(super) fn name_list<S: AsRef<str>>(what: &str, names: &[S]) -> Result<String, StatementError> {
    let quoted = names
        .iter()
        .map(|name| new_name(what, name.as_ref()).map(|name| name.to_string()));
    Ok(quoted.collect::<Result<Vec<_>, _>>()?.join(", "))
}

/// An object in a schema; displays as SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation<'a> {
    /// Its schema.
    pub schema: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl<'a> Relation<'a> {
    /// Names from the catalog.
    pub fn new(schema: &'a str, name: &'a str) -> Self {
        Self { schema, name }
    }

    /// Names from a request.
    pub(super) fn checked(
        what: &str,
        schema: &'a str,
        name: &'a str,
    ) -> Result<Self, StatementError> {
        check_name("a schema", schema)?;
        check_name(what, name)?;
        Ok(Self { schema, name })
    }
}

impl std::fmt::Display for Relation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (schema, name) = (QuotedIdent::new(self.schema), QuotedIdent::new(self.name));
        write!(f, "{schema}.{name}")
    }
}

/// A literal. A text with a zero character is rejected, since PostgreSQL has none.
pub(super) fn literal(text: &str) -> Result<String, StatementError> {
    if text.contains('\0') {
        return Err(StatementError::new(
            "A text must not contain a zero character",
        ));
    }
    Ok(QuotedLiteral::new(text).to_string().trim_start().to_owned())
}

/// `comment on …`; no text removes it.
pub(super) fn comment_on(
    object: impl std::fmt::Display,
    text: Option<&str>,
) -> Result<String, StatementError> {
    let text = match text {
        Some(text) => literal(text)?,
        None => "null".to_owned(),
    };
    Ok(format!("comment on {object} is {text}"))
}

/// The name of a setting, whose parts are separated by dots.
pub(super) fn setting_name(name: &str) -> Result<String, StatementError> {
    let parts = name
        .split('.')
        .map(|part| new_name("a setting", part).map(|part| part.to_string()));
    Ok(parts.collect::<Result<Vec<_>, _>>()?.join("."))
}

/// Settings that are lists of names: each is a value of its own.
const LISTS: [&str; 4] = [
    "search_path",
    "temp_tablespaces",
    "session_preload_libraries",
    "local_preload_libraries",
];

/// The value of a setting, after `to`.
pub(super) fn setting_value(name: &str, value: &str) -> Result<String, StatementError> {
    if !LISTS.iter().any(|list| name.eq_ignore_ascii_case(list)) {
        return literal(value);
    }
    let items = split_list(value);
    if items.is_empty() {
        return literal("");
    }
    let items = items.iter().map(|item| literal(item));
    Ok(items.collect::<Result<Vec<_>, _>>()?.join(", "))
}

/// Splits at commas outside of double and single quotes, and removes the quotes.
fn split_list(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut item = String::new();
    let mut quote = None;
    let mut was_quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match quote {
            Some(open) if c == open => {
                if characters.peek() == Some(&open) {
                    characters.next();
                    item.push(open);
                } else {
                    quote = None;
                }
            }
            Some(_) => item.push(c),
            None if matches!(c, '"' | '\'') => {
                quote = Some(c);
                was_quoted = true;
            }
            None if c == ',' => {
                items.push(std::mem::take(&mut item));
                was_quoted = false;
            }
            None if c.is_whitespace() => {}
            None => item.push(c),
        }
    }
    if was_quoted || !item.is_empty() {
        items.push(item);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_bounded() {
        let long = "é".repeat(31);
        for good in ["a", r#"a"b.c; --"#, "🙂", "\u{1}\n", long.as_str()] {
            assert!(check_name("a table", good).is_ok(), "{good:?}");
        }
        for bad in ["", "a\0b", "é".repeat(32).as_str()] {
            assert!(check_name("a table", bad).is_err(), "{bad:?}");
        }
        let relation = Relation::new(r#"a"b"#, "c.d");
        assert_eq!(relation.to_string(), r#""a""b"."c.d""#);
    }

    #[test]
    fn a_list_is_a_value_for_each_item() {
        let check = |value: &str, expected: &str| {
            let sql = setting_value("search_path", value).expect("a value");
            assert_eq!(sql, expected);
        };
        check(r#""$user", public, 'a,b'"#, "'$user', 'public', 'a,b'");
        check("", "''");
        check(r#""""#, "''");
        check("a'b", "'ab'");
        assert_eq!(
            setting_value("datestyle", "ISO, MDY").as_deref(),
            Ok("'ISO, MDY'")
        );
        assert_eq!(setting_name("a.b c").as_deref(), Ok(r#""a"."b c""#));
    }
}
