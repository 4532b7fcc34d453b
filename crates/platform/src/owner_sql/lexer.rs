//! The tokens of one SQL statement, as far as `alter role` needs them.
//!
//! What another setting could read differently (a backslash in a plain string, under
//! `standard_conforming_strings = off`) has no tokens: the statement is left to PostgreSQL.

/// A token with its meaning. Not `Debug`, but in tests: a text may be a password.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum Token<'a> {
    /// A keyword or an identifier without quotes, as written.
    Word(&'a str),
    /// `"name"`, without its quotes.
    Quoted(String),
    /// `'text'`, `E'text'` or `$$text$$`, decoded.
    Text(String),
    /// Digits, with a point or an exponent.
    Number(&'a str),
    /// Any other character.
    Symbol(char),
}

impl Token<'_> {
    /// Whether it is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

/// All tokens, or `None` where the text is not understood.
pub(super) fn tokens(sql: &str) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer { rest: sql };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let Some(first) = lexer.rest.chars().next() else {
            return Some(tokens);
        };
        tokens.push(lexer.token(first)?);
    }
}

struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    fn token(&mut self, first: char) -> Option<Token<'a>> {
        match first {
            '\'' => self.plain_string().map(Token::Text),
            '"' => self.quoted_identifier().map(Token::Quoted),
            '$' => self.dollar_string().map(Token::Text),
            c if is_word_start(c) => self.word(),
            c if c.is_ascii_digit() => self.number(),
            c => {
                self.rest = &self.rest[c.len_utf8()..];
                Some(Token::Symbol(c))
            }
        }
    }

    fn word(&mut self) -> Option<Token<'a>> {
        let word = self.take_while(is_word_part);
        if !self.rest.starts_with('\'') && !self.rest.starts_with("&'") {
            return Some(Token::Word(word));
        }
        // A prefix of a string; those with other meanings (U&'', B'', X'', N'') are not understood.
        if word.eq_ignore_ascii_case("e") && self.rest.starts_with('\'') {
            return self.escape_string().map(Token::Text);
        }
        None
    }

    fn number(&mut self) -> Option<Token<'a>> {
        let number = self.take_while(is_number_part);
        number
            .parse::<f64>()
            .is_ok()
            .then_some(Token::Number(number))
    }

    fn take_while(&mut self, is_part: fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_part(c));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Space and comments, nested ones too.
    fn skip_blanks(&mut self) -> Option<()> {
        loop {
            let trimmed = self.rest.trim_start_matches(is_space);
            self.rest = trimmed;
            if let Some(comment) = trimmed.strip_prefix("--") {
                let end = comment.find(['\n', '\r']).unwrap_or(comment.len());
                self.rest = &comment[end..];
            } else if trimmed.starts_with("/*") {
                self.skip_block_comment()?;
            } else {
                return Some(());
            }
        }
    }

    fn skip_block_comment(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            if let Some(rest) = self.rest.strip_prefix("/*") {
                depth += 1;
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix("*/") {
                depth -= 1;
                self.rest = rest;
                if depth == 0 {
                    return Some(());
                }
            } else {
                let next = self.rest.chars().next()?;
                self.rest = &self.rest[next.len_utf8()..];
            }
        }
    }

    fn plain_string(&mut self) -> Option<String> {
        let text = self.until_quote('\'')?;
        (!text.contains('\\') && !self.continues()).then_some(text)
    }

    fn quoted_identifier(&mut self) -> Option<String> {
        let name = self.until_quote('"')?;
        (!name.is_empty()).then_some(name)
    }

    /// Between two quotes; a doubled one stands for itself.
    fn until_quote(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        self.rest = &self.rest[1..];
        loop {
            let end = self.rest.find(quote)?;
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix(quote) {
                Some(rest) => {
                    text.push(quote);
                    self.rest = rest;
                }
                None => return Some(text),
            }
        }
    }

    /// After `E`. Escapes other than the simplest are not understood.
    fn escape_string(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.rest[1..].chars();
        loop {
            match chars.next()? {
                '\\' => text.push(match chars.next()? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    c @ ('\\' | '\'' | '"') => c,
                    _ => return None,
                }),
                '\'' if chars.as_str().starts_with('\'') => {
                    chars.next();
                    text.push('\'');
                }
                '\'' => break,
                c => text.push(c),
            }
        }
        self.rest = chars.as_str();
        (!self.continues()).then_some(text)
    }

    fn dollar_string(&mut self) -> Option<String> {
        let tag_end = self.rest[1..].find('$')? + 2;
        let tag = &self.rest[..tag_end];
        let name = &tag[1..tag.len() - 1];
        let is_tag = name.chars().all(|c| is_word_part(c) && c != '$')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        if !is_tag {
            return None;
        }
        let body = &self.rest[tag_end..];
        let end = body.find(tag)?;
        self.rest = &body[end + tag.len()..];
        Some(body[..end].to_owned())
    }

    /// Whether the string goes on after a line break, as SQL allows.
    fn continues(&self) -> bool {
        let blank = self.rest.len() - self.rest.trim_start_matches(is_space).len();
        self.rest[..blank].contains(['\n', '\r']) && self.rest[blank..].starts_with('\'')
    }
}

/// What PostgreSQL skips; other Unicode spaces are letters to it.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn is_word_part(c: char) -> bool {
    is_word_start(c) || c.is_ascii_digit() || c == '$'
}

fn is_number_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(sql: &str) -> Option<Vec<String>> {
        let text = |token| match token {
            Token::Word(word) => word.to_owned(),
            Token::Quoted(name) => format!("\"{name}\""),
            Token::Text(text) => format!("'{text}'"),
            Token::Number(number) => format!("#{number}"),
            Token::Symbol(symbol) => symbol.to_string(),
        };
        Some(tokens(sql)?.into_iter().map(text).collect())
    }

    fn check(sql: &str, expected: &[&str]) {
        let found = words(sql).unwrap_or_else(|| panic!("not understood: {sql}"));
        assert_eq!(found, expected, "{sql}");
    }

    #[test]
    fn strings_of_all_kinds_are_decoded() {
        check("'it''s'", &["'it's'"]);
        check(r"E'a\'b\\c\n'", &["'a'b\\c\n'"]);
        check("$$a'b$$ $x$ $$ $x$", &["'a'b'", "' $$ '"]);
        check("\"Odd \"\"name\"", &["\"Odd \"name\""]);
    }

    #[test]
    fn blanks_separate_and_vanish() {
        check(
            "alter/* a /* b */ c */role -- x\n anon",
            &["alter", "role", "anon"],
        );
        check("a=-1.5e3", &["a", "=", "-", "#1.5e3"]);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_understood() {
        for sql in [
            r"'a\b'", "U&'a'", "b'1'", "x'1f'", "n'a'", "'a'\n'b'", "'open", "\"\"", "\"open",
            "/* open", "$1", "3s", "$a b$", r"E'\x41'",
        ] {
            assert_eq!(words(sql), None, "{sql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_understood_or_not(sql in "[ -~\n$'\"é\\\\]{0,60}") {
            _ = tokens(&sql);
        }
    }
}
