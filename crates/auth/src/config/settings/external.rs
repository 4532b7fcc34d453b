//! Providers, the OAuth server, and hooks.

use std::collections::BTreeMap;

use plinth_settings::{
    Settings,
    keys::{auth, auth_email, auth_external, auth_hook, auth_sms, plinth_auth},
};

use super::{duration, owned, secret, written_url};
use crate::config::{
    CustomProvidersConfig, ExternalConfig, Hook, HooksConfig, LinkingDomains, OAuthServerConfig,
    ProviderConfig, comma_list,
};

pub(super) fn read(settings: &Settings) -> ExternalConfig {
    ExternalConfig {
        is_email_enabled: settings.get(auth_email::ENABLE_SIGNUP),
        is_magic_link_enabled: settings.get(plinth_auth::EMAIL_MAGIC_LINK),
        is_phone_enabled: settings.get(auth_sms::ENABLE_SIGNUP),
        is_anonymous_enabled: settings.get(auth::ENABLE_ANONYMOUS_SIGN_INS),
        providers: providers(settings),
        ios_bundle_id: owned(settings, plinth_auth::EXTERNAL_IOS_BUNDLE_ID),
        redirect_url: written_url(settings, plinth_auth::EXTERNAL_REDIRECT_URL),
        id_token_issuers: settings
            .get(plinth_auth::EXTERNAL_ID_TOKEN_ISSUERS)
            .to_vec(),
        flow_lifetime: ExternalConfig::flow_lifetime(duration(
            settings,
            plinth_auth::EXTERNAL_FLOW_LIFETIME,
        )),
        discovery_lifetime: duration(settings, plinth_auth::EXTERNAL_DISCOVERY_LIFETIME),
        linking: LinkingDomains {
            by_provider: settings.get(plinth_auth::EXTERNAL_LINKING_DOMAINS).clone(),
            own: settings
                .get(plinth_auth::EXTERNAL_OWN_LINKING_DOMAIN)
                .to_vec(),
        },
    }
}

fn providers(settings: &Settings) -> BTreeMap<String, ProviderConfig> {
    let api_urls = settings.get(plinth_auth::EXTERNAL_API_URLS);
    let provider = |name: &str| {
        let client_ids = settings.get(auth_external::CLIENT_ID.of(name));
        ProviderConfig {
            is_enabled: settings.get(auth_external::ENABLED.of(name)),
            client_ids: comma_list(client_ids.unwrap_or_default()),
            secret: secret(settings, auth_external::SECRET.of(name)),
            redirect_uri: written_url(settings, auth_external::REDIRECT_URI.of(name)),
            url: written_url(settings, auth_external::URL.of(name)),
            api_url: api_urls.get(name).cloned(),
            is_email_optional: settings.get(auth_external::EMAIL_OPTIONAL.of(name)),
            skips_nonce_check: settings.get(auth_external::SKIP_NONCE_CHECK.of(name)),
        }
    };
    let names = settings.members(auth_external::PROVIDERS).into_iter();
    names
        .map(|name| (name.to_owned(), provider(name)))
        .collect()
}

pub(super) fn hooks(settings: &Settings) -> HooksConfig {
    let hook = |name: &str| {
        if !settings.get(auth_hook::ENABLED.of(name)) {
            return None;
        }
        let uri = settings.get(auth_hook::URI.of(name)).unwrap_or_default();
        let secrets = secret(settings, auth_hook::SECRETS.of(name));
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
        is_enabled: settings.get(auth::OAUTH_SERVER_ENABLED),
        allows_dynamic_registration: settings.get(auth::OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION),
        authorization_path: settings
            .get(auth::OAUTH_SERVER_AUTHORIZATION_URL_PATH)
            .to_owned(),
        authorization_lifetime: duration(
            settings,
            plinth_auth::OAUTH_SERVER_AUTHORIZATION_LIFETIME,
        ),
        default_scope: settings
            .get(plinth_auth::OAUTH_SERVER_DEFAULT_SCOPE)
            .to_owned(),
    }
}

pub(super) fn custom_providers(settings: &Settings) -> CustomProvidersConfig {
    CustomProvidersConfig {
        is_enabled: settings.get(plinth_auth::CUSTOM_PROVIDERS_ENABLED),
        max_providers: settings.get(plinth_auth::CUSTOM_PROVIDERS_MAX),
        external_url: written_url(settings, plinth_auth::CUSTOM_PROVIDERS_EXTERNAL_URL),
        allows_local_urls: settings.get(plinth_auth::CUSTOM_PROVIDERS_ALLOW_LOCAL_URLS),
    }
}
