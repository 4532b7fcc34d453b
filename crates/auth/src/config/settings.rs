//! Settings from the settings tree of the full server.

mod external;
mod limits;
mod mail;
mod sms;

use std::time::Duration;

use plinth_project::FromSettings;
use plinth_settings::{
    Key, SettingKey, Settings, WrittenUrl,
    keys::{auth, auth_email, auth_mfa, plinth_account, plinth_auth},
    password_characters,
};
use plinth_token::Secret;
use url::Url;

use super::{
    AllowList, AuthConfig, HibpConfig, JwtConfig, MfaConfig, PasswordConfig, PhoneFactorConfig,
    RefreshConfig, RefreshTokens, SelfDelete, SessionsConfig, Switches, WebAuthnConfig, password,
};

impl FromSettings for AuthConfig {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            site_url: settings.get(auth::SITE_URL).url().clone(),
            redirects: AllowList::new(settings.get(auth::ADDITIONAL_REDIRECT_URLS)),
            external_url: written_url(settings, auth::EXTERNAL_URL),
            max_request_duration: duration(settings, plinth_auth::REQUEST_TIMEOUT),
            is_signup_enabled: settings.get(auth::ENABLE_SIGNUP),
            jwt: jwt(settings),
            sessions: sessions(settings),
            refresh: refresh(settings),
            password: password(settings),
            mail: mail::read(settings),
            sms: sms::read(settings),
            external: external::read(settings),
            mfa: mfa(settings),
            webauthn: webauthn(settings),
            rates: limits::read(settings),
            captcha: limits::captcha(settings),
            hooks: external::hooks(settings),
            oauth_server: external::oauth_server(settings),
            custom_providers: external::custom_providers(settings),
            is_manual_linking_enabled: settings.get(auth::ENABLE_MANUAL_LINKING),
            is_audit_enabled: settings.get(plinth_auth::AUDIT_LOG),
            is_cursor_paging_enabled: settings.get(plinth_auth::CURSOR_PAGINATION),
            http_timeout: duration(settings, plinth_auth::HTTP_TIMEOUT),
            self_delete: match settings.get(plinth_account::SELF_DELETE) {
                "off" => SelfDelete::Off,
                "soft" => SelfDelete::Soft,
                _ => SelfDelete::Hard,
            },
            account_path: settings.get(plinth_account::PATH).to_owned(),
            is_cleanup_enabled: settings.get(plinth_auth::CLEANUP),
        }
    }
}

fn jwt(settings: &Settings) -> JwtConfig {
    JwtConfig {
        lifetime: seconds(settings, auth::JWT_EXPIRY),
        audience: settings.get(plinth_auth::AUDIENCE).to_owned(),
        default_role: settings.get(plinth_auth::DEFAULT_ROLE).to_owned(),
        admin_roles: settings.get(plinth_auth::ADMIN_ROLES).to_vec(),
        issuer: owned(settings, auth::JWT_ISSUER),
    }
}

fn sessions(settings: &Settings) -> SessionsConfig {
    // Zero, as templates write it, is no limit.
    let limit = |key: Key<Option<Duration>>| {
        let limit = settings.get(key).filter(|limit| !limit.is_zero());
        limit.map(super::cap_duration)
    };
    SessionsConfig {
        timebox: limit(auth::SESSIONS_TIMEBOX),
        inactivity_timeout: limit(auth::SESSIONS_INACTIVITY_TIMEOUT),
        allow_low_aal: limit(plinth_auth::SESSIONS_ALLOW_LOW_AAL),
        is_single_per_user: settings.get(plinth_auth::SESSIONS_SINGLE_PER_USER),
        tags: settings.get(plinth_auth::SESSIONS_TAGS).to_vec(),
    }
}

fn refresh(settings: &Settings) -> RefreshConfig {
    RefreshConfig {
        is_rotation_enabled: settings.get(auth::ENABLE_REFRESH_TOKEN_ROTATION),
        reuse_interval: seconds(settings, auth::REFRESH_TOKEN_REUSE_INTERVAL),
        is_reuse_allowed: settings.get(plinth_auth::REFRESH_TOKENS_ALLOW_REUSE),
        tokens: match settings.get(plinth_auth::REFRESH_TOKENS_KIND) {
            "counted" => RefreshTokens::Counted,
            _ => RefreshTokens::Chained,
        },
        upgrade_percentage: settings.get(plinth_auth::REFRESH_TOKENS_UPGRADE_PERCENTAGE),
    }
}

