//! The grammar of the query bar: `status:5xx path:/rest/v1/* -level:debug "timed out"`.

use std::{iter::Peekable, str::CharIndices};

use super::{MAX_TERMS, MAX_TERMS_BYTES, term::Term};
use crate::QueryError;

pub(super) fn parse_terms(text: &str) -> Result<Vec<Term>, QueryError> {
    if text.len() > MAX_TERMS_BYTES {
        return Err(QueryError::TooLong(text.len()));
    }
    let mut terms = Vec::new();
    let mut reader = Reader {
        chars: text.char_indices().peekable(),
        text,
    };
    while let Some(term) = reader.term()? {
        terms.push(term);
    }
    if terms.len() > MAX_TERMS {
        return Err(QueryError::TooManyTerms(terms.len()));
    }
    Ok(terms)
}

struct Reader<'a> {
    chars: Peekable<CharIndices<'a>>,
    text: &'a str,
}

impl Reader<'_> {
    fn term(&mut self) -> Result<Option<Term>, QueryError> {
        while self
            .chars
            .next_if(|(_, char)| char.is_whitespace())
            .is_some()
        {}
        let Some(&(start, _)) = self.chars.peek() else {
            return Ok(None);
        };
        let is_excluding = self.chars.next_if(|(_, char)| *char == '-').is_some();
        let term = match self.chars.peek() {
            Some((_, '"')) => Term::text(&self.quoted()?),
            Some((_, char)) if !char.is_whitespace() => self.word()?,
            _ => return Err(QueryError::NothingExcluded(self.character(start))),
        };
        Ok(Some(if is_excluding { term.excluding() } else { term }))
    }

    /// A word, or a key with its value.
    fn word(&mut self) -> Result<Term, QueryError> {
        let mut word = String::new();
        while let Some((_, char)) = self.chars.next_if(|(_, char)| !char.is_whitespace()) {
            if char == ':' && is_key(&word) && !self.rest().starts_with("//") {
                return self.value_of(word.to_lowercase());
            }
            word.push(char);
        }
        Ok(Term::text(&word))
    }

    fn value_of(&mut self, key: String) -> Result<Term, QueryError> {
        if let Some((_, '"')) = self.chars.peek() {
            let value = self.quoted()?;
            return Term::field(&key, &value);
        }
        let mut value = String::new();
        while let Some((_, char)) = self.chars.next_if(|(_, char)| !char.is_whitespace()) {
            value.push(char);
        }
        if value.is_empty() {
            return Err(QueryError::MissingValue(key));
        }
        Term::like(&key, &value)
    }

    /// What stands between two quotes; `\"` and `\\` are a quote and a backslash.
    fn quoted(&mut self) -> Result<String, QueryError> {
        let opening = self.chars.next().map_or(0, |(at, _)| at);
        let mut value = String::new();
        while let Some((_, char)) = self.chars.next() {
            match char {
                '"' => return Ok(value),
                '\\' => match self.chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                    Some((_, escaped)) => value.push(escaped),
                    None => value.push('\\'),
                },
                _ => value.push(char),
            }
        }
        Err(QueryError::UnclosedQuote(self.character(opening)))
    }

    fn rest(&mut self) -> &str {
        self.chars.peek().map_or("", |(at, _)| &self.text[*at..])
    }

    /// The number of the character at a byte offset, counted from 1 as people do.
    fn character(&self, offset: usize) -> usize {
        self.text[..offset].chars().count() + 1
    }
}

/// Times (`12:30`) and addresses (`::1`) are no keys.
fn is_key(word: &str) -> bool {
    word.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && word
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "_.-".contains(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[Term]) {
        assert_eq!(parse_terms(text).as_deref(), Ok(expected), "{text}");
    }

    fn check_error(text: &str, expected: &str) {
        assert_eq!(
            parse_terms(text).unwrap_err().to_string(),
            expected,
            "{text}"
        );
    }

    fn like(key: &str, value: &str) -> Term {
        Term::like(key, value).unwrap()
    }

    #[test]
    fn keys_values_and_words() {
        check("", &[]);
        check(" \t ", &[]);
        check(
            "status:5xx path:/rest/v1/* timeout",
            &[
                like("status", "5xx"),
                like("path", "/rest/v1/*"),
                Term::text("timeout"),
            ],
        );
        check("Status:200", &[like("status", "200")]);
        check("user:a:b", &[like("user", "a:b")]);
    }

    #[test]
    fn quotes_keep_spaces_and_stars() {
        check("\"timed out\"", &[Term::text("timed out")]);
        check("path:\"/a b/*\"", &[Term::field("path", "/a b/*").unwrap()]);
        check(
            r#""say \"hi\" c:\dir""#,
            &[Term::text(r#"say "hi" c:\dir"#)],
        );
        check("\"status:500\"", &[Term::text("status:500")]);
        check("name:\"\"", &[Term::field("name", "").unwrap()]);
    }

    #[test]
    fn a_minus_excludes() {
        check("-level:debug", &[like("level", "debug").excluding()]);
        check(
            "-\"a b\" -c",
            &[Term::text("a b").excluding(), Term::text("c").excluding()],
        );
        check("a-b", &[Term::text("a-b")]);
    }

    #[test]
    fn times_and_addresses_are_text() {
        check("12:30:00", &[Term::text("12:30:00")]);
        check(
            "https://example.com/a",
            &[Term::text("https://example.com/a")],
        );
        check("::1", &[Term::text("::1")]);
    }

    #[test]
    fn mistakes_are_explained() {
        check_error(
            "é \"open",
            "the quote at character 3 is never closed; add a closing \" or write \\\"",
        );
        check_error(
            "status: 500",
            "`status:` has no value; write `status:something`, or put the whole in quotes to \
             search for it as text",
        );
        check_error(
            "a - b",
            "`-` at character 3 excludes nothing; write `-word` or `-key:value`",
        );
        check_error(
            "a -",
            "`-` at character 3 excludes nothing; write `-word` or `-key:value`",
        );
        check_error(
            "level:eror",
            "`eror` is not a log level; use one of trace, debug, info, warn, error",
        );
    }

    #[test]
    fn size_is_limited() {
        assert_eq!(
            parse_terms(&"a ".repeat(51)),
            Err(QueryError::TooManyTerms(51))
        );
        assert_eq!(
            parse_terms(&"a".repeat(5000)),
            Err(QueryError::TooLong(5000))
        );
    }
}
