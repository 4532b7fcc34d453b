//! A provider as a project uses it: a row of the table with the project's settings, or a custom
//! provider.

use std::sync::Arc;

use plinth_token::Secret;

use super::{
    custom,
    http_client::{HttpClient, HttpError},
    oidc::Document,
    providers::{
        Spec,
        spec::{Api, ClientAuth, Endpoint, Endpoints, Quirk},
        table,
    },
};
use crate::{
    AuthError, config::ProviderConfig, model::custom_providers::CustomProvider,
    request::RequestContext,
};

/// A provider, ready for the redirect flow.
pub(super) struct Provider {
    /// As stored in identities.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) client_id: String,
    pub(super) secret: Secret,
    pub(super) redirect_uri: String,
    pub(super) authorization_url: String,
    pub(super) token_url: String,
    pub(super) client_auth: ClientAuth,
    pub(super) uses_pkce: bool,
    pub(super) is_email_optional: bool,
}

/// Built-in or custom.
pub(super) enum Kind {
    BuiltIn {
        spec: &'static Spec,
        config: ProviderConfig,
    },
    Custom {
        row: Box<CustomProvider>,
        /// For OpenID providers.
        document: Option<Arc<Document>>,
    },
}

/// Why a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    #[error("{0}")]
    NotOffered(String),
    #[error("the provider's configuration cannot be read")]
    Http(#[from] HttpError),
    #[error("{0}")]
    Failed(AuthError),
}

impl Provider {
    /// Loads a provider by name, ignoring case.
    pub(super) async fn load(context: &RequestContext, name: &str) -> Result<Self, ProviderError> {
        let name = name.to_ascii_lowercase();
        if name.starts_with(custom::PREFIX) {
            Self::load_custom(context, &name).await
        } else {
            Self::load_built_in(context, &name).await
        }
    }

    async fn load_built_in(context: &RequestContext, name: &str) -> Result<Self, ProviderError> {
        let not_offered = |text: &str| ProviderError::NotOffered(text.to_owned());
        let Some(spec) = table::find(name) else {
            let text = format!("Provider {name} could not be found");
            return Err(ProviderError::NotOffered(text));
        };
        let config = context.config.external.providers.get(name);
        let Some(config) = config.filter(|config| config.is_enabled) else {
            return Err(not_offered("provider is not enabled"));
        };
        let Some(client_id) = config.client_ids.first() else {
            return Err(not_offered("missing OAuth client ID"));
        };
        let Some(secret) = config.secret.clone().filter(|secret| !secret.is_empty()) else {
            return Err(not_offered("missing OAuth secret"));
        };
        let (authorization_url, token_url) = endpoints(context, spec, config).await?;
        Ok(Self {
            name: name.to_owned(),
            client_id: client_id.clone(),
            secret,
            redirect_uri: redirect_uri(context, config),
            authorization_url,
            token_url,
            client_auth: spec.client_auth,
            uses_pkce: spec.uses_pkce,
            is_email_optional: config.is_email_optional,
            kind: Kind::BuiltIn {
                spec,
                config: config.clone(),
            },
        })
    }

