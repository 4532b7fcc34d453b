//! PostgreSQL's `LIKE` and `ILIKE`.

use super::Undecided;

/// A pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    tokens: Vec<Token>,
    ignores_case: bool,
    is_ascii: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Exactly(char),
    /// `_`
    One,
    /// `%`
    Many,
    /// A backslash at the end, which matches nothing.
    Nothing,
}

impl Pattern {
    pub(super) fn new(pattern: &str, ignores_case: bool) -> Self {
        let mut chars = pattern.chars();
        let mut tokens = Vec::new();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '%' => Token::Many,
                '_' => Token::One,
                '\\' => chars.next().map_or(Token::Nothing, Token::Exactly),
                c => Token::Exactly(c),
            });
        }
        Self {
            tokens,
            ignores_case,
            is_ascii: pattern.is_ascii(),
        }
    }

    /// Case folding beyond ASCII depends on the collation and is left to the database.
    pub(super) fn matches(&self, text: &str) -> Result<bool, Undecided> {
        if self.ignores_case && !(self.is_ascii && text.is_ascii()) {
            return Err(Undecided);
        }
        Ok(self.is_match(text))
    }

    /// Backtracks to the last `%` only, which then takes one character more. Earlier ones need no
    /// retry: the last can take whatever they would.
    fn is_match(&self, text: &str) -> bool {
        let (mut token, mut rest) = (0, text.chars());
        let mut retry = None;
        loop {
            match self.tokens.get(token) {
                Some(Token::Many) => {
                    token += 1;
                    retry = Some((token, rest.clone()));
                    continue;
                }
                None if rest.as_str().is_empty() => return true,
                Some(expected) if self.matches_char(*expected, rest.next()) => {
                    token += 1;
                    continue;
                }
                _ => {}
            }
            let Some((after, text)) = &mut retry else {
                return false;
            };
            if text.next().is_none() {
                return false;
            }
            (token, rest) = (*after, text.clone());
        }
    }

    fn matches_char(&self, expected: Token, c: Option<char>) -> bool {
        match (expected, c) {
            (Token::Exactly(expected), Some(c)) if self.ignores_case => {
                expected.eq_ignore_ascii_case(&c)
            }
            (Token::Exactly(expected), Some(c)) => expected == c,
            (Token::One, Some(_)) => true,
            (Token::Many | Token::Nothing, _) | (_, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        let check = |pattern: &str, text: &str, expected: bool| {
            let found = Pattern::new(pattern, false).matches(text);
            assert_eq!(found, Ok(expected), "{text} like {pattern}");
        };
        check("", "", true);
        check("", "a", false);
        check("a", "a", true);
        check("a", "ab", false);
        check("a%", "ab", true);
        check("%b", "ab", true);
        check("%b%", "abc", true);
        check("%", "", true);
        check("a_c", "aüc", true);
        check("a_c", "ac", false);
        check(r"a\%", "a%", true);
        check(r"a\%", "ab", false);
        check(r"a\\", r"a\", true);
        check(r"a\", r"a\", false);
        check("%aab", "aaaab", true);
        check("a%b%c", "axxbyybzc", true);
        check("A", "a", false);
    }

    #[test]
    fn case_is_ignored_within_ascii_only() {
        assert_eq!(Pattern::new("a%", true).matches("ABC"), Ok(true));
        assert_eq!(Pattern::new("a%", true).matches("Ä"), Err(Undecided));
        assert_eq!(Pattern::new("ä%", true).matches("abc"), Err(Undecided));
    }

    /// A simple implementation to compare with.
    fn slow(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['%', pattern @ ..], _) => (0..=text.len()).any(|n| slow(pattern, &text[n..])),
            (['_', pattern @ ..], [_, text @ ..]) => slow(pattern, text),
            ([p, pattern @ ..], [t, text @ ..]) => p == t && slow(pattern, text),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_simple_implementation(pattern in "[ab%_]{0,8}", text in "[ab]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = slow(&chars(&pattern), &chars(&text));
            prop_assert_eq!(Pattern::new(&pattern, false).matches(&text), Ok(expected));
        }
    }
}
