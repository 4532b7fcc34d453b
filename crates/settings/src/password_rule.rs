//! The character classes that each value of `auth.password_requirements` requires.

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const SYMBOLS: &str = "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~";

/// The character classes from each of which a password needs a character; none without a rule.
pub fn password_characters(rule: Option<&str>) -> &'static [&'static str] {
    match rule {
        Some("letters_digits") => &[LETTERS, DIGITS],
        Some("lower_upper_letters_digits") => &[LOWER, UPPER, DIGITS],
        Some("lower_upper_letters_digits_symbols") => &[LOWER, UPPER, DIGITS, SYMBOLS],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::auth;
    use crate::kind::Kind;

    /// The table of settings names the rules, and nothing ties it to this one but this test.
    #[test]
    fn every_rule_of_the_setting_has_its_characters() {
        let Kind::Choice(rules) = auth::PASSWORD_REQUIREMENTS.declaration().kind() else {
            panic!("a choice of rules");
        };
        for rule in rules.iter().filter(|rule| !rule.is_empty()) {
            assert!(!password_characters(Some(rule)).is_empty(), "{rule}");
        }
        assert!(password_characters(None).is_empty());
    }
}
