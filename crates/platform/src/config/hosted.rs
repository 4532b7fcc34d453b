//! The settings of auth under the names that the Management API has for them: lower-case names of
//! the original's environment variables, flat, each with its form (console contract §2.4.5).

use plinth_settings::{Settings, Value as Setting, password_characters};
use serde_json::{Map, Value, json};

use crate::PlatformError;

/// How the hosted service writes a value of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Same,
    /// `disable_…` for `enable_…`.
    Negated,
    /// A list, as one text with commas.
    Commas,
    /// A duration, in seconds.
    Seconds,
    /// A duration, in hours.
    Hours,
    /// A number, as text.
    NumberText,
    /// The name of a rule, as the characters that it asks for.
    PasswordRule,
    /// A table, as `name=value` with commas.
    Pairs,
}

use Form::{Commas, Hours, Negated, NumberText, Pairs, PasswordRule, Same, Seconds};

/// Members of the hosted service, and our settings.
const MEMBERS: &[(&str, &str, Form)] = &[
    ("site_url", "auth.site_url", Same),
    ("uri_allow_list", "auth.additional_redirect_urls", Commas),
    ("jwt_exp", "auth.jwt_expiry", Same),
    ("disable_signup", "auth.enable_signup", Negated),
    (
        "external_anonymous_users_enabled",
        "auth.enable_anonymous_sign_ins",
        Same,
    ),
    ("external_email_enabled", "auth.email.enable_signup", Same),
    ("external_phone_enabled", "auth.sms.enable_signup", Same),
    (
        "external_web3_solana_enabled",
        "auth.web3.solana.enabled",
        Same,
    ),
    (
        "external_web3_ethereum_enabled",
        "auth.web3.ethereum.enabled",
        Same,
    ),
    (
        "mailer_autoconfirm",
        "auth.email.enable_confirmations",
        Negated,
    ),
    (
        "mailer_secure_email_change_enabled",
        "auth.email.double_confirm_changes",
        Same,
    ),
    (
        "mailer_allow_unverified_email_sign_ins",
        "plinth.auth.email.allow_unverified_sign_ins",
        Same,
    ),
    ("mailer_otp_exp", "auth.email.otp_expiry", Same),
    ("mailer_otp_length", "auth.email.otp_length", Same),
    ("sms_autoconfirm", "auth.sms.enable_confirmations", Negated),
    ("sms_max_frequency", "auth.sms.max_frequency", Seconds),
    ("sms_otp_exp", "auth.sms.otp_expiry", Same),
    ("sms_otp_length", "auth.sms.otp_length", Same),
    ("sms_template", "auth.sms.template", Same),
    ("sms_test_otp", "auth.sms.test_otp", Pairs),
    (
        "sms_test_otp_valid_until",
        "plinth.auth.sms.test_otp_valid_until",
        Same,
    ),
    (
        "sms_twilio_account_sid",
        "auth.sms.twilio.account_sid",
        Same,
    ),
    ("sms_twilio_auth_token", "auth.sms.twilio.auth_token", Same),
    (
        "sms_twilio_content_sid",
        "auth.sms.twilio.content_sid",
        Same,
    ),
    (
        "sms_twilio_message_service_sid",
        "auth.sms.twilio.message_service_sid",
        Same,
    ),
    (
        "sms_twilio_verify_account_sid",
        "auth.sms.twilio_verify.account_sid",
        Same,
    ),
    (
        "sms_twilio_verify_auth_token",
        "auth.sms.twilio_verify.auth_token",
        Same,
    ),
    (
        "sms_twilio_verify_message_service_sid",
        "auth.sms.twilio_verify.message_service_sid",
        Same,
    ),
    (
        "sms_messagebird_access_key",
        "auth.sms.messagebird.access_key",
        Same,
    ),
    (
        "sms_messagebird_originator",
        "auth.sms.messagebird.originator",
        Same,
    ),
    ("sms_textlocal_api_key", "auth.sms.textlocal.api_key", Same),
    ("sms_textlocal_sender", "auth.sms.textlocal.sender", Same),
    ("sms_vonage_api_key", "auth.sms.vonage.api_key", Same),
    ("sms_vonage_api_secret", "auth.sms.vonage.api_secret", Same),
    ("sms_vonage_from", "auth.sms.vonage.from", Same),
    ("smtp_host", "auth.email.smtp.host", Same),
    ("smtp_port", "auth.email.smtp.port", NumberText),
    ("smtp_user", "auth.email.smtp.user", Same),
    ("smtp_pass", "auth.email.smtp.pass", Same),
    ("smtp_admin_email", "auth.email.smtp.admin_email", Same),
    ("smtp_sender_name", "auth.email.smtp.sender_name", Same),
    ("smtp_max_frequency", "auth.email.max_frequency", Seconds),
    ("password_min_length", "auth.minimum_password_length", Same),
    (
        "password_required_characters",
        "auth.password_requirements",
        PasswordRule,
    ),
    (
        "password_hibp_enabled",
        "plinth.auth.password.hibp.enabled",
        Same,
    ),
    (
        "refresh_token_rotation_enabled",
        "auth.enable_refresh_token_rotation",
        Same,
    ),
    (
        "security_refresh_token_reuse_interval",
        "auth.refresh_token_reuse_interval",
        Same,
    ),
    (
        "security_manual_linking_enabled",
        "auth.enable_manual_linking",
        Same,
    ),
    (
        "security_update_password_require_reauthentication",
        "auth.email.secure_password_change",
        Same,
    ),
    (
        "security_update_password_require_current_password",
        "auth.email.require_current_password",
        Same,
    ),
    ("security_captcha_enabled", "auth.captcha.enabled", Same),
    ("security_captcha_provider", "auth.captcha.provider", Same),
    ("security_captcha_secret", "auth.captcha.secret", Same),
    ("sessions_timebox", "auth.sessions.timebox", Hours),
    (
        "sessions_inactivity_timeout",
        "auth.sessions.inactivity_timeout",
        Hours,
    ),
    (
        "sessions_single_per_user",
        "plinth.auth.sessions.single_per_user",
        Same,
    ),
    ("sessions_tags", "plinth.auth.sessions.tags", Commas),
    (
        "rate_limit_anonymous_users",
        "auth.rate_limit.anonymous_users",
        Same,
    ),
    ("rate_limit_email_sent", "auth.rate_limit.email_sent", Same),
    ("rate_limit_sms_sent", "auth.rate_limit.sms_sent", Same),
    (
        "rate_limit_verify",
        "auth.rate_limit.token_verifications",
        Same,
    ),
    (
        "rate_limit_token_refresh",
        "auth.rate_limit.token_refresh",
        Same,
    ),
    ("rate_limit_otp", "auth.rate_limit.sign_in_sign_ups", Same),
    ("rate_limit_web3", "auth.rate_limit.web3", Same),
    (
        "mfa_max_enrolled_factors",
        "auth.mfa.max_enrolled_factors",
        Same,
    ),
    (
        "mfa_totp_enroll_enabled",
        "auth.mfa.totp.enroll_enabled",
        Same,
    ),
    (
        "mfa_totp_verify_enabled",
        "auth.mfa.totp.verify_enabled",
        Same,
    ),
    (
        "mfa_phone_enroll_enabled",
        "auth.mfa.phone.enroll_enabled",
        Same,
    ),
    (
        "mfa_phone_verify_enabled",
        "auth.mfa.phone.verify_enabled",
        Same,
    ),
    ("mfa_phone_otp_length", "auth.mfa.phone.otp_length", Same),
    ("mfa_phone_template", "auth.mfa.phone.template", Same),
    (
        "mfa_phone_max_frequency",
        "auth.mfa.phone.max_frequency",
        Seconds,
    ),
    (
        "mfa_web_authn_enroll_enabled",
        "auth.mfa.web_authn.enroll_enabled",
        Same,
    ),
    (
        "mfa_web_authn_verify_enabled",
        "auth.mfa.web_authn.verify_enabled",
        Same,
    ),
    ("passkey_enabled", "auth.passkey.enabled", Same),
    (
        "webauthn_rp_display_name",
        "auth.webauthn.rp_display_name",
        Same,
    ),
    ("webauthn_rp_id", "auth.webauthn.rp_id", Same),
    ("webauthn_rp_origins", "auth.webauthn.rp_origins", Commas),
    ("oauth_server_enabled", "auth.oauth_server.enabled", Same),
    (
        "oauth_server_allow_dynamic_registration",
        "auth.oauth_server.allow_dynamic_registration",
        Same,
    ),
    (
        "oauth_server_authorization_path",
        "auth.oauth_server.authorization_url_path",
        Same,
    ),
];