fn password(settings: &Settings) -> PasswordConfig {
    let has_hibp = settings.get(plinth_auth::PASSWORD_HIBP_ENABLED);
    PasswordConfig {
        min_length: password::min_length(settings.get(auth::MINIMUM_PASSWORD_LENGTH)),
        required_characters: password_characters(Some(settings.get(auth::PASSWORD_REQUIREMENTS)))
            .iter()
            .map(ToString::to_string)
            .collect(),
        hibp: has_hibp.then(|| HibpConfig {
            fails_closed: settings.get(plinth_auth::PASSWORD_HIBP_FAIL_CLOSED),
            url: settings
                .get(plinth_auth::PASSWORD_HIBP_URL)
                .as_written()
                .to_owned(),
            user_agent: settings
                .get(plinth_auth::PASSWORD_HIBP_USER_AGENT)
                .to_owned(),
        }),
        cost: settings.get(plinth_auth::PASSWORD_HASH_COST),
        change_needs_reauthentication: settings.get(auth_email::SECURE_PASSWORD_CHANGE),
        change_needs_current: settings.get(auth_email::REQUIRE_CURRENT_PASSWORD),
        makes_email_identity: settings.get(plinth_auth::PASSWORD_CREATES_EMAIL_IDENTITY),
    }
}

fn mfa(settings: &Settings) -> MfaConfig {
    let switches = |enrol, verify| Switches {
        is_enrol_enabled: settings.get(enrol),
        is_verify_enabled: settings.get(verify),
    };
    MfaConfig {
        totp: switches(auth_mfa::TOTP_ENROLL_ENABLED, auth_mfa::TOTP_VERIFY_ENABLED),
        phone: switches(
            auth_mfa::PHONE_ENROLL_ENABLED,
            auth_mfa::PHONE_VERIFY_ENABLED,
        ),
        webauthn: switches(
            auth_mfa::WEB_AUTHN_ENROLL_ENABLED,
            auth_mfa::WEB_AUTHN_VERIFY_ENABLED,
        ),
        max_enrolled: settings.get(auth_mfa::MAX_ENROLLED_FACTORS),
        max_verified: settings.get(plinth_auth::MFA_MAX_VERIFIED_FACTORS),
        challenge_lifetime: duration(settings, plinth_auth::MFA_CHALLENGE_LIFETIME),
        factor_lifetime: MfaConfig::factor_lifetime(duration(
            settings,
            plinth_auth::MFA_FACTOR_LIFETIME,
        )),
        by_phone: PhoneFactorConfig {
            otp_length: super::otp_length(settings.get(auth_mfa::PHONE_OTP_LENGTH)),
            min_interval: duration(settings, auth_mfa::PHONE_MAX_FREQUENCY),
            template: settings.get(auth_mfa::PHONE_TEMPLATE).to_owned(),
        },
    }
}

fn webauthn(settings: &Settings) -> WebAuthnConfig {
    let origins = settings.get(auth::WEBAUTHN_RP_ORIGINS).iter();
    WebAuthnConfig {
        rp_id: owned(settings, auth::WEBAUTHN_RP_ID),
        rp_display_name: owned(settings, auth::WEBAUTHN_RP_DISPLAY_NAME),
        rp_origins: origins
            .filter_map(|origin| match Url::parse(origin) {
                Ok(url) => Some(url),
                Err(_) => {
                    tracing::warn!("auth.webauthn.rp_origins: {origin:?} is not a URL, ignored");
                    None
                }
            })
            .collect(),
        challenge_lifetime: duration(settings, plinth_auth::WEBAUTHN_CHALLENGE_LIFETIME),
        are_passkeys_enabled: settings.get(auth::PASSKEY_ENABLED),
        max_passkeys_per_user: settings.get(plinth_auth::WEBAUTHN_MAX_PASSKEYS),
    }
}

fn owned(settings: &Settings, key: SettingKey<'_, Option<String>>) -> Option<String> {
    settings.get(key).map(str::to_owned)
}

fn written_url(settings: &Settings, key: SettingKey<'_, Option<WrittenUrl>>) -> Option<String> {
    settings.get(key).map(|url| url.as_written().to_owned())
}

fn secret(
    settings: &Settings,
    key: SettingKey<'_, Option<plinth_settings::Secret>>,
) -> Option<Secret> {
    let secret = settings.get(key)?;
    Some(Secret::new(secret.expose())).filter(|secret| !secret.is_empty())
}

fn duration(settings: &Settings, key: Key<Duration>) -> Duration {
    super::cap_duration(settings.get(key))
}

fn seconds(settings: &Settings, key: Key<u64>) -> Duration {
    super::cap_duration(Duration::from_secs(settings.get(key)))
}

#[cfg(test)]
mod tests {
    use plinth_settings::Loader;

    use super::*;
    use crate::config::{HookTarget, Rate, SmsProvider, TemplateSource};

    fn config(text: &str) -> AuthConfig {
        let loaded = Loader::new().config_text("config.toml", text).load();
        AuthConfig::from_settings(&loaded.unwrap_or_else(|error| panic!("{error}")).settings)
    }

