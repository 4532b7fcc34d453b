//! Other services that sign people in, other applications that sign in here, and hooks.

use std::collections::BTreeMap;

use plinth_settings::Settings;

use super::{count, duration, owned, secret};
use crate::config::{
    CustomProvidersConfig, ExternalConfig, Hook, HooksConfig, LinkingDomains, OAuthServerConfig,
    ProviderConfig, comma_list,
};

pub(super) fn read(settings: &Settings) -> ExternalConfig {
    let text = |name: &str| owned(settings, &format!("plinth.auth.external.{name}"));
    let list = |name: &str| {
        settings
            .list(&format!("plinth.auth.external.{name}"))
            .to_vec()
    };
    ExternalConfig {
        is_email_enabled: settings.bool("auth.email.enable_signup"),
        is_magic_link_enabled: settings.bool("plinth.auth.email.magic_link"),
        is_phone_enabled: settings.bool("auth.sms.enable_signup"),
        is_anonymous_enabled: settings.bool("auth.enable_anonymous_sign_ins"),
        providers: providers(settings),
        ios_bundle_id: text("ios_bundle_id"),
        redirect_url: text("redirect_url"),
        id_token_issuers: list("id_token_issuers"),
        flow_lifetime: ExternalConfig::flow_lifetime(duration(
            settings,
            "plinth.auth.external.flow_lifetime",
        )),
        discovery_lifetime: duration(settings, "plinth.auth.external.discovery_lifetime"),
        linking: LinkingDomains {
            by_provider: settings
                .table("plinth.auth.external.linking_domains")
                .clone(),
            own: list("own_linking_domain"),
        },
    }
}

fn providers(settings: &Settings) -> BTreeMap<String, ProviderConfig> {
    let api_urls = settings.table("plinth.auth.external.api_urls");
    let provider = |name: &str| {
        let path = |field: &str| format!("auth.external.{name}.{field}");
        let text = |field: &str| owned(settings, &path(field));
        let client_ids = text("client_id").unwrap_or_default();
        ProviderConfig {
            is_enabled: settings.bool(&path("enabled")),
            client_ids: comma_list(&client_ids),
            secret: secret(settings, &path("secret")),
            redirect_uri: text("redirect_uri"),
            url: text("url"),
            api_url: api_urls.get(name).cloned(),
            is_email_optional: settings.bool(&path("email_optional")),
            skips_nonce_check: settings.bool(&path("skip_nonce_check")),
        }
    };
    let names = settings.entries("auth.external").into_iter();
    names
        .map(|name| (name.to_owned(), provider(name)))
        .collect()
}

pub(super) fn hooks(settings: &Settings) -> HooksConfig {
    let hook = |name: &str| {
        let path = |field: &str| format!("auth.hook.{name}.{field}");
        if !settings.bool(&path("enabled")) {
            return None;
        }
        let uri = settings.opt_text(&path("uri")).unwrap_or_default();
        let secrets = secret(settings, &path("secrets"));
        Some(
            Hook::parse(uri, secrets.as_ref()).unwrap_or_else(|problem| {
                tracing::error!("auth.hook.{name}: {problem}");
                Hook::unusable(problem)
            }),
        )
    };
    HooksConfig {
        custom_access_token: hook("custom_access_token"),
        send_email: hook("send_email"),
        send_sms: hook("send_sms"),
        mfa_verification_attempt: hook("mfa_verification_attempt"),
        password_verification_attempt: hook("password_verification_attempt"),
        before_user_created: hook("before_user_created"),
        after_user_created: hook("after_user_created"),
    }
}

pub(super) fn oauth_server(settings: &Settings) -> OAuthServerConfig {
    OAuthServerConfig {
        is_enabled: settings.bool("auth.oauth_server.enabled"),
        allows_dynamic_registration: settings.bool("auth.oauth_server.allow_dynamic_registration"),
        authorization_path: settings
            .text("auth.oauth_server.authorization_url_path")
            .to_owned(),
        authorization_lifetime: duration(
            settings,
            "plinth.auth.oauth_server.authorization_lifetime",
        ),
        default_scope: settings
            .text("plinth.auth.oauth_server.default_scope")
            .to_owned(),
    }
}

pub(super) fn custom_providers(settings: &Settings) -> CustomProvidersConfig {
    CustomProvidersConfig {
        is_enabled: settings.bool("plinth.auth.custom_providers.enabled"),
        max_providers: count(settings, "plinth.auth.custom_providers.max"),
        external_url: owned(settings, "plinth.auth.custom_providers.external_url"),
        allows_local_urls: settings.bool("plinth.auth.custom_providers.allow_local_urls"),
    }
}
