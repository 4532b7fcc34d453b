//! Lifetime of sessions, and refresh tokens.

use std::time::Duration;

/// `SESSIONS_*`
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionsConfig {
    /// Age at which a session ends. `SESSIONS_TIMEBOX`
    pub(crate) timebox: Option<Duration>,
    /// `SESSIONS_INACTIVITY_TIMEOUT`
    pub(crate) inactivity_timeout: Option<Duration>,
    /// How long a session of a user with a second factor may stay at aal1. `SESSIONS_ALLOW_LOW_AAL`
    pub(crate) allow_low_aal: Option<Duration>,
    /// `SESSIONS_SINGLE_PER_USER`
    pub(crate) is_single_per_user: bool,
    /// `SESSIONS_TAGS`
    pub(crate) tags: Vec<String>,
}

/// `SECURITY_REFRESH_TOKEN_*`
#[derive(Debug, Clone)]
pub(crate) struct RefreshConfig {
    /// `…_ROTATION_ENABLED`: whether reuse of a token revokes its session.
    pub(crate) is_rotation_enabled: bool,
    /// `…_REUSE_INTERVAL`
    pub(crate) reuse_interval: Duration,
    /// `…_ALLOW_REUSE`
    pub(crate) is_reuse_allowed: bool,
    /// `…_ALGORITHM_VERSION`
    pub(crate) tokens: RefreshTokens,
    /// `…_UPGRADE_PERCENTAGE`: share of the sessions with row tokens that switch to counters.
    pub(crate) upgrade_percentage: u8,
}

/// Which kind of refresh tokens new sessions get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefreshTokens {
    /// Rows of `auth.refresh_tokens`.
    Chained,
    /// Signed counters.
    Counted,
}
