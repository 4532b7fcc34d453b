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