const PROVIDERS: &[&str] = &[
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "figma",
    "github",
    "gitlab",
    "google",
    "kakao",
    "keycloak",
    "linkedin_oidc",
    "notion",
    "slack_oidc",
    "spotify",
    "twitch",
    "twitter",
    "workos",
    "x",
    "zoom",
];
const HOOKS: &[&str] = &[
    "mfa_verification_attempt",
    "password_verification_attempt",
    "custom_access_token",
    "send_sms",
    "send_email",
    "before_user_created",
    "after_user_created",
];
const TEMPLATES: &[&str] = &[
    "invite",
    "confirmation",
    "recovery",
    "magic_link",
    "email_change",
    "reauthentication",
];
const SMS_PROVIDERS: &[&str] = &[
    "twilio",
    "twilio_verify",
    "messagebird",
    "textlocal",
    "vonage",
];

/// The table with the members of providers, hooks and templates.
fn members() -> Vec<(String, String, Form)> {
    let fixed = MEMBERS
        .iter()
        .map(|(member, path, form)| ((*member).to_owned(), (*path).to_owned(), *form));
    let providers = PROVIDERS.iter().flat_map(|name| {
        [
            "enabled",
            "client_id",
            "secret",
            "url",
            "skip_nonce_check",
            "email_optional",
        ]
        .map(|field| {
            let path = format!("auth.external.{name}.{field}");
            (format!("external_{name}_{field}"), path, Same)
        })
    });
    let hooks = HOOKS.iter().flat_map(|name| {
        ["enabled", "uri", "secrets"].map(|field| {
            let path = format!("auth.hook.{name}.{field}");
            (format!("hook_{name}_{field}"), path, Same)
        })
    });
    let templates = TEMPLATES.iter().flat_map(|name| {
        [
            (
                format!("mailer_subjects_{name}"),
                format!("auth.email.template.{name}.subject"),
                Same,
            ),
            (
                format!("mailer_templates_{name}_content"),
                format!("auth.email.template.{name}.content"),
                Same,
            ),
        ]
    });
    fixed
        .chain(providers)
        .chain(hooks)
        .chain(templates)
        .collect()
}

