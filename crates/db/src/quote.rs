//! Identifiers and literals for the few statements that take no parameters (DDL).

use std::fmt;

/// An SQL identifier, quoted. It cannot be built without quoting.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QuotedIdent(String);

impl QuotedIdent {
    /// Quotes a name; it is cut at a NUL, as PostgreSQL does.
    pub fn new(name: &str) -> Self {
        Self(quote(name, '"'))
    }
}

impl fmt::Display for QuotedIdent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An SQL text literal, quoted, valid with any `standard_conforming_strings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedLiteral(String);

impl QuotedLiteral {
    /// Quotes a text; one with a backslash takes the `E''` form.
    pub fn new(text: &str) -> Self {
        let quoted = quote(text, '\'');
        if text.contains('\\') {
            Self(format!(" E{}", quoted.replace('\\', "\\\\")))
        } else {
            Self(quoted)
        }
    }
}

impl fmt::Display for QuotedLiteral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn quote(text: &str, mark: char) -> String {
    let text = text.split('\0').next().unwrap_or_default();
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(mark);
    // Hardly any name contains the mark, so whole pieces are copied.
    for (index, piece) in text.split(mark).enumerate() {
        if index > 0 {
            quoted.push(mark);
            quoted.push(mark);
        }
        quoted.push_str(piece);
    }
    quoted.push(mark);
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_quoted_and_end_at_nul() {
        assert_eq!(QuotedIdent::new("plain").to_string(), r#""plain""#);
        assert_eq!(QuotedIdent::new(r#"a"b"#).to_string(), r#""a""b""#);
        assert_eq!(QuotedIdent::new("a\0b").to_string(), r#""a""#);
    }

    #[test]
    fn literals_survive_quotes_and_backslashes() {
        assert_eq!(QuotedLiteral::new("it's").to_string(), "'it''s'");
        assert_eq!(QuotedLiteral::new(r"a\'b").to_string(), r" E'a\\''b'");
    }
}
