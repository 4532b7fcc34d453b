//! Second factors and passkeys.

use std::time::Duration;

use url::Url;

/// `MFA_*`
#[derive(Debug, Clone)]
pub(crate) struct MfaConfig {
    pub(crate) totp: Switches,
    pub(crate) phone: Switches,
    pub(crate) webauthn: Switches,
    /// `MFA_MAX_ENROLLED_FACTORS`
    pub(crate) max_enrolled: usize,
    /// `MFA_MAX_VERIFIED_FACTORS`
    pub(crate) max_verified: usize,
    /// `MFA_CHALLENGE_EXPIRY_DURATION`
    pub(crate) challenge_lifetime: Duration,
    /// `MFA_FACTOR_EXPIRY_DURATION`: of unverified factors.
    pub(crate) factor_lifetime: Duration,
    pub(crate) by_phone: PhoneFactorConfig,
}

impl MfaConfig {
    /// At least five minutes.
    pub(crate) fn factor_lifetime(requested: Duration) -> Duration {
        requested.max(Duration::from_secs(300))
    }
}

/// What users may do with a kind of factor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Switches {
    pub(crate) is_enrol_enabled: bool,
    pub(crate) is_verify_enabled: bool,
}

/// `MFA_PHONE_*`
#[derive(Debug, Clone)]
pub(crate) struct PhoneFactorConfig {
    pub(crate) otp_length: usize,
    pub(crate) min_interval: Duration,
    pub(crate) template: String,
}

/// `WEBAUTHN_*` and `PASSKEY_*`
#[derive(Debug, Clone)]
pub(crate) struct WebAuthnConfig {
    /// `None`: the host of the site's URL.
    pub(crate) rp_id: Option<String>,
    pub(crate) rp_display_name: Option<String>,
    /// Empty: the site's origin.
    pub(crate) rp_origins: Vec<Url>,
    pub(crate) challenge_lifetime: Duration,
    pub(crate) are_passkeys_enabled: bool,
    pub(crate) max_passkeys_per_user: usize,
}
