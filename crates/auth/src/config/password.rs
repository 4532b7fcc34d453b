//! Rules for passwords, and the cost of hashing.

/// `PASSWORD_*`
#[derive(Debug, Clone)]
pub(crate) struct PasswordConfig {
    /// In characters. `PASSWORD_MIN_LENGTH`, at least 6.
    pub(crate) min_length: usize,
    /// Sets of which a password needs one character each. `PASSWORD_REQUIRED_CHARACTERS`
    pub(crate) required_characters: Vec<String>,
    /// `PASSWORD_HIBP_*`; `None` while it is off.
    pub(crate) hibp: Option<HibpConfig>,
    /// Cost factor of bcrypt.
    pub(crate) cost: u32,
    /// `SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION`
    pub(crate) change_needs_reauthentication: bool,
    /// `SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD`
    pub(crate) change_needs_current: bool,
    /// `EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED`
    pub(crate) makes_email_identity: bool,
}

/// The check for leaked passwords.
#[derive(Debug, Clone)]
pub(crate) struct HibpConfig {
    /// Whether passwords are rejected while the service cannot be reached. `…_FAIL_CLOSED`
    pub(crate) fails_closed: bool,
    /// Base of the range API.
    pub(crate) url: String,
    /// `…_USER_AGENT`
    pub(crate) user_agent: String,
}

/// At least six.
pub(crate) fn min_length(requested: usize) -> usize {
    requested.max(6)
}

/// `PASSWORD_REQUIRED_CHARACTERS`: sets separated by colons; `\:` is a colon of the set itself.
pub(crate) fn character_sets(text: &str) -> Vec<String> {
    let mut sets = vec![String::new()];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\\:") {
            sets.last_mut().expect("never empty").push(':');
            rest = after;
            continue;
        }
        match c {
            ':' => sets.push(String::new()),
            _ => sets.last_mut().expect("never empty").push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    sets.retain(|set| !set.is_empty());
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_separated_by_colons_that_are_not_escaped() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(character_sets(text), expected, "{text}");
        };
        check("", &[]);
        check("abc", &["abc"]);
        check("abc:ABC:012", &["abc", "ABC", "012"]);
        check(r"!@\:;:0", &["!@:;", "0"]);
        check(r"a\b:c", &[r"a\b", "c"]);
        check(r"::a:", &["a"]);
        check(r"\:", &[":"]);
    }

    proptest::proptest! {
        #[test]
        fn escaping_is_undone(sets in proptest::collection::vec("[a-z:!]{1,5}", 0..4)) {
            let escaped: Vec<_> = sets.iter().map(|set| set.replace(':', r"\:")).collect();
            assert_eq!(character_sets(&escaped.join(":")), sets);
        }
    }
}
