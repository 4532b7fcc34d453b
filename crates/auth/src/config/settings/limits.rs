//! Limits and captchas.

use http::HeaderName;
use plinth_settings::{
    Key, Settings, Source,
    keys::{auth, auth_email, plinth_auth},
};

use super::{duration, secret, written_url};
use crate::config::{CaptchaConfig, CaptchaProvider, ClientLimit, Rate, RateLimits};

/// The limit while mails go to the development mailbox.
const MAILBOX_LIMIT: f64 = 360_000.0;

pub(super) fn read(settings: &Settings) -> RateLimits {
    let number = |key: Key<u64>| settings.get(key) as f64;
    let defaults = Settings::default();
    let limit = |key: Key<u64>, rate: fn(f64) -> Rate| ClientLimit {
        rate: rate(number(key)),
        is_default: settings.get(key) == defaults.get(key),
    };
    let five_minutes = Rate::per_five_minutes;
    RateLimits {
        client_header: client_header(settings),
        is_shared: settings.get(plinth_auth::RATE_LIMIT_SHARED),
        otp: limit(auth::RATE_LIMIT_SIGN_IN_SIGN_UPS, five_minutes),
        anonymous_users: limit(auth::RATE_LIMIT_ANONYMOUS_USERS, Rate::per_hour),
        token_refresh: limit(auth::RATE_LIMIT_TOKEN_REFRESH, five_minutes),
        verify: limit(auth::RATE_LIMIT_TOKEN_VERIFICATIONS, five_minutes),
        mfa: limit(plinth_auth::RATE_LIMIT_MFA, Rate::per_minute),
        passkey: limit(plinth_auth::RATE_LIMIT_PASSKEY, five_minutes),
        client_registration: limit(plinth_auth::RATE_LIMIT_CLIENT_REGISTRATION, five_minutes),
        email_sent: Rate::in_each_hour(if is_mail_limited(settings) {
            number(auth::RATE_LIMIT_EMAIL_SENT)
        } else {
            MAILBOX_LIMIT
        }),
        sms_sent: Rate::in_each_hour(number(auth::RATE_LIMIT_SMS_SENT)),
    }
}

/// The default of the setting is meant for real mail servers; an explicit value always counts.
fn is_mail_limited(settings: &Settings) -> bool {
    settings.get(auth_email::SMTP_ENABLED)
        || settings.source_of(auth::RATE_LIMIT_EMAIL_SENT) != Source::Default
}

fn client_header(settings: &Settings) -> Option<HeaderName> {
    let name = settings.get(plinth_auth::RATE_LIMIT_CLIENT_HEADER)?;
    let header = HeaderName::from_bytes(name.as_bytes());
    if header.is_err() {
        tracing::warn!("plinth.auth.rate_limit.client_header: {name:?} is not a valid header name");
    }
    header.ok()
}

pub(super) fn captcha(settings: &Settings) -> Option<CaptchaConfig> {
    if !settings.get(auth::CAPTCHA_ENABLED) {
        return None;
    }
    let provider = settings.get(auth::CAPTCHA_PROVIDER);
    let provider = provider.and_then(CaptchaProvider::parse)?;
    Some(CaptchaConfig {
        secret: secret(settings, auth::CAPTCHA_SECRET)?,
        timeout: duration(settings, plinth_auth::CAPTCHA_TIMEOUT),
        url: written_url(settings, plinth_auth::CAPTCHA_URL)
            .unwrap_or_else(|| provider.url().to_owned()),
    })
}
