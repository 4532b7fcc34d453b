//! `[auth.mfa]`: second factors.

use std::time::Duration;

use super::{AT_LEAST_ONE, COUNT};
use crate::key::Key;

keys! {
    /// Maximum number of enrolled MFA factors per user.
    pub const MAX_ENROLLED_FACTORS: Key<usize> =
        integer("auth.mfa.max_enrolled_factors", COUNT, 10);

    /// Let users enroll an authenticator app (TOTP).
    pub const TOTP_ENROLL_ENABLED: Key<bool> = flag("auth.mfa.totp.enroll_enabled", true);

    /// Accept codes of authenticator apps (TOTP).
    pub const TOTP_VERIFY_ENABLED: Key<bool> = flag("auth.mfa.totp.verify_enabled", true);

    /// Let users enroll a phone as MFA factor.
    pub const PHONE_ENROLL_ENABLED: Key<bool> = flag("auth.mfa.phone.enroll_enabled", false);

    /// Accept MFA codes sent to a phone.
    pub const PHONE_VERIFY_ENABLED: Key<bool> = flag("auth.mfa.phone.verify_enabled", false);

    /// Number of digits of MFA codes sent to a phone, from 6 to 10; otherwise 6.
    pub const PHONE_OTP_LENGTH: Key<usize> = integer("auth.mfa.phone.otp_length", AT_LEAST_ONE, 6);

    /// Text of the SMS with the MFA code.
    pub const PHONE_TEMPLATE: Key<String> =
        text("auth.mfa.phone.template", "Your code is {{ .Code }}");

    /// Minimum interval between two MFA codes to the same phone.
    pub const PHONE_MAX_FREQUENCY: Key<Duration> = duration("auth.mfa.phone.max_frequency", "5s");

    /// Let users enroll a security key (WebAuthn).
    pub const WEB_AUTHN_ENROLL_ENABLED: Key<bool> =
        flag("auth.mfa.web_authn.enroll_enabled", false);

    /// Accept security keys (WebAuthn).
    pub const WEB_AUTHN_VERIFY_ENABLED: Key<bool> =
        flag("auth.mfa.web_authn.verify_enabled", false);
}
