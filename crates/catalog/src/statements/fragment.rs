//! SQL that people write: expressions, arguments, result types. It is part of a statement of ours,
//! between parentheses, and must not be able to end them or the statement.

use super::StatementError;

/// Rejects a text that is more, or less, than one balanced piece of SQL. `what` names it.
pub(super) fn check_fragment(what: &str, text: &str) -> Result<(), StatementError> {
    let wrong = |reason: &str| Err(StatementError::new(format!("{what} {reason}")));
    if text.trim().is_empty() {
        return wrong("must not be empty");
    }
    if text.contains('\0') {
        return wrong("must not contain a zero character");
    }
    match Scanner::new(text).run() {
        Ok(()) => Ok(()),
        Err(reason) => wrong(reason),
    }
}

/// A fragment in parentheses.
pub(super) fn in_parentheses(what: &str, text: &str) -> Result<String, StatementError> {
    check_fragment(what, text)?;
    let text = text.trim();
    // A comment at its end would swallow the parenthesis.
    let end = if text.contains("--") { "\n" } else { "" };
    Ok(format!("({text}{end})"))
}

struct Scanner<'a> {
    rest: &'a str,
    /// What closes each open parenthesis or bracket.
    open: Vec<char>,
    previous: char,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            open: Vec::new(),
            previous: ' ',
        }
    }

    fn run(mut self) -> Result<(), &'static str> {
        while let Some(c) = self.rest.chars().next() {
            match c {
                '(' => self.open.push(')'),
                '[' => self.open.push(']'),
                ')' | ']' => {
                    if self.open.pop() != Some(c) {
                        return Err("has a closing parenthesis without an opening one");
                    }
                }
                ';' => return Err("must not contain a semicolon"),
                _ => {}
            }
            self.skip(c)?;
        }
        if self.open.is_empty() {
            Ok(())
        } else {
            Err("has an opening parenthesis without a closing one")
        }
    }

    /// Moves past one token, or past one character of it.
    fn skip(&mut self, c: char) -> Result<(), &'static str> {
        let end = match c {
            '\'' => Some(self.quoted_end('\'', self.previous.eq_ignore_ascii_case(&'e'))),
            '"' => Some(self.quoted_end('"', false)),
            '-' if self.rest.starts_with("--") => {
                Some(Some(self.rest.find('\n').unwrap_or(self.rest.len())))
            }
            '/' if self.rest.starts_with("/*") => Some(self.comment_end()),
            '$' if !is_word(self.previous) && self.previous != '$' => self.dollar_end(),
            _ => None,
        };
        let length = match end {
            Some(Some(end)) => end,
            Some(None) => return Err("has a quote or a comment that does not end"),
            None => c.len_utf8(),
        };
        self.previous = self.rest[..length].chars().next_back().unwrap_or(' ');
        self.rest = &self.rest[length..];
        Ok(())
    }

    fn quoted_end(&self, quote: char, has_escapes: bool) -> Option<usize> {
        let mut characters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            // Where `standard_conforming_strings` is off, any string has escapes. Both readings must
            // agree, so a backslash before a quote is not accepted in an ordinary string.
            if c == '\\' && quote == '\'' {
                let next = characters.peek().map(|(_, next)| *next);
                if has_escapes {
                    characters.next();
                } else if next == Some('\'') {
                    return None;
                }
            } else if c == quote {
                if characters.peek().is_some_and(|(_, next)| *next == quote) {
                    characters.next();
                } else {
                    return Some(at + 1);
                }
            }
        }
        None
    }

    /// Comments nest.
    fn comment_end(&self) -> Option<usize> {
        let mut depth = 0_usize;
        let mut at = 0;
        while at < self.rest.len() {
            let rest = &self.rest.as_bytes()[at..];
            if rest.starts_with(b"/*") {
                depth += 1;
                at += 2;
            } else if rest.starts_with(b"*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            } else {
                at += 1;
            }
        }
        None
    }

    /// `None` if it is no dollar quote at all.
    fn dollar_end(&self) -> Option<Option<usize>> {
        let after = &self.rest[1..];
        let tag_length = after.find(|c| !is_word(c))?;
        let starts_with_digit = after.starts_with(|c: char| c.is_ascii_digit());
        if !after[tag_length..].starts_with('$') || starts_with_digit {
            return None;
        }
        let tag = &self.rest[..tag_length + 2];
        let body = &self.rest[tag.len()..];
        Some(body.find(tag).map(|at| tag.len() + at + tag.len()))
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_expressions_are_accepted() {
        for good in [
            "true",
            "(select auth.uid()) = user_id",
            "a[1] = ';' and b = $$;)$$ and c = $x$ $$ ) $x$",
            r#""a;)" > 1 /* ) /* ; */ */ and 'it''s)' <> E'\');'"#,
            "now() -- );",
            "$1 = a$b",
            r"a ~ '\d+'",
        ] {
            assert_eq!(check_fragment("It", good), Ok(()), "{good}");
        }
    }

    #[test]
    fn what_could_leave_its_place_is_rejected() {
        for bad in [
            "",
            "  ",
            "true); drop table a; --",
            "true) with check (true",
            "(true",
            "a[1",
            "(a]",
            "'open",
            "\"open",
            "/* open",
            "$$ open",
            "true; select 1",
            "a\0b",
            r"'\'); drop table a; --'",
            "e'\\'",
        ] {
            assert!(check_fragment("It", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_comment_does_not_swallow_the_parenthesis() {
        let sql = in_parentheses("It", " true -- always ").expect("an expression");
        assert_eq!(sql, "(true -- always\n)");
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_asked(text in "(\\PC|['\"$/*;()\\[\\]\\\\-]){0,40}") {
            _ = check_fragment("It", &text);
        }
    }
}
