//! Providers, the OAuth server, and hooks.

use std::collections::BTreeMap;

use super::{HOUR, MINUTE, variables::Variables};
use crate::config::{
    CustomProvidersConfig, ExternalConfig, Hook, HooksConfig, LinkingDomains, OAuthServerConfig,
    ProviderConfig,
};

const PROVIDERS: [&str; 25] = [
    "APPLE",
    "AZURE",
    "BITBUCKET",
    "DISCORD",
    "FACEBOOK",
    "FIGMA",
    "FLY",
    "GITHUB",
    "GITLAB",
    "GOOGLE",
    "KAKAO",
    "KEYCLOAK",
    "LINKEDIN",
    "LINKEDIN_OIDC",
    "NOTION",
    "SLACK",
    "SLACK_OIDC",
    "SNAPCHAT",
    "SPOTIFY",
    "TWITCH",
    "TWITTER",
    "VERCEL_MARKETPLACE",
    "WORKOS",
    "X",
    "ZOOM",
];

const ID_TOKEN_ISSUERS: [&str; 2] = ["https://appleid.apple.com", "https://accounts.google.com"];

pub(super) fn read(v: &mut Variables) -> ExternalConfig {
    ExternalConfig {
        is_email_enabled: v.flag("EXTERNAL_EMAIL_ENABLED", true),
        is_magic_link_enabled: v.flag("EXTERNAL_EMAIL_MAGIC_LINK_ENABLED", true),
        is_phone_enabled: v.flag("EXTERNAL_PHONE_ENABLED", false),
        is_anonymous_enabled: v.flag("EXTERNAL_ANONYMOUS_USERS_ENABLED", false),
        providers: providers(v),
        ios_bundle_id: v.text("EXTERNAL_IOS_BUNDLE_ID"),
        redirect_url: v.text("EXTERNAL_REDIRECTURL"),
        id_token_issuers: v.list_or("EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS", &ID_TOKEN_ISSUERS),
        flow_lifetime: ExternalConfig::flow_lifetime(
            v.duration("EXTERNAL_FLOW_STATE_EXPIRY_DURATION", 5 * MINUTE),
        ),
        discovery_lifetime: v.duration("EXTERNAL_OIDC_PROVIDER_CACHE_TTL", HOUR),
        linking: LinkingDomains {
            by_provider: v
                .pairs("EXPERIMENTAL_PROVIDER_LINKING_DOMAINS", '=')
                .into_iter()
                .collect(),
            own: v.list("EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN"),
        },
    }
}

/// Those that are configured.
fn providers(v: &mut Variables) -> BTreeMap<String, ProviderConfig> {
    let mut providers = BTreeMap::new();
    for name in PROVIDERS {
        let provider = provider(v, name);
        if provider.is_enabled || !provider.client_ids.is_empty() {
            providers.insert(name.to_lowercase(), provider);
        }
    }
    providers
}

fn provider(v: &mut Variables, name: &str) -> ProviderConfig {
    let of = |field: &str| format!("EXTERNAL_{name}_{field}");
    let provider = ProviderConfig {
        is_enabled: v.flag(&of("ENABLED"), false),
        client_ids: v.list(&of("CLIENT_ID")),
        secret: v.secret(&of("SECRET")),
        redirect_uri: v.text(&of("REDIRECT_URI")),
        url: v.text(&of("URL")),
        api_url: v.text(&of("API_URL")),
        is_email_optional: v.flag(&of("EMAIL_OPTIONAL"), false),
        skips_nonce_check: v.flag(&of("SKIP_NONCE_CHECK"), false),
    };
    if provider.is_enabled && provider.client_ids.is_empty() {
        v.add_problem_with(&of("CLIENT_ID"), "is needed while the provider is on");
    }
    provider
}

pub(super) fn hooks(v: &mut Variables) -> HooksConfig {
    HooksConfig {
        custom_access_token: hook(v, "CUSTOM_ACCESS_TOKEN"),
        send_email: hook(v, "SEND_EMAIL"),
        send_sms: hook(v, "SEND_SMS"),
        mfa_verification_attempt: hook(v, "MFA_VERIFICATION_ATTEMPT"),
        password_verification_attempt: hook(v, "PASSWORD_VERIFICATION_ATTEMPT"),
        before_user_created: hook(v, "BEFORE_USER_CREATED"),
        after_user_created: hook(v, "AFTER_USER_CREATED"),
    }
}

fn hook(v: &mut Variables, name: &str) -> Option<Hook> {
    let is_on = v.flag(&format!("HOOK_{name}_ENABLED"), false);
    let uri = v.text(&format!("HOOK_{name}_URI")).unwrap_or_default();
    let secrets = v.secret(&format!("HOOK_{name}_SECRETS"));
    if !is_on {
        return None;
    }
    let hook = Hook::parse(&uri, secrets.as_ref());
    if let Err(text) = &hook {
        v.add_problem_with(&format!("HOOK_{name}_URI"), text);
    }
    hook.ok()
}

pub(super) fn oauth_server(v: &mut Variables) -> OAuthServerConfig {
    OAuthServerConfig {
        is_enabled: v.flag("OAUTH_SERVER_ENABLED", false),
        allows_dynamic_registration: v.flag("OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION", false),
        authorization_path: v.text_or("OAUTH_SERVER_AUTHORIZATION_PATH", ""),
        authorization_lifetime: v.duration("OAUTH_SERVER_AUTHORIZATION_TTL", 10 * MINUTE),
        default_scope: v.text_or("OAUTH_SERVER_DEFAULT_SCOPE", "email"),
    }
}

pub(super) fn custom_providers(v: &mut Variables) -> CustomProvidersConfig {
    CustomProvidersConfig {
        is_enabled: v.flag("CUSTOM_OAUTH_ENABLED", true),
        max_providers: v.number("CUSTOM_OAUTH_MAX_PROVIDERS", 0) as usize,
        external_url: v.text("CUSTOM_OAUTH_EXTERNAL_URL"),
        allows_local_urls: false,
    }
}
