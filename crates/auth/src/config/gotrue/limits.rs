//! Limits and captchas.

use http::HeaderName;

use super::{SECOND, rate, variables::Variables};
use crate::config::{CaptchaConfig, CaptchaProvider, ClientLimit, Rate, RateLimits};

pub(super) fn read(v: &mut Variables) -> RateLimits {
    let client_header = v.read("RATE_LIMIT_HEADER", "a header's name", |name| {
        HeaderName::from_bytes(name.as_bytes()).ok()
    });
    let trusts_special = v.flag("SECURITY_SB_FORWARDED_FOR_ENABLED", false);
    let special = trusts_special.then(|| HeaderName::from_static("sb-forwarded-for"));
    let mut sent = |name: &str| {
        v.read(name, rate::EXPECTED, rate::parse)
            .unwrap_or_else(|| Rate::in_each_hour(30.0))
    };
    let (email_sent, sms_sent) = (sent("RATE_LIMIT_EMAIL_SENT"), sent("RATE_LIMIT_SMS_SENT"));
    let mut five_minutes =
        |name: &str, default| ClientLimit::strict(Rate::per_five_minutes(v.decimal(name, default)));
    RateLimits {
        client_header: client_header.or(special),
        // The table for it is not part of the schema that GoTrue makes.
        is_shared: false,
        otp: five_minutes("RATE_LIMIT_OTP", 30.0),
        token_refresh: five_minutes("RATE_LIMIT_TOKEN_REFRESH", 150.0),
        verify: five_minutes("RATE_LIMIT_VERIFY", 30.0),
        passkey: five_minutes("RATE_LIMIT_PASSKEY", 30.0),
        client_registration: five_minutes("RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER", 10.0),
        anonymous_users: ClientLimit::strict(Rate::per_hour(
            v.decimal("RATE_LIMIT_ANONYMOUS_USERS", 30.0),
        )),
        mfa: ClientLimit::strict(Rate::per_minute(
            v.decimal("MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY", 15.0),
        )),
        email_sent,
        sms_sent,
    }
}

pub(super) fn captcha(v: &mut Variables) -> Option<CaptchaConfig> {
    let is_on = v.flag("SECURITY_CAPTCHA_ENABLED", false);
    let provider = v.text_or("SECURITY_CAPTCHA_PROVIDER", "hcaptcha");
    let secret = v.secret("SECURITY_CAPTCHA_SECRET");
    let timeout = v.duration_or_if_zero("SECURITY_CAPTCHA_TIMEOUT", 10 * SECOND);
    if !is_on {
        return None;
    }
    let known = CaptchaProvider::parse(&provider);
    if known.is_none() {
        v.add_problem_with(
            "SECURITY_CAPTCHA_PROVIDER",
            format!("{provider:?} is neither hcaptcha nor turnstile"),
        );
    }
    if secret.is_none() {
        v.add_problem_with("SECURITY_CAPTCHA_SECRET", "is needed while captchas are on");
    }
    Some(CaptchaConfig {
        secret: secret?,
        timeout,
        url: known?.url().to_owned(),
    })
}
