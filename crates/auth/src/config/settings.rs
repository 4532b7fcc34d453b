//! From the settings tree of the full server.

mod external;
mod limits;
mod mail;
mod sms;

use std::time::Duration;

use plinth_project::FromSettings;
use plinth_settings::{Settings, password_characters};
use plinth_token::Secret;
use url::Url;

use super::{
    AuthConfig, HibpConfig, JwtConfig, MfaConfig, PasswordConfig, PhoneFactorConfig, RefreshConfig,
    RefreshTokens, SelfDelete, SessionsConfig, Switches, WebAuthnConfig, password,
};
use crate::request::redirect::AllowList;

impl FromSettings for AuthConfig {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            site_url: settings
                .opt_url("auth.site_url")
                .expect("the setting has a default"),
            redirects: AllowList::new(settings.list("auth.additional_redirect_urls")),
            external_url: owned(settings, "auth.external_url"),
            max_request_duration: duration(settings, "plinth.auth.request_timeout"),
            is_signup_enabled: settings.bool("auth.enable_signup"),
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
            is_manual_linking_enabled: settings.bool("auth.enable_manual_linking"),
            is_audit_kept: settings.bool("plinth.auth.audit_log"),
            is_cursor_paging_enabled: settings.bool("plinth.auth.cursor_pagination"),
            http_timeout: duration(settings, "plinth.auth.http_timeout"),
            self_delete: match settings.text("plinth.account.self_delete") {
                "off" => SelfDelete::Off,
                "soft" => SelfDelete::Soft,
                _ => SelfDelete::Hard,
            },
            account_path: settings.text("plinth.account.path").to_owned(),
            is_cleanup_enabled: settings.bool("plinth.auth.cleanup"),
        }
    }
}

fn jwt(settings: &Settings) -> JwtConfig {
    JwtConfig {
        lifetime: seconds(settings, "auth.jwt_expiry"),
        audience: settings.text("plinth.auth.audience").to_owned(),
        default_role: settings.text("plinth.auth.default_role").to_owned(),
        admin_roles: settings.list("plinth.auth.admin_roles").to_vec(),
        issuer: owned(settings, "auth.jwt_issuer"),
    }
}

fn sessions(settings: &Settings) -> SessionsConfig {
    // Zero, as templates write it, is no limit.
    let limit = |path| {
        let limit = settings.opt_duration(path).filter(|limit| !limit.is_zero());
        limit.map(super::bounded)
    };
    SessionsConfig {
        timebox: limit("auth.sessions.timebox"),
        inactivity_timeout: limit("auth.sessions.inactivity_timeout"),
        allow_low_aal: limit("plinth.auth.sessions.allow_low_aal"),
        is_single_per_user: settings.bool("plinth.auth.sessions.single_per_user"),
        tags: settings.list("plinth.auth.sessions.tags").to_vec(),
    }
}

fn refresh(settings: &Settings) -> RefreshConfig {
    RefreshConfig {
        is_rotation_enabled: settings.bool("auth.enable_refresh_token_rotation"),
        reuse_interval: seconds(settings, "auth.refresh_token_reuse_interval"),
        is_reuse_allowed: settings.bool("plinth.auth.refresh_tokens.allow_reuse"),
        tokens: match settings.text("plinth.auth.refresh_tokens.kind") {
            "counted" => RefreshTokens::Counted,
            _ => RefreshTokens::Chained,
        },
        upgrade_percentage: count(settings, "plinth.auth.refresh_tokens.upgrade_percentage"),
    }
}

fn password(settings: &Settings) -> PasswordConfig {
    let has_hibp = settings.bool("plinth.auth.password.hibp.enabled");
    PasswordConfig {
        min_length: password::min_length(count(settings, "auth.minimum_password_length")),
        required_characters: password_characters(settings.opt_text("auth.password_requirements"))
            .iter()
            .map(ToString::to_string)
            .collect(),
        hibp: has_hibp.then(|| HibpConfig {
            fails_closed: settings.bool("plinth.auth.password.hibp.fail_closed"),
            url: settings.text("plinth.auth.password.hibp.url").to_owned(),
            user_agent: settings
                .text("plinth.auth.password.hibp.user_agent")
                .to_owned(),
        }),
        cost: count(settings, "plinth.auth.password.hash_cost"),
        change_needs_reauthentication: settings.bool("auth.email.secure_password_change"),
        change_needs_current: settings.bool("auth.email.require_current_password"),
        makes_email_identity: settings.bool("plinth.auth.password.creates_email_identity"),
    }
}

fn mfa(settings: &Settings) -> MfaConfig {
    let switches = |kind: &str| Switches {
        is_enrol_enabled: settings.bool(&format!("auth.mfa.{kind}.enroll_enabled")),
        is_verify_enabled: settings.bool(&format!("auth.mfa.{kind}.verify_enabled")),
    };
    MfaConfig {
        totp: switches("totp"),
        phone: switches("phone"),
        webauthn: switches("web_authn"),
        max_enrolled: count(settings, "auth.mfa.max_enrolled_factors"),
        max_verified: count(settings, "plinth.auth.mfa.max_verified_factors"),
        challenge_lifetime: duration(settings, "plinth.auth.mfa.challenge_lifetime"),
        factor_lifetime: MfaConfig::factor_lifetime(duration(
            settings,
            "plinth.auth.mfa.factor_lifetime",
        )),
        by_phone: PhoneFactorConfig {
            otp_length: super::otp_length(count(settings, "auth.mfa.phone.otp_length")),
            min_interval: duration(settings, "auth.mfa.phone.max_frequency"),
            template: settings.text("auth.mfa.phone.template").to_owned(),
        },
    }
}

fn webauthn(settings: &Settings) -> WebAuthnConfig {
    let origins = settings.list("auth.webauthn.rp_origins").iter();
    WebAuthnConfig {
        rp_id: owned(settings, "auth.webauthn.rp_id"),
        rp_display_name: owned(settings, "auth.webauthn.rp_display_name"),
        rp_origins: origins
            .filter_map(|origin| match Url::parse(origin) {
                Ok(url) => Some(url),
                Err(_) => {
                    tracing::warn!("auth.webauthn.rp_origins: {origin:?} is no URL and is ignored");
                    None
                }
            })
            .collect(),
        challenge_lifetime: duration(settings, "plinth.auth.webauthn.challenge_lifetime"),
        are_passkeys_enabled: settings.bool("auth.passkey.enabled"),
        max_passkeys_per_user: count(settings, "plinth.auth.webauthn.max_passkeys"),
    }
}

fn owned(settings: &Settings, path: &str) -> Option<String> {
    settings.opt_text(path).map(str::to_owned)
}

fn secret(settings: &Settings, path: &str) -> Option<Secret> {
    let secret = settings.secret(path)?;
    Some(Secret::new(secret.expose())).filter(|secret| !secret.is_empty())
}

/// A whole number of a range that the tree has checked.
fn count<T: TryFrom<i64>>(settings: &Settings, path: &str) -> T {
    match T::try_from(settings.integer(path)) {
        Ok(number) => number,
        Err(_) => unreachable!("the tree keeps {path} in its range"),
    }
}

fn duration(settings: &Settings, path: &str) -> Duration {
    super::bounded(settings.duration(path))
}

fn seconds(settings: &Settings, path: &str) -> Duration {
    super::bounded(Duration::from_secs(count(settings, path)))
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
        assert_eq!(config.rates.otp, Rate::per_five_minutes(30.0));
        assert_eq!(config.rates.anonymous_users, Rate::per_hour(30.0));
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
