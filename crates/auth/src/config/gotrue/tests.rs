//! Loading of GoTrue's environment.

use std::time::Duration;

use super::*;
use crate::config::{HookTarget, Rate, SmsProvider, TemplateSource};

const REQUIRED: [(&str, &str); 4] = [
    ("GOTRUE_SITE_URL", "https://site.test"),
    ("API_EXTERNAL_URL", "https://api.test/auth/v1"),
    ("DATABASE_URL", "postgres://admin@localhost/app"),
    ("GOTRUE_JWT_SECRET", "a secret that is long enough for HMAC"),
];

/// Without it, a start behind a proxy warns.
const CLIENT_HEADER: (&str, &str) = ("GOTRUE_RATE_LIMIT_HEADER", "X-Real-IP");

fn try_load(variables: &[(&str, &str)]) -> Result<GotrueConfig, Vec<String>> {
    let all = REQUIRED.iter().chain(variables);
    GotrueConfig::load(all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

#[track_caller]
fn load(variables: &[(&str, &str)]) -> GotrueConfig {
    try_load(variables).unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[test]
fn the_defaults_are_gotrues() {
    let GotrueConfig {
        auth,
        server,
        warnings,
    } = load(&[]);

    let [shared_limit] = warnings.as_slice() else {
        panic!("one warning: {warnings:?}");
    };
    assert!(shared_limit.starts_with("GOTRUE_RATE_LIMIT_HEADER is not set"));
    assert_eq!(server.address.to_string(), "0.0.0.0:8081");
    assert_eq!(
        auth.external_url.as_deref(),
        Some("https://api.test/auth/v1")
    );
    assert_eq!(auth.jwt.lifetime, Duration::from_secs(3600));
    assert_eq!(auth.jwt.audience, "authenticated");
    assert_eq!(auth.jwt.admin_roles, ["service_role", "supabase_admin"]);
    assert_eq!(auth.mail.otp_lifetime, Duration::from_secs(86_400));
    assert_eq!(auth.mail.min_interval, Duration::from_secs(60));
    assert!(!auth.mail.is_autoconfirmed && auth.mail.smtp.is_none());
    assert!(auth.mail.is_change_confirmed_twice);
    assert_eq!(auth.sms.otp_lifetime, Duration::from_secs(60));
    assert!(auth.is_signup_enabled && auth.external.is_email_enabled);
    assert!(auth.mfa.totp.is_enrol_enabled && !auth.mfa.phone.is_enrol_enabled);
    assert_eq!(auth.rates.email_sent, Rate::in_each_hour(30.0));
    assert_eq!(auth.rates.mfa.rate, Rate::per_minute(15.0));
    assert_eq!(auth.external.flow_lifetime, Duration::from_secs(300));
    assert!(auth.external.providers.is_empty() && auth.captcha.is_none());
    assert_eq!(auth.self_delete, SelfDelete::Off);
    assert!(!auth.is_cleanup_enabled);
    assert!(auth.refresh.is_rotation_enabled);
}

#[test]
fn values_arrive() {
    let GotrueConfig { auth, server, .. } = load(&[
        ("PORT", "9999"),
        ("GOTRUE_API_HOST", "::1"),
        (
            "GOTRUE_URI_ALLOW_LIST",
            "https://*.site.test/**, myapp://**",
        ),
        ("GOTRUE_DISABLE_SIGNUP", "true"),
        ("GOTRUE_JWT_EXP", "600"),
        ("GOTRUE_JWT_ADMIN_ROLES", "boss, service_role"),
        ("GOTRUE_SESSIONS_TIMEBOX", "1h30m"),
        ("GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION", "2"),
        ("GOTRUE_PASSWORD_REQUIRED_CHARACTERS", r"abc:1\:"),
        ("GOTRUE_MAILER_AUTOCONFIRM", "T"),
        ("GOTRUE_MAILER_OTP_LENGTH", "8"),
        ("GOTRUE_MAILER_SUBJECTS_MAGIC_LINK", "Here"),
        ("GOTRUE_MAILER_TEMPLATES_INVITE", "/mail/invite.html"),
        ("GOTRUE_MAILER_URLPATHS_RECOVERY", "/auth/v1/verify"),
        ("GOTRUE_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED", "1"),
        ("GOTRUE_SMTP_HOST", "mail.test"),
        ("GOTRUE_SMTP_ADMIN_EMAIL", "us@mail.test"),
        ("GOTRUE_SMTP_HEADERS", r#"{"X-Kind":["$messageType"]}"#),
        ("GOTRUE_SMS_PROVIDER", "twilio_verify"),
        ("GOTRUE_SMS_TWILIO_VERIFY_ACCOUNT_SID", "account"),
        ("GOTRUE_SMS_TWILIO_VERIFY_AUTH_TOKEN", "token"),
        ("GOTRUE_SMS_TWILIO_VERIFY_MESSAGE_SERVICE_SID", "service"),
        ("GOTRUE_SMS_TEST_OTP", "+15551:123456"),
        ("GOTRUE_EXTERNAL_GOOGLE_ENABLED", "true"),
        ("GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID", "one,two"),
        ("GOTRUE_HOOK_SEND_EMAIL_ENABLED", "true"),
        (
            "GOTRUE_HOOK_SEND_EMAIL_URI",
            "pg-functions://postgres/public/f",
        ),
        ("GOTRUE_RATE_LIMIT_EMAIL_SENT", "5/10s"),
        CLIENT_HEADER,
        ("GOTRUE_EXPERIMENTAL_PROVIDER_LINKING_DOMAINS", "custom:a=b"),
    ]);

    assert_eq!(server.address.to_string(), "[::1]:9999");
    assert!(!auth.is_signup_enabled && auth.mail.is_autoconfirmed);
    assert_eq!(auth.jwt.lifetime, Duration::from_secs(600));
    assert_eq!(auth.jwt.admin_roles, ["boss", "service_role"]);
    assert_eq!(auth.sessions.timebox, Some(Duration::from_secs(5400)));
    assert_eq!(auth.refresh.tokens, RefreshTokens::Counted);
    assert_eq!(auth.password.required_characters, ["abc", "1:"]);
    assert_eq!(auth.mail.otp_length, 8);
    assert_eq!(auth.mail.subjects["magic_link"], "Here");
    let template = TemplateSource::Url("https://site.test/mail/invite.html".to_owned());
    assert_eq!(auth.mail.templates["invite"], template);
    assert_eq!(auth.mail.paths["recovery"], "/auth/v1/verify");
    assert_eq!(auth.mail.notifications, ["password_changed"]);
    let smtp = auth.mail.smtp.expect("a mail server");
    assert_eq!(smtp.port, 587);
    assert_eq!(
        smtp.headers,
        [("X-Kind".to_owned(), "$messageType".to_owned())]
    );
    assert!(matches!(
        auth.sms.provider,
        Some(SmsProvider::TwilioVerify { .. })
    ));
    assert_eq!(auth.sms.test_numbers.codes["15551"], "123456");
    assert_eq!(auth.external.providers["google"].client_ids, ["one", "two"]);
    let hook = auth.hooks.send_email.expect("a hook");
    assert!(matches!(hook.target, HookTarget::Function { .. }));
    let slow = Rate::steady(1.0, Duration::from_secs(10), 5.0);
    assert_eq!(auth.rates.email_sent, slow);
    assert_eq!(auth.rates.client_header.expect("a header"), "x-real-ip");
    assert_eq!(auth.external.linking.by_provider["custom:a"], "b");
}

#[test]
fn clients_that_share_a_limit_are_warned_about() {
    let warnings = |variables: &[(&str, &str)]| {
        let warnings = load(variables).warnings;
        let is_about_limits = |text: &&String| text.contains("share one rate limit");
        warnings.iter().filter(is_about_limits).count()
    };
    let direct = ("API_EXTERNAL_URL", "http://192.0.2.1:8081");

    assert_eq!(warnings(&[]), 1, "TLS ends elsewhere");
    assert_eq!(warnings(&[direct]), 0);
    assert_eq!(warnings(&[direct, ("PORT", "9999")]), 1, "another port");
    let below = ("API_EXTERNAL_URL", "http://localhost:8081/auth/v1");
    assert_eq!(warnings(&[below]), 1, "another path");
    assert_eq!(warnings(&[CLIENT_HEADER]), 0);
    let special = ("GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED", "true");
    assert_eq!(warnings(&[special]), 0);
}

#[test]
fn everything_that_is_required_is_missed_at_once() {
    let problems = GotrueConfig::load([]).expect_err("nothing is set");

    for name in ["SITE_URL", "API_EXTERNAL_URL", "DATABASE_URL", "JWT_SECRET"] {
        assert!(
            problems.iter().any(|text| text.contains(name)),
            "{problems:?}"
        );
    }
}

#[test]
fn problems_name_the_variable() {
    for (name, value) in [
        ("GOTRUE_JWT_EXP", "soon"),
        ("GOTRUE_JWT_KEYS", "{"),
        ("GOTRUE_MAILER_AUTOCONFIRM", "maybe"),
        ("GOTRUE_SESSIONS_TIMEBOX", "0s"),
        ("GOTRUE_API_MAX_REQUEST_DURATION", "ten"),
        ("GOTRUE_SMS_PROVIDER", "pigeon"),
        ("GOTRUE_RATE_LIMIT_SMS_SENT", "often"),
        ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "1"),
        ("GOTRUE_HOOK_SEND_SMS_ENABLED", "1"),
        ("GOTRUE_EXTERNAL_GITHUB_ENABLED", "1"),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT", "true"),
        ("DB_NAMESPACE", "other"),
        ("PORT", "-1"),
    ] {
        let problems = try_load(&[(name, value)]).expect_err(name);
        let group = name.rsplit_once('_').map_or(name, |(group, _)| group);
        assert!(problems[0].contains(group), "{name}: {problems:?}");
    }
}

#[test]
fn misspelt_names_are_reported_and_inert_ones_are_not() {
    let warnings = load(&[
        ("GOTRUE_JWT_EXPP", "1"),
        ("GOTRUE_WHATEVER_THIS_IS", "1"),
        ("GOTRUE_METRICS_ENABLED", "true"),
        ("GOTRUE_DB_DRIVER", "postgres"),
        ("GOTRUE_SAML_ENABLED", "true"),
        ("GOTRUE_EXTERNAL_WEB3_SOLANA_ENABLED", "false"),
        ("GOTRUE_EXTERNAL_GOOGLE_SKIP_NONCE_CHECK", "true"),
        CLIENT_HEADER,
        ("OTHER", "1"),
    ])
    .warnings;

    assert_eq!(
        warnings,
        [
            "GOTRUE_JWT_EXPP is unknown and ignored; did you mean GOTRUE_JWT_EXP?",
            "GOTRUE_SAML_ENABLED: not supported yet",
            "GOTRUE_WHATEVER_THIS_IS is unknown and ignored",
        ]
    );
}

#[test]
fn ignored_values_are_reported_unless_they_make_no_difference() {
    let text = |name: &str, value: &str| {
        let loaded = load(&[(name, value), CLIENT_HEADER]);
        !loaded.warnings.is_empty()
    };
    for (name, harmless, other) in [
        ("GOTRUE_LOG_LEVEL", "info", "debug"),
        ("GOTRUE_LOG_FILE", "", "/var/log/auth"),
        ("GOTRUE_JWT_VALID_METHODS", "", "RS256"),
        ("GOTRUE_MAILER_EMAIL_BACKGROUND_SENDING", "false", "true"),
        ("GOTRUE_MAILER_TEMPLATE_MAX_AGE", "10m", "1h"),
        (
            "GOTRUE_MAILER_EMAIL_VALIDATION_SERVICE_URL",
            "",
            "https://a.test",
        ),
        ("GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED", "false", "true"),
        ("GOTRUE_RELOADING_NOTIFY_ENABLED", "false", "true"),
    ] {
        assert!(!text(name, harmless), "{name}={harmless}");
        assert!(text(name, other), "{name}={other}");
    }
}

#[test]
fn clients_are_counted_by_a_header_that_is_trusted() {
    let header = |variables: &[(&str, &str)]| load(variables).auth.rates.client_header;
    let special = ("GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED", "true");

    assert_eq!(header(&[]), None);
    assert_eq!(header(&[special]).expect("a header"), "sb-forwarded-for");
    assert_eq!(
        header(&[special, CLIENT_HEADER]).expect("a header"),
        "x-real-ip"
    );
}
