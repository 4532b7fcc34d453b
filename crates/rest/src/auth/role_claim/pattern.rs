//! Regular expressions of `match` and `search`: I-Regexp (RFC 9485), which has less than the engine.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::path::{Operand, Root};

/// What a compiled one may take in memory: one that the operator wrote, and one of a token.
const MOST_KNOWN: usize = 10 << 20;
const MOST_TOLD: usize = 64 << 10;

/// What a text is held against. One that is no regular expression fits nothing.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Known(Option<Regex>),
    /// To be found among the claims.
    Told {
        operand: Operand,
        is_whole: bool,
    },
}

impl Pattern {
    pub(super) fn new(operand: Operand, is_whole: bool) -> Self {
        match operand {
            Operand::Literal(value) => Self::Known(compile(&value, is_whole, MOST_KNOWN)),
            operand => Self::Told { operand, is_whole },
        }
    }

    pub(super) fn matches(&self, text: &str, root: Root<'_>, current: &Value) -> bool {
        match self {
            Self::Known(regex) => regex.as_ref().is_some_and(|regex| regex.is_match(text)),
            Self::Told { operand, is_whole } => {
                let pattern = operand.value(root, current);
                let regex = pattern.and_then(|pattern| compile(&pattern, *is_whole, MOST_TOLD));
                regex.is_some_and(|regex| regex.is_match(text))
            }
        }
    }
}

fn compile(pattern: &Value, is_whole: bool, most: usize) -> Option<Regex> {
    let inner = translate(pattern.as_str()?)?;
    let build = |pattern: &str| RegexBuilder::new(pattern).size_limit(most).build().ok();
    // What is none by itself must not become one by what stands around it.
    let regex = build(&inner)?;
    match is_whole {
        true => build(&format!(r"\A(?:{inner})\z")),
        false => Some(regex),
    }
}

/// Characters that mean themselves there and something else to the engine are escaped, and a dot
/// leaves out both ends of a line (RFC 9485 §5.3). What only the engine knows is none.
fn translate(pattern: &str) -> Option<String> {
    let mut translated = String::with_capacity(pattern.len());
    let mut is_in_class = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        match (character, is_in_class) {
            ('\\', _) => {
                let escaped = characters.next()?;
                if !r"()*+-.?[\]^nrt{|}pP".contains(escaped) {
                    return None;
                }
                translated.extend([character, escaped]);
            }
            ('.', false) => translated.push_str(r"[^\n\r]"),
            ('^' | '$', false) => translated.extend(['\\', character]),
            // A group that says something about itself, a quantifier that is not greedy.
            ('(', false) if next == Some('?') => return None,
            ('*' | '+' | '?' | '}', false) if matches!(next, Some('*' | '+' | '?' | '{')) => {
                return None;
            }
            ('{', false) if next == Some(',') => return None,
            ('[', false) => {
                is_in_class = true;
                translated.push(character);
                if next == Some('^') {
                    characters.next();
                    translated.push('^');
                }
                if characters.peek() == Some(&']') {
                    return None;
                }
            }
            (']', true) => {
                is_in_class = false;
                translated.push(character);
            }
            ('-', true) if next == Some('-') => return None,
            ('[', true) => return None,
            ('^' | '&' | '~', true) => translated.extend(['\\', character]),
            _ => translated.push(character),
        }
    }
    Some(translated)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, text: &str, is_whole: bool, expected: bool) {
        let regex = compile(&json!(pattern), is_whole, MOST_TOLD);
        let matches = regex.is_some_and(|regex| regex.is_match(text));
        assert_eq!(matches, expected, "{pattern} {text}");
    }

    #[test]
    fn a_pattern_is_read_as_the_standard_has_it() {
        check("a.c", "xabcx", false, true);
        check("a.c", "xabcx", true, false);
        check("a|abc", "abc", true, true);
        check("a.c", "a\rc", false, false);
        check("^a", "a", false, false);
        check("^a$", "x^a$x", false, true);
        check("[^a]", "a", false, false);
        check("[a^]", "^", true, true);
        check("[a&&b]", "&", true, true);
        check(r"\.", "a", false, false);
        check(r"\p{Lu}[0-9]{2,3}", "A12", true, true);
        check("(", "(", false, false);
        check("a{2,3}", "aaa", true, true);
        check("[a-c]+|(d|e)*", "abc", true, true);
    }

    #[test]
    fn what_only_the_engine_knows_fits_nothing() {
        for (pattern, text) in [
            ("admin)|(x", "admin"),
            ("(?i)a", "a"),
            (r"\d", "1"),
            (r"\ba", "a"),
            ("a*?", "a"),
            ("a{,2}", "a"),
            ("[]a]", "a"),
            ("[a--b]", "a"),
            ("[[a]", "a"),
        ] {
            check(pattern, text, true, false);
            check(pattern, text, false, false);
        }
    }

    #[test]
    fn one_that_would_take_much_memory_fits_nothing() {
        check("(a{1000}){1000}", &"a".repeat(1_000_000), true, false);
    }
}
