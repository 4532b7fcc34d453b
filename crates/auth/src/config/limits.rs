//! How often something may be asked, and by whom (auth contract §7.3, §8.1, §8.2).

use std::time::Duration;

use http::HeaderName;
use plinth_token::Secret;

/// So many in so long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) count: f64,
    pub(crate) per: Duration,
    pub(crate) refill: Refill,
}

/// When what was used up comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refill {
    /// Little by little; so many may be saved up.
    Steady { burst: f64 },
    /// All at once, when the time is over.
    AtOnce,
}

/// How many requests of one client may come at once (§8.1).
pub(crate) const BURST: f64 = 30.0;
const HOUR: Duration = Duration::from_secs(3600);

impl Rate {
    /// So many per five minutes.
    pub(crate) fn per_five_minutes(count: f64) -> Self {
        Self::steady(count, Duration::from_secs(300), BURST)
    }

    /// So many per minute.
    pub(crate) fn per_minute(count: f64) -> Self {
        Self::steady(count, Duration::from_secs(60), BURST)
    }

    /// So many per hour, and as many at once.
    pub(crate) fn per_hour(count: f64) -> Self {
        Self::steady(count, HOUR, count)
    }

    /// So many in each hour.
    pub(crate) fn in_each_hour(count: f64) -> Self {
        Self {
            count,
            per: HOUR,
            refill: Refill::AtOnce,
        }
    }

    /// So many in so long, and at most `burst` at once.
    pub(crate) fn steady(count: f64, per: Duration, burst: f64) -> Self {
        Self {
            count,
            per,
            refill: Refill::Steady { burst },
        }
    }
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

impl CaptchaProvider {
    /// By its name in settings.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "hcaptcha" => Some(Self::HCaptcha),
            "turnstile" => Some(Self::Turnstile),
            _ => None,
        }
    }

    /// Its own address.
    pub(crate) fn url(self) -> &'static str {
        match self {
            Self::HCaptcha => "https://hcaptcha.com/siteverify",
            Self::Turnstile => "https://challenges.cloudflare.com/turnstile/v0/siteverify",
        }
    }
}