/// All members with their values; secrets masked, null where nothing is set.
pub(crate) fn render(settings: &Settings) -> Map<String, Value> {
    let mut body = Map::new();
    for (member, path, form) in members() {
        let value = settings.find_listed(&path).and_then(|setting| {
            let value = setting.value?;
            Some(form.render(&setting.declaration.kind(), value))
        });
        body.insert(member, value.unwrap_or(Value::Null));
    }
    let is_enabled = |name: &&&str| {
        let switch = settings.find_listed(&format!("auth.sms.{name}.enabled"));
        switch.is_some_and(|switch| switch.value == Some(&Setting::Bool(true)))
    };
    let provider = SMS_PROVIDERS.iter().find(is_enabled);
    body.insert("sms_provider".to_owned(), json!(provider));
    body
}

/// Our settings for members of a change. Unknown ones are ignored, as the original does (F23).
pub(crate) fn parse(body: &Map<String, Value>) -> Result<Map<String, Value>, PlatformError> {
    let mut values = Map::new();
    for (member, path, form) in members() {
        if let Some(value) = body.get(&member) {
            let parsed = form.parse(value);
            let parsed = parsed.ok_or_else(|| {
                PlatformError::Invalid(format!("{member}: the value has not the expected form"))
            })?;
            values.insert(path, parsed);
        }
    }
    if let Some(host) = body.get("smtp_host") {
        // The hosted service has no switch: a mail server is in use when there is a host.
        let is_set = host.as_str().is_some_and(|host| !host.is_empty());
        values.insert("auth.email.smtp.enabled".to_owned(), json!(is_set));
    }
    if let Some(provider) = body.get("sms_provider") {
        let wanted = provider.as_str().unwrap_or_default();
        if !wanted.is_empty() && !SMS_PROVIDERS.contains(&wanted) {
            return Err(PlatformError::Invalid(format!(
                "sms_provider: expected one of {}",
                SMS_PROVIDERS.join(", ")
            )));
        }
        for name in SMS_PROVIDERS {
            let switch = format!("auth.sms.{name}.enabled");
            values.insert(switch, json!(*name == wanted));
        }
    }
    Ok(values)
}

impl Form {
    fn render(self, kind: &plinth_settings::Kind, value: &Setting) -> Value {
        match (self, value) {
            (Negated, Setting::Bool(value)) => json!(!value),
            (Commas, Setting::List(items)) => json!(items.join(",")),
            (Seconds, Setting::Duration(value)) => json!(value.as_secs()),
            (Hours, Setting::Duration(value)) => json!(value.as_secs() / 3600),
            (NumberText, Setting::Integer(value)) => json!(value.to_string()),
            (PasswordRule, Setting::Text(rule)) => json!(password_characters(Some(rule)).join(":")),
            (Pairs, Setting::Table(entries)) => {
                let pairs = entries.iter().map(|(name, text)| format!("{name}={text}"));
                json!(pairs.collect::<Vec<_>>().join(","))
            }
            _ => kind.to_shown(value),
        }
    }

