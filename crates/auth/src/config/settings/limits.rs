//! Limits and captchas.

use http::HeaderName;
use plinth_settings::{Settings, Source};

use super::{count, duration, owned, secret};
use crate::config::{CaptchaConfig, CaptchaProvider, Rate, RateLimits};

/// Where mails only go to the development mailbox, nobody is bothered by many.
const UNBOTHERED: f64 = 360_000.0;

pub(super) fn read(settings: &Settings) -> RateLimits {
    let number = |path: &str| f64::from(count::<u32>(settings, path));
    RateLimits {
        client_header: client_header(settings),
        otp: Rate::per_five_minutes(number("auth.rate_limit.sign_in_sign_ups")),
        anonymous_users: Rate::per_hour(number("auth.rate_limit.anonymous_users")),
        token_refresh: Rate::per_five_minutes(number("auth.rate_limit.token_refresh")),
        verify: Rate::per_five_minutes(number("auth.rate_limit.token_verifications")),
        mfa: Rate::per_minute(number("plinth.auth.rate_limit.mfa")),
        passkey: Rate::per_five_minutes(number("plinth.auth.rate_limit.passkey")),
        client_registration: Rate::per_five_minutes(number(
            "plinth.auth.rate_limit.client_registration",
        )),
        email_sent: Rate::in_each_hour(match is_mail_limited(settings) {
            true => number("auth.rate_limit.email_sent"),
            false => UNBOTHERED,
        }),
        sms_sent: Rate::in_each_hour(number("auth.rate_limit.sms_sent")),
    }
}

/// The default is meant for real mail; what somebody wrote counts for any.
fn is_mail_limited(settings: &Settings) -> bool {
    settings.bool("auth.email.smtp.enabled")
        || settings.source("auth.rate_limit.email_sent") != Source::Default
}

fn client_header(settings: &Settings) -> Option<HeaderName> {
    let name = settings.opt_text("plinth.auth.rate_limit.client_header")?;
    let header = HeaderName::from_bytes(name.as_bytes());
    if header.is_err() {
        tracing::warn!("plinth.auth.rate_limit.client_header: {name:?} is no header's name");
    }
    header.ok()
}

pub(super) fn captcha(settings: &Settings) -> Option<CaptchaConfig> {
    if !settings.bool("auth.captcha.enabled") {
        return None;
    }
    let provider = settings.opt_text("auth.captcha.provider");
    let provider = provider.and_then(CaptchaProvider::parse)?;
    Some(CaptchaConfig {
        secret: secret(settings, "auth.captcha.secret")?,
        timeout: duration(settings, "plinth.auth.captcha.timeout"),
        url: owned(settings, "plinth.auth.captcha.url")
            .unwrap_or_else(|| provider.url().to_owned()),
    })
}
