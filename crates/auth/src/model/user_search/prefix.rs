//! Beginnings of ids and numbers, as ranges of an index.

use uuid::Uuid;

/// Fewer letters of an id are found in too many of them to be meant.
const MIN_ID_DIGITS: usize = 4;
const MIN_PHONE_DIGITS: usize = 3;
/// Longer ones are no numbers.
const MAX_PHONE_DIGITS: usize = 20;

/// The beginning of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdPrefix {
    pub(super) first: Uuid,
    pub(super) last: Uuid,
}

impl IdPrefix {
    /// Hexadecimal digits, with or without dashes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !(1..=32).contains(&digits.len()) {
            return None;
        }
        let filled = |with: char| {
            let missing = 32 - digits.len();
            let text: String = digits.chars().chain((0..missing).map(|_| with)).collect();
            Uuid::try_parse(&text).ok()
        };
        Some(Self {
            first: filled('0')?,
            last: filled('f')?,
        })
    }

    /// Where the text may be something else.
    pub(super) fn guess(text: &str) -> Option<Self> {
        let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
        Self::parse(text).filter(|_| digits >= MIN_ID_DIGITS)
    }
}

/// The beginning of a number. Numbers are stored as digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhonePrefix {
    pub(super) from: String,
    pub(super) to: String,
}

impl PhonePrefix {
    /// Digits after an optional `+`, with the separators that people write.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('+').unwrap_or(text);
        let is_separator = |c: char| matches!(c, ' ' | '-' | '(' | ')' | '/' | '.');
        let digits: String = text.chars().filter(|c| !is_separator(*c)).collect();
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit())
            && (1..=MAX_PHONE_DIGITS).contains(&digits.len());
        // The character after `9` in ASCII ends the range.
        is_number.then(|| Self {
            to: format!("{digits}:"),
            from: digits,
        })
    }

    /// Where the text may be something else.
    pub(super) fn guess(text: &str) -> Option<Self> {
        Self::parse(text).filter(|prefix| prefix.from.len() >= MIN_PHONE_DIGITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_begin_with_any_digits() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = IdPrefix::parse(text);
            let found = found.map(|it| (it.first.to_string(), it.last.to_string()));
            let expected = expected.map(|(first, last)| (first.to_owned(), last.to_owned()));
            assert_eq!(found, expected, "{text}");
        };
        check(
            "9B4e3c5e-8d",
            Some((
                "9b4e3c5e-8d00-0000-0000-000000000000",
                "9b4e3c5e-8dff-ffff-ffff-ffffffffffff",
            )),
        );
        let whole = "9b4e3c5e-8d1e-4e47-9f36-5c1f3f6f6b1d";
        check(whole, Some((whole, whole)));
        for text in [
            "",
            "-",
            "xyz",
            "9b4e3c5e-8d1e-4e47-9f36-5c1f3f6f6b1d0",
            "9b 4e",
        ] {
            check(text, None);
        }
        assert!(IdPrefix::guess("abc").is_none() && IdPrefix::guess("abcd").is_some());
    }

    #[test]
    fn a_number_is_read_as_people_write_it() {
        let check = |text: &str, expected: Option<&str>| {
            let found = PhonePrefix::parse(text).map(|it| it.from);
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("+49 (171) 23-4", Some("49171234"));
        check("49", Some("49"));
        for text in ["", "+", "49a", "++49", "123456789012345678901"] {
            check(text, None);
        }
        assert!(PhonePrefix::guess("49").is_none() && PhonePrefix::guess("491").is_some());
    }
}