    /// `None` if it has another form.
    fn parse(self, value: &Value) -> Option<Value> {
        if value.is_null() {
            return Some(Value::Null);
        }
        Some(match self {
            Same => value.clone(),
            Negated => json!(!value.as_bool()?),
            Commas => {
                let items = value.as_str()?.split(',').map(str::trim);
                items.filter(|item| !item.is_empty()).collect()
            }
            Seconds => json!(format!("{}s", value.as_u64()?)),
            Hours => json!(format!(
                "{}h",
                value.as_f64().filter(|it| *it >= 0.0)?.floor()
            )),
            NumberText => match value {
                Value::String(text) if text.is_empty() => Value::Null,
                Value::String(text) => json!(text.trim().parse::<i64>().ok()?),
                value => json!(value.as_i64()?),
            },
            PasswordRule => json!(rule_of(value.as_str()?)?),
            Pairs => {
                let mut pairs = Map::new();
                for pair in value
                    .as_str()?
                    .split(',')
                    .filter(|pair| !pair.trim().is_empty())
                {
                    let (name, text) = pair.split_once('=')?;
                    pairs.insert(name.trim().to_owned(), json!(text.trim()));
                }
                Value::Object(pairs)
            }
        })
    }
}

const RULES: [&str; 4] = [
    "",
    "letters_digits",
    "lower_upper_letters_digits",
    "lower_upper_letters_digits_symbols",
];

fn rule_of(characters: &str) -> Option<&'static str> {
    let is_same = |rule: &&str| password_characters(Some(rule)).join(":") == characters;
    RULES.into_iter().find(|rule| is_same(rule))
}

#[cfg(test)]
mod tests {
    use plinth_settings::Loader;

    use super::*;

    fn settings(stored: &Map<String, Value>) -> Settings {
        let loaded = Loader::new().stored(stored.clone()).load();
        loaded.unwrap_or_else(|error| panic!("{error}")).settings
    }

    #[test]
    fn every_member_names_a_setting() {
        let settings = Settings::default();
        for (member, path, _) in members() {
            assert!(settings.find_listed(&path).is_some(), "{member}: {path}");
        }
    }

    #[test]
    fn members_read_back() {
        let body = json!({
            "site_url": "https://example.com",
            "uri_allow_list": "https://a.example,https://b.example/**",
            "disable_signup": true,
            "mailer_autoconfirm": true,
            "smtp_max_frequency": 90,
            "sessions_timebox": 24,
            "smtp_host": "mail.example.com",
            "smtp_port": "587",
            "smtp_user": "u",
            "smtp_pass": "hunter2",
            "smtp_admin_email": "a@example.com",
            "password_required_characters":
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:0123456789",
            "sms_test_otp": "4790123456=123456",
            "external_google_client_id": "id",
            "mailer_subjects_invite": "Come",
            "unknown_member": 7,
        });
        let body = body.as_object().expect("an object");

        let parsed = parse(body).expect("good forms");
        let rendered = render(&settings(&parsed));

        for (member, value) in body {
            match member.as_str() {
                "smtp_pass" => assert_eq!(rendered[member], plinth_settings::MASK),
                "unknown_member" => assert!(!rendered.contains_key(member)),
                _ => assert_eq!(rendered[member], *value, "{member}"),
            }
        }
        assert_eq!(parsed["auth.email.smtp.enabled"], true);
    }

    #[test]
    fn wrong_forms_are_rejected() {
        for (member, value) in [
            ("disable_signup", json!("yes")),
            ("smtp_max_frequency", json!(-1)),
            ("sessions_timebox", json!("long")),
            ("smtp_port", json!("smtp")),
            ("password_required_characters", json!("abc")),
            ("sms_test_otp", json!("no pair")),
            ("sms_provider", json!("pigeon")),
        ] {
            let body = Map::from_iter([(member.to_owned(), value)]);
            assert!(parse(&body).is_err(), "{member}");
        }
    }

    #[test]
    fn one_provider_of_messages_is_in_use() {
        let body = Map::from_iter([("sms_provider".to_owned(), json!("vonage"))]);

        let parsed = parse(&body).expect("a provider");

        assert_eq!(parsed["auth.sms.vonage.enabled"], true);
        assert_eq!(parsed["auth.sms.twilio.enabled"], false);
    }
}
