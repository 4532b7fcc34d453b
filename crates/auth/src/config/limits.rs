//! Rate limits and captchas (auth contract §7.3, §8.1, §8.2).

use std::time::Duration;

use http::HeaderName;
use plinth_token::Secret;

/// A number of events per time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) count: f64,
    pub(crate) per: Duration,
    pub(crate) refill: Refill,
}

/// How a bucket is refilled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refill {
    /// Continuously, up to `burst`.
    Steady { burst: f64 },
    /// Completely, when the window ends.
    AtOnce,
}

/// Capacity of the buckets of one client (§8.1).
pub(crate) const BURST: f64 = 30.0;
const HOUR: Duration = Duration::from_secs(3600);

impl Rate {
    pub(crate) fn per_five_minutes(count: f64) -> Self {
        Self::steady(count, Duration::from_secs(300), BURST)
    }

    pub(crate) fn per_minute(count: f64) -> Self {
        Self::steady(count, Duration::from_secs(60), BURST)
    }

    /// With a burst of the same number.
    pub(crate) fn per_hour(count: f64) -> Self {
        Self::steady(count, HOUR, count)
    }

    /// In fixed windows of an hour.
    pub(crate) fn in_each_hour(count: f64) -> Self {
        Self {
            count,
            per: HOUR,
            refill: Refill::AtOnce,
        }
    }

    pub(crate) fn steady(count: f64, per: Duration, burst: f64) -> Self {
        Self {
            count,
            per,
            refill: Refill::Steady { burst },
        }
    }
}

/// A limit of the requests of one client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClientLimit {
    pub(crate) rate: Rate,
    /// Whether it has the default value.
    pub(crate) is_default: bool,
}

impl ClientLimit {
    /// A limit that applies to every client.
    pub(crate) fn strict(rate: Rate) -> Self {
        Self {
            rate,
            is_default: false,
        }
    }
}

/// `RATE_LIMIT_*`
#[derive(Debug, Clone)]
pub(crate) struct RateLimits {
    /// `RATE_LIMIT_HEADER`: identifies the client instead of its address.
    pub(crate) client_header: Option<HeaderName>,
    /// Whether all nodes count sign-ins, refreshes and verifications together.
    pub(crate) is_shared: bool,
    pub(crate) otp: ClientLimit,
    pub(crate) anonymous_users: ClientLimit,
    pub(crate) token_refresh: ClientLimit,
    pub(crate) verify: ClientLimit,
    pub(crate) mfa: ClientLimit,
    pub(crate) passkey: ClientLimit,
    pub(crate) client_registration: ClientLimit,
    /// For all mails of the project together.
    pub(crate) email_sent: Rate,
    pub(crate) sms_sent: Rate,
}

/// `SECURITY_CAPTCHA_*`
#[derive(Debug, Clone)]
pub(crate) struct CaptchaConfig {
    pub(crate) secret: Secret,
    pub(crate) timeout: Duration,
    /// The provider's own, except in tests.
    pub(crate) url: String,
}

/// Who verifies captcha tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptchaProvider {
    HCaptcha,
    Turnstile,
}

impl CaptchaProvider {
    /// By its name in settings.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "hcaptcha" => Some(Self::HCaptcha),
            "turnstile" => Some(Self::Turnstile),
            _ => None,
        }
    }

    /// The URL of its API.
    pub(crate) fn url(self) -> &'static str {
        match self {
            Self::HCaptcha => "https://hcaptcha.com/siteverify",
            Self::Turnstile => "https://challenges.cloudflare.com/turnstile/v0/siteverify",
        }
    }
}