    #[test]
    fn without_a_file_it_is_like_a_new_project() {
        let config = config("");

        assert_eq!(config.site_url.as_str(), "http://127.0.0.1:3000/");
        assert_eq!(config.jwt.lifetime, Duration::from_secs(3600));
        assert_eq!(config.jwt.audience, "authenticated");
        assert_eq!(config.jwt.default_role, "authenticated");
        assert_eq!(config.jwt.admin_roles, ["service_role", "supabase_admin"]);
        assert_eq!(config.refresh.reuse_interval, Duration::from_secs(10));
        assert_eq!(config.refresh.tokens, RefreshTokens::Chained);
        assert_eq!(config.mail.otp_lifetime, Duration::from_secs(3600));
        assert!(config.mail.is_autoconfirmed && config.mail.smtp.is_none());
        assert!(config.external.is_email_enabled && !config.external.is_anonymous_enabled);
        assert!(config.mfa.totp.is_enrol_enabled && config.mfa.totp.is_verify_enabled);
        assert_eq!(config.rates.otp.rate, Rate::per_five_minutes(30.0));
        assert_eq!(config.rates.anonymous_users.rate, Rate::per_hour(30.0));
        assert_eq!(config.rates.email_sent.count, 360_000.0);
        assert_eq!(config.password.min_length, 6);
        assert_eq!(config.password.cost, 10);
        assert!(config.captcha.is_none() && config.hooks.send_email.is_none());
        assert_eq!(config.self_delete, SelfDelete::Hard);
        assert_eq!(config.max_request_duration, Duration::from_secs(10));
    }

    #[test]
    fn the_familiar_names_arrive() {
        let config = config(
            r#"
            [auth]
            site_url = "https://site.test/home"
            additional_redirect_urls = ["https://*.site.test/**"]
            jwt_expiry = 600
            minimum_password_length = 3
            password_requirements = "lower_upper_letters_digits_symbols"
            [auth.email]
            enable_confirmations = true
            otp_length = 4
            [auth.email.smtp]
            enabled = true
            host = "mail.test"
            port = 2525
            admin_email = "us@mail.test"
            [auth.email.template.invite]
            subject = "Come"
            content = "in"
            [auth.email.notification.password_changed]
            enabled = true
            content = "changed"
            [auth.sms]
            test_otp = { "+1 555" = "123456" }
            [auth.sms.vonage]
            enabled = true
            from = "us"
            api_key = "key"
            api_secret = "open"
            [auth.external.google]
            enabled = true
            client_id = "one, two"
            [auth.hook.send_email]
            enabled = true
            uri = "pg-functions://postgres/public/mail_hook"
            [auth.hook.send_sms]
            enabled = true
            uri = "http://elsewhere.test/"
            [auth.captcha]
            enabled = true
            provider = "turnstile"
            secret = "open"
            "#,
        );

        assert_eq!(config.password.min_length, 6, "less is never allowed");
        assert_eq!(config.password.required_characters.len(), 4);
        assert!(config.password.required_characters[3].contains('\\'));
        assert!(config.password.required_characters[3].contains(':'));
        assert_eq!(config.mail.otp_length, 6, "fewer digits are never allowed");
        assert!(!config.mail.is_autoconfirmed);
        assert_eq!(config.rates.email_sent, Rate::in_each_hour(2.0));
        assert_eq!(config.mail.smtp.expect("a mail server").port, 2525);
        assert_eq!(config.mail.subjects["invite"], "Come");
        let changed = &config.mail.templates["password_changed_notification"];
        assert_eq!(*changed, TemplateSource::Text("changed".to_owned()));
        assert_eq!(config.mail.notifications, ["password_changed"]);
        assert_eq!(config.sms.test_numbers.codes["1555"], "123456");
        let provider = config.sms.provider.expect("a provider");
        assert!(matches!(provider, SmsProvider::Vonage { from, .. } if from == "us"));
        assert_eq!(
            config.external.providers["google"].client_ids,
            ["one", "two"]
        );
        let captcha = config.captcha.expect("a captcha");
        assert!(
            captcha
                .url
                .starts_with("https://challenges.cloudflare.com/")
        );
        let hook = |hook: Option<crate::config::Hook>| hook.expect("a hook").target;
        assert!(matches!(
            hook(config.hooks.send_email),
            HookTarget::Function { .. }
        ));
        assert!(
            matches!(hook(config.hooks.send_sms), HookTarget::Unusable(_)),
            "a hook that cannot be called is not passed by"
        );
    }

    #[test]
    fn texts_of_mails_are_read_from_files_of_the_project() {
        let folder = tempfile::tempdir().expect("a folder");
        let templates = folder.path().join("supabase/templates");
        std::fs::create_dir_all(&templates).expect("a folder");
        std::fs::write(templates.join("invite.html"), "<p>Come in</p>").expect("a file");
        let file = r#"
            [auth.email.template.invite]
            content_path = "./supabase/templates/invite.html"
            [auth.email.template.recovery]
            content_path = "./templates/invite.html"
            [auth.email.template.confirmation]
            content_path = "./missing.html"
        "#;
        std::fs::write(folder.path().join("supabase/config.toml"), file).expect("a file");

        let loaded = Loader::new().folder(folder.path()).load().expect("valid");
        let config = AuthConfig::from_settings(&loaded.settings);

        let text = TemplateSource::Text("<p>Come in</p>".to_owned());
        assert_eq!(config.mail.templates.get("invite"), Some(&text));
        assert_eq!(config.mail.templates.get("recovery"), Some(&text));
        assert_eq!(config.mail.templates.get("confirmation"), None);
    }
}
