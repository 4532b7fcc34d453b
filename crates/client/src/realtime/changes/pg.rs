//! Filters of row changes (realtime contract §9.4).
//!
//! ```
//! use plinth_client::realtime::pg::{self, Filter, Is};
//!
//! let filter: Filter = pg::eq("room", 7).and(pg::is("deleted_at", Is::Null)).into();
//! assert_eq!(filter.to_string(), "room=eq.7,deleted_at=is.null");
//! ```

use std::fmt;

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    column: String,
    is_negated: bool,
    /// Operator and value.
    test: String,
}

/// A conjunction of conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(String);

/// What [`is`] compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// NULL.
    Null,
    /// True.
    True,
    /// False.
    False,
    /// UNKNOWN.
    Unknown,
}

/// The column equals the value.
pub fn eq(column: &str, value: impl fmt::Display) -> Condition {
    scalar(column, "eq", value)
}

/// The column does not equal the value.
pub fn neq(column: &str, value: impl fmt::Display) -> Condition {
    scalar(column, "neq", value)
}

/// The column is less than the value.
pub fn lt(column: &str, value: impl fmt::Display) -> Condition {
    scalar(column, "lt", value)
}

/// The column is less than the value, or equals it.
pub fn lte(column: &str, value: impl fmt::Display) -> Condition {
    scalar(column, "lte", value)
}

/// The column is greater than the value.
pub fn gt(column: &str, value: impl fmt::Display) -> Condition {
    scalar(column, "gt", value)
}

/// The column is greater than the value, or equals it.
pub fn gte(column: &str, value: impl fmt::Display) -> Condition {
    scalar(column, "gte", value)
}

/// The column matches the pattern: `%` is any text, `_` any character.
pub fn like(column: &str, pattern: impl fmt::Display) -> Condition {
    scalar(column, "like", pattern)
}

/// [`like`], ignoring case.
pub fn ilike(column: &str, pattern: impl fmt::Display) -> Condition {
    scalar(column, "ilike", pattern)
}

/// The column matches the regular expression.
pub fn match_(column: &str, pattern: impl fmt::Display) -> Condition {
    scalar(column, "match", pattern)
}

/// [`match_`], ignoring case.
pub fn imatch(column: &str, pattern: impl fmt::Display) -> Condition {
    scalar(column, "imatch", pattern)
}

/// The column is distinct from the value; NULL is.
pub fn is_distinct(column: &str, value: impl fmt::Display) -> Condition {
    scalar(column, "isdistinct", value)
}

/// The column is one of these values; the server accepts up to a hundred.
pub fn in_(column: &str, values: impl IntoIterator<Item = impl fmt::Display>) -> Condition {
    let mut items: Vec<String> = Vec::new();
    for value in values {
        let value = quoted(&value.to_string());
        if !items.contains(&value) {
            items.push(value);
        }
    }
    condition(column, format!("in.({})", items.join(",")))
}

/// The column is null, true, false, or unknown.
pub fn is(column: &str, what: Is) -> Condition {
    let what = match what {
        Is::Null => "null",
        Is::True => "true",
        Is::False => "false",
        Is::Unknown => "unknown",
    };
    condition(column, format!("is.{what}"))
}

fn scalar(column: &str, operator: &str, value: impl fmt::Display) -> Condition {
    condition(column, format!("{operator}.{}", quoted(&value.to_string())))
}

fn condition(column: &str, test: String) -> Condition {
    Condition {
        column: column.to_owned(),
        is_negated: false,
        test,
    }
}

/// Quotes values with special characters.
fn quoted(value: &str) -> String {
    let is_plain = !value.contains([',', '(', ')', '"', '\\']) && value.trim() == value;
    if is_plain {
        value.to_owned()
    } else {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    }
}

impl Condition {
    /// Negates it. NULLs match neither.
    #[expect(
        clippy::should_implement_trait,
        reason = "it reads in a chain, beside `and`"
    )]
    pub fn not(mut self) -> Self {
        self.is_negated = !self.is_negated;
        self
    }

    /// Requires both.
    pub fn and(self, other: impl Into<Filter>) -> Filter {
        Filter::from(self).and(other)
    }
}

impl Filter {
    /// Requires both.
    pub fn and(self, other: impl Into<Filter>) -> Self {
        let parts = [self.0, other.into().0];
        let parts = parts.iter().filter(|part| !part.is_empty());
        Self(parts.cloned().collect::<Vec<_>>().join(","))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.is_negated { "not." } else { "" };
        write!(formatter, "{}={not}{}", self.column, self.test)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<Condition> for Filter {
    fn from(condition: Condition) -> Self {
        Self(condition.to_string())
    }
}

/// As it is written on the wire: `id=eq.7`.
impl From<&str> for Filter {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// As it is written on the wire.
impl From<String> for Filter {
    fn from(text: String) -> Self {
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_its_word() {
        let check = |condition: Condition, expected: &str| {
            assert_eq!(condition.to_string(), expected);
        };

        check(eq("a", 1), "a=eq.1");
        check(neq("a", true), "a=neq.true");
        check(lt("a", 1.5), "a=lt.1.5");
        check(lte("a", "x"), "a=lte.x");
        check(gt("a", -1), "a=gt.-1");
        check(gte("a", 'c'), "a=gte.c");
        check(like("a", "b%"), "a=like.b%");
        check(ilike("a", "B%"), "a=ilike.B%");
        check(match_("a", "^b"), "a=match.^b");
        check(imatch("a", "^b"), "a=imatch.^b");
        check(is_distinct("a", "b"), "a=isdistinct.b");
        check(in_("a", [1, 2, 1]), "a=in.(1,2)");
        check(is("a", Is::Unknown), "a=is.unknown");
        check(is("a", Is::Null).not(), "a=not.is.null");
        check(eq("a", 1).not().not(), "a=eq.1");
    }

    #[test]
    fn values_are_quoted_where_they_would_be_taken_for_something_else() {
        assert_eq!(eq("a", "x,y").to_string(), r#"a=eq."x,y""#);
        assert_eq!(eq("a", r#"s"\"#).to_string(), r#"a=eq."s\"\\""#);
        assert_eq!(eq("a", " b").to_string(), r#"a=eq." b""#);
        assert_eq!(in_("a", ["b", "(c)"]).to_string(), r#"a=in.(b,"(c)")"#);
    }

    #[test]
    fn conditions_are_joined_by_commas() {
        let filter = eq("a", 1).and(gt("b", 2)).and("c=lt.3");
        assert_eq!(filter.to_string(), "a=eq.1,b=gt.2,c=lt.3");
        assert_eq!(Filter::default().and(eq("a", 1)).to_string(), "a=eq.1");
    }
}