    async fn load_custom(context: &RequestContext, name: &str) -> Result<Self, ProviderError> {
        let row = custom::load_enabled(context, name).await?;
        let document = if row.is_openid() {
            Some(row.document(context).await?)
        } else {
            None
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (authorization_url, token_url) = match &document {
            Some(document) => (
                document.authorization_endpoint.clone(),
                document.token_endpoint.clone(),
            ),
            None => (text(&row.authorization_url), text(&row.token_url)),
        };
        Ok(Self {
            name: name.to_owned(),
            client_id: row.client_id.clone(),
            secret: row.client_secret.clone(),
            redirect_uri: custom::redirect_uri(context),
            authorization_url,
            token_url,
            client_auth: document.as_deref().map_or(ClientAuth::Either, client_auth),
            uses_pkce: row.pkce_enabled,
            is_email_optional: row.email_optional,
            kind: Kind::Custom {
                row: Box::new(row),
                document,
            },
        })
    }

    pub(super) fn quirk(&self) -> Quirk {
        match &self.kind {
            Kind::BuiltIn { spec, .. } => spec.quirk,
            Kind::Custom { .. } => Quirk::None,
        }
    }

    /// The HTTP client for this provider.
    pub(super) fn http<'a>(&self, context: &'a RequestContext) -> HttpClient<'a> {
        match self.kind {
            Kind::BuiltIn { .. } => HttpClient::configured(context),
            Kind::Custom { .. } => HttpClient::public_only(context),
        }
    }

    /// The scopes to request; `more` are the caller's.
    pub(super) fn scopes(&self, more: &str) -> Vec<String> {
        let owned = |scope: &str| scope.to_owned();
        match &self.kind {
            Kind::BuiltIn { spec, .. } => {
                let more = more.split(',').filter(|scope| !scope.is_empty());
                let more = more.filter(|_| spec.takes_scopes);
                spec.scopes.iter().copied().chain(more).map(owned).collect()
            }
            Kind::Custom { row, .. } => {
                let mut scopes: Vec<String> = more.split_whitespace().map(owned).collect();
                if scopes.is_empty() {
                    scopes = row.scopes.clone();
                }
                if row.is_openid() {
                    custom::require_openid(&mut scopes);
                }
                scopes
            }
        }
    }
}

async fn endpoints(
    context: &RequestContext,
    spec: &Spec,
    config: &ProviderConfig,
) -> Result<(String, String), ProviderError> {
    let url = base_url(config);
    let url_of = |endpoint: &Endpoint| format!("{}{}", url.unwrap_or(endpoint.base), endpoint.path);
    match &spec.endpoints {
        Endpoints::Fixed { authorize, token } => Ok((url_of(authorize), url_of(token))),
        Endpoints::BelowUrl { authorize, token } => match url {
            Some(url) => Ok((format!("{url}{authorize}"), format!("{url}{token}"))),
            None => Err(ProviderError::NotOffered(format!(
                "unable to find URL for the {} provider",
                spec.name
            ))),
        },
        Endpoints::Discovered(issuer) => {
            let http = HttpClient::configured(context);
            let issuer = url.unwrap_or(issuer);
            let discovery = context.service.discovery();
            let document = discovery.document(context, &http, issuer, None).await?;
            Ok((
                document.authorization_endpoint.clone(),
                document.token_endpoint.clone(),
            ))
        }
    }
}

/// The configured URL, without a trailing slash.
pub(super) fn base_url(config: &ProviderConfig) -> Option<&str> {
    let url = config.url.as_deref().map(|url| url.trim_end_matches('/'));
    url.filter(|url| !url.is_empty())
}

/// The base URL of the profile API.
pub(super) fn api_base(api: &Api, config: &ProviderConfig) -> String {
    let api_url = config.api_url.as_deref().filter(|url| !url.is_empty());
    match (api_url, base_url(config)) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(url)) => format!("{url}{}", api.self_hosted_path),
        (None, None) => api.base.to_owned(),
    }
}

fn redirect_uri(context: &RequestContext, config: &ProviderConfig) -> String {
    let configured = config.redirect_uri.as_deref().filter(|uri| !uri.is_empty());
    match configured {
        Some(uri) => uri.to_owned(),
        None => format!("{}/callback", context.external_url),
    }
}

/// If the document names neither or both methods, the header is tried first.
fn client_auth(document: &Document) -> ClientAuth {
    let methods = &document.token_endpoint_auth_methods_supported;
    let has = |name: &str| methods.iter().any(|method| method == name);
    match (has("client_secret_basic"), has("client_secret_post")) {
        (true, false) => ClientAuth::Header,
        (false, true) => ClientAuth::Body,
        _ => ClientAuth::Either,
    }
}
