//! A provider that a project uses: a row of the table with the project's settings, or one that
//! somebody defined over the API.

use std::sync::Arc;

use plinth_token::Secret;

use super::{
    custom::{self, CustomProvider},
    oidc::Document,
    providers::{
        Spec,
        spec::{Api, ClientAuth, Entrance, Place, Quirk},
        table,
    },
    web::{Web, WebError},
};
use crate::{AuthError, config::ProviderConfig, request::Context};

/// A provider, ready for the redirect flow.
pub(super) struct Provider {
    /// As identities name it.
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

/// Where its answers come from and what they mean.
pub(super) enum Kind {
    BuiltIn {
        spec: &'static Spec,
        config: ProviderConfig,
    },
    Custom {
        row: Box<CustomProvider>,
        /// Of OpenID providers.
        document: Option<Arc<Document>>,
    },
}

/// Why a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("{0}")]
    NotOffered(String),
    #[error("the provider's configuration cannot be read")]
    Web(#[from] WebError),
    #[error("{0}")]
    Failed(AuthError),
}

impl Provider {
    /// By the name that the caller gave, in any case.
    pub(super) async fn load(context: &Context, name: &str) -> Result<Self, Unusable> {
        let name = name.to_ascii_lowercase();
        match name.starts_with(custom::PREFIX) {
            true => Self::load_custom(context, &name).await,
            false => Self::load_built_in(context, &name).await,
        }
    }

    async fn load_built_in(context: &Context, name: &str) -> Result<Self, Unusable> {
        let not_offered = |text: &str| Unusable::NotOffered(text.to_owned());
        let Some(spec) = table::find(name) else {
            let text = format!("Provider {name} could not be found");
            return Err(Unusable::NotOffered(text));
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
        let (authorization_url, token_url) = entrance(context, spec, config).await?;
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

    async fn load_custom(context: &Context, name: &str) -> Result<Self, Unusable> {
        let row = custom::load_enabled(context, name).await?;
        let document = match row.is_openid() {
            true => Some(row.document(context).await?),
            false => None,
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

    /// How it is called.
    pub(super) fn web<'a>(&self, context: &'a Context) -> Web<'a> {
        match self.kind {
            Kind::BuiltIn { .. } => Web::configured(context),
            Kind::Custom { .. } => Web::guarded(context),
        }
    }

    /// What is asked for, where the caller asks for `more`.
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

async fn entrance(
    context: &Context,
    spec: &Spec,
    config: &ProviderConfig,
) -> Result<(String, String), Unusable> {
    let url = base_url(config);
    let below = |place: &Place| format!("{}{}", url.unwrap_or(place.base), place.path);
    match &spec.entrance {
        Entrance::At { authorize, token } => Ok((below(authorize), below(token))),
        Entrance::BelowUrl { authorize, token } => match url {
            Some(url) => Ok((format!("{url}{authorize}"), format!("{url}{token}"))),
            None => Err(Unusable::NotOffered(format!(
                "unable to find URL for the {} provider",
                spec.name
            ))),
        },
        Entrance::Discovered(issuer) => {
            let web = Web::configured(context);
            let issuer = url.unwrap_or(issuer);
            let discovery = context.service.discovery();
            let document = discovery.document(context, &web, issuer, None).await?;
            Ok((
                document.authorization_endpoint.clone(),
                document.token_endpoint.clone(),
            ))
        }
    }
}

/// The configured server, without a slash at its end.
pub(super) fn base_url(config: &ProviderConfig) -> Option<&str> {
    let url = config.url.as_deref().map(|url| url.trim_end_matches('/'));
    url.filter(|url| !url.is_empty())
}

/// Where the profile is read.
pub(super) fn api_base(api: &Api, config: &ProviderConfig) -> String {
    let api_url = config.api_url.as_deref().filter(|url| !url.is_empty());
    match (api_url, base_url(config)) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(url)) => format!("{url}{}", api.self_hosted_path),
        (None, None) => api.base.to_owned(),
    }
}

fn redirect_uri(context: &Context, config: &ProviderConfig) -> String {
    let configured = config.redirect_uri.as_deref().filter(|uri| !uri.is_empty());
    match configured {
        Some(uri) => uri.to_owned(),
        None => format!("{}/callback", context.external_url),
    }
}

/// Without a word on it, the header is what the standard wants.
fn client_auth(document: &Document) -> ClientAuth {
    let methods = &document.token_endpoint_auth_methods_supported;
    let has = |name: &str| methods.iter().any(|method| method == name);
    match (has("client_secret_basic"), has("client_secret_post")) {
        (true, false) => ClientAuth::Header,
        (false, true) => ClientAuth::Body,
        _ => ClientAuth::Either,
    }
}
