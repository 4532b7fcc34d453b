//! What a password must be like, and what hashing it costs.

/// `PASSWORD_*`
#[derive(Debug, Clone)]
pub(crate) struct PasswordConfig {
    /// In characters. `PASSWORD_MIN_LENGTH`, at least 6.
    pub(crate) min_length: usize,
    /// Of each set at least one character. `PASSWORD_REQUIRED_CHARACTERS`
    pub(crate) required_characters: Vec<String>,
    /// `PASSWORD_HIBP_*`; `None` while it is off.
    pub(crate) hibp: Option<HibpConfig>,
    /// Of bcrypt.
    pub(crate) cost: u32,
    /// How many passwords may wait to be hashed before requests are refused.
    pub(crate) max_waiting: usize,
    /// `SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION`
    pub(crate) change_needs_reauthentication: bool,
    /// `SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD`
    pub(crate) change_needs_current: bool,
    /// `EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED`
    pub(crate) makes_email_identity: bool,
}

/// Passwords known to have leaked.
#[derive(Debug, Clone)]
pub(crate) struct HibpConfig {
    /// Whether an outage of the service refuses passwords. `…_FAIL_CLOSED`
    pub(crate) fails_closed: bool,
    /// Base of the range API.
    pub(crate) url: String,
    /// `…_USER_AGENT`
    pub(crate) user_agent: String,
}

/// Shorter ones than six are never allowed.
pub(crate) fn min_length(asked: usize) -> usize {
    asked.max(6)
}

/// Sets of characters, which colons part; `\:` is a colon itself.
pub(crate) fn character_sets(text: &str) -> Vec<String> {
    let mut sets = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(':' | '\\')) => extend_last(&mut sets, characters.next()),
            (':', _) => sets.push(String::new()),
            (other, _) => extend_last(&mut sets, Some(other)),
        }
    }
    sets.retain(|set| !set.is_empty());
    sets
}

fn extend_last(sets: &mut [String], character: Option<char>) {
    if let Some(set) = sets.last_mut() {
        set.extend(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_part_sets_unless_they_are_escaped() {
        assert_eq!(character_sets(""), [""; 0]);
        assert_eq!(character_sets("abc"), ["abc"]);
        assert_eq!(character_sets("abc:123:"), ["abc", "123"]);
        assert_eq!(character_sets(r"a\:b:\\c"), ["a:b", r"\c"]);
        assert_eq!(character_sets(r"a\"), [r"a\"]);
    }
}
