//! How often something may be asked, and by whom (auth contract §7.3, §8.1, §8.2).

use std::time::Duration;

use http::HeaderName;
use plinth_token::Secret;

/// So many in so long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) count: f64,
    pub(crate) per: Duration,
    /// How many may come at once.
    pub(crate) burst: u32,
}

/// `RATE_LIMIT_*`
#[derive(Debug, Clone)]
pub(crate) struct RateLimits {
    /// `RATE_LIMIT_HEADER`: names the client, instead of its address.
    pub(crate) client_header: Option<HeaderName>,
    pub(crate) otp: Rate,
    pub(crate) anonymous_users: Rate,
    pub(crate) token_refresh: Rate,
    pub(crate) verify: Rate,
    pub(crate) sso: Rate,
    pub(crate) mfa: Rate,
    pub(crate) passkey: Rate,
    pub(crate) client_registration: Rate,
    /// For all mails of the project together.
    pub(crate) email_sent: Rate,
    pub(crate) sms_sent: Rate,
}

/// `SECURITY_CAPTCHA_*`
#[derive(Debug, Clone)]
pub(crate) struct CaptchaConfig {
    pub(crate) provider: CaptchaProvider,
    pub(crate) secret: Secret,
    pub(crate) timeout: Duration,
    /// The provider's own, unless a test says otherwise.
    pub(crate) url: String,
}

/// Who checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptchaProvider {
    HCaptcha,
    Turnstile,
}
