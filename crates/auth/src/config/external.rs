//! Sign-in through providers, and the project as an OAuth server.

use std::{collections::BTreeMap, time::Duration};

use plinth_token::Secret;

/// `EXTERNAL_*`
#[derive(Debug, Clone)]
pub(crate) struct ExternalConfig {
    /// `EXTERNAL_EMAIL_ENABLED`
    pub(crate) is_email_enabled: bool,
    /// `EXTERNAL_EMAIL_MAGIC_LINK_ENABLED`
    pub(crate) is_magic_link_enabled: bool,
    /// `EXTERNAL_PHONE_ENABLED`
    pub(crate) is_phone_enabled: bool,
    /// `EXTERNAL_ANONYMOUS_USERS_ENABLED`
    pub(crate) is_anonymous_enabled: bool,
    /// `EXTERNAL_<NAME>_*`, by lower-case name; switched-off ones are here too.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// `EXTERNAL_IOS_BUNDLE_ID`
    pub(crate) ios_bundle_id: Option<String>,
    /// `EXTERNAL_REDIRECTURL`: the callback of all providers.
    pub(crate) redirect_url: Option<String>,
    /// `EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS`
    pub(crate) id_token_issuers: Vec<String>,
    /// `EXTERNAL_FLOW_STATE_EXPIRY_DURATION`
    pub(crate) flow_lifetime: Duration,
    /// `EXTERNAL_OIDC_PROVIDER_CACHE_TTL`
    pub(crate) discovery_lifetime: Duration,
    pub(crate) linking: LinkingDomains,
}

impl ExternalConfig {
    /// At least five minutes.
    pub(crate) fn flow_lifetime(requested: Duration) -> Duration {
        requested.max(Duration::from_secs(300))
    }
}

/// One provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderConfig {
    pub(crate) is_enabled: bool,
    /// The first is used in the redirect flow, all are accepted as audiences of ID tokens.
    pub(crate) client_ids: Vec<String>,
    pub(crate) secret: Option<Secret>,
    pub(crate) redirect_uri: Option<String>,
    /// Of a self-hosted or single-tenant provider.
    pub(crate) url: Option<String>,
    /// `…_API_URL`: where the profile is read, if not at the provider's default.
    pub(crate) api_url: Option<String>,
    pub(crate) is_email_optional: bool,
    pub(crate) skips_nonce_check: bool,
}

/// Linking domains: identities of the same domain and address belong to the same user.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkingDomains {
    /// `EXPERIMENTAL_PROVIDER_LINKING_DOMAINS`: domain by provider.
    pub(crate) by_provider: BTreeMap<String, String>,
    /// `EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN`
    pub(crate) own: Vec<String>,
}

impl LinkingDomains {
    /// Providers outside of the default linking domain.
    pub(crate) fn separate_domains(&self) -> Vec<&str> {
        let elsewhere = self.by_provider.iter();
        let elsewhere = elsewhere.filter(|(_, domain)| *domain != "default");
        let elsewhere = elsewhere.map(|(provider, _)| provider.as_str());
        elsewhere
            .chain(self.own.iter().map(String::as_str))
            .collect()
    }

    /// The linking domain of a provider.
    pub(crate) fn domain_of<'a>(&'a self, provider: &'a str) -> &'a str {
        if provider.starts_with("sso:") || self.own.iter().any(|own| own == provider) {
            return provider;
        }
        self.by_provider
            .get(provider)
            .map_or("default", String::as_str)
    }
}

/// `OAUTH_SERVER_*`
#[derive(Debug, Clone)]
pub(crate) struct OAuthServerConfig {
    pub(crate) is_enabled: bool,
    pub(crate) allows_dynamic_registration: bool,
    /// Path of the consent page below the site's URL.
    pub(crate) authorization_path: String,
    pub(crate) authorization_lifetime: Duration,
    pub(crate) default_scope: String,
}

/// `CUSTOM_OAUTH_*`
#[derive(Debug, Clone)]
pub(crate) struct CustomProvidersConfig {
    pub(crate) is_enabled: bool,
    /// 0: no limit.
    pub(crate) max_providers: usize,
    pub(crate) external_url: Option<String>,
    /// Whether URLs may be plain http and lead to private networks: for tests only.
    pub(crate) allows_local_urls: bool,
}
