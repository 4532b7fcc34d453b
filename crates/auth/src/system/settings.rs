//! `GET /settings`: the public settings for sign-in pages.

use axum::Json;
use serde_json::{Map, Value, json};

use crate::request::RequestContext;

/// The listed providers; other configured ones are not listed.
const PROVIDERS: [&str; 23] = [
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "snapchat",
    "figma",
    "fly",
    "github",
    "gitlab",
    "google",
    "keycloak",
    "kakao",
    "linkedin",
    "linkedin_oidc",
    "notion",
    "spotify",
    "slack",
    "slack_oidc",
    "workos",
    "twitch",
    "twitter",
    "zoom",
];

/// `GET /settings`
pub(crate) async fn settings(context: RequestContext) -> Json<Value> {
    let config = &context.config;
    let rules = &config.external;
    let is_enabled = |name: &str| {
        let provider = rules.providers.get(name);
        provider.is_some_and(|provider| provider.is_enabled)
    };
    let mut external: Map<String, Value> = PROVIDERS
        .into_iter()
        .map(|name| (name.to_owned(), is_enabled(name).into()))
        .collect();
    for (name, is_enabled) in [
        ("anonymous_users", rules.is_anonymous_enabled),
        ("email", rules.is_email_enabled),
        ("phone", rules.is_phone_enabled),
    ] {
        external.insert(name.to_owned(), is_enabled.into());
    }
    let sms_provider = config.sms.provider.as_ref();
    Json(json!({
        "external": external,
        "disable_signup": !config.is_signup_enabled,
        "mailer_autoconfirm": config.mail.is_autoconfirmed,
        "phone_autoconfirm": config.sms.is_autoconfirmed,
        "sms_provider": sms_provider.map_or("", |provider| provider.name()),
        "saml_enabled": false,
        "saml_private_key_next_configured": false,
        "passkeys_enabled": config.webauthn.are_passkeys_enabled,
    }))
}
