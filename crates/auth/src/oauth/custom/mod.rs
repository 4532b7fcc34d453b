//! Providers that are defined over the API (auth contract §2.15).

pub(crate) mod admin;
mod body;
mod claims;
mod rules;
mod store;

use std::sync::Arc;

use plinth_token::Secret;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{
    oidc::Document,
    provider::Unusable,
    providers::{Nobody, Profile},
    web::{Web, WebError},
};
use crate::{model::Object, request::Context};

pub(super) use store::find;

/// What their names begin with.
pub(super) const PREFIX: &str = "custom:";

/// `auth.custom_oauth_providers`
#[derive(Debug, Clone)]
pub(super) struct CustomProvider {
    pub(super) id: Uuid,
    pub(super) protocol: Protocol,
    /// With its prefix.
    pub(super) identifier: String,
    pub(super) name: String,
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) acceptable_client_ids: Vec<String>,
    pub(super) scopes: Vec<String>,
    pub(super) pkce_enabled: bool,
    pub(super) attribute_mapping: Object,
    pub(super) authorization_params: Object,
    pub(super) custom_claims_allowlist: Vec<String>,
    pub(super) enabled: bool,
    pub(super) email_optional: bool,
    pub(super) issuer: Option<String>,
    pub(super) discovery_url: Option<String>,
    pub(super) skip_nonce_check: bool,
    /// The discovery document as it was when the row was saved.
    pub(super) cached_discovery: Option<Value>,
    pub(super) authorization_url: Option<String>,
    pub(super) token_url: Option<String>,
    pub(super) userinfo_url: Option<String>,
    pub(super) jwks_uri: Option<String>,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

/// What a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    OAuth2,
    OpenId,
}

impl Protocol {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::OAuth2 => "oauth2",
            Self::OpenId => "oidc",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::OAuth2, Self::OpenId]
            .into_iter()
            .find(|protocol| protocol.as_str() == text)
    }
}

impl CustomProvider {
    pub(super) fn is_openid(&self) -> bool {
        self.protocol == Protocol::OpenId
    }

    /// Who its ID tokens may be for.
    pub(super) fn audiences(&self) -> Vec<String> {
        let ids = std::iter::once(&self.client_id).chain(&self.acceptable_client_ids);
        ids.cloned().collect()
    }

    /// Where its endpoints and keys are.
    pub(super) async fn document(&self, context: &Context) -> Result<Arc<Document>, WebError> {
        let issuer = self.issuer.as_deref().unwrap_or_default();
        let web = Web::guarded(context);
        let discovery = context.service.discovery();
        discovery
            .document(context, &web, issuer, self.discovery_url())
            .await
    }

    /// Where the document is, if not where the issuer's should be.
    pub(super) fn discovery_url(&self) -> Option<&str> {
        self.discovery_url.as_deref().filter(|url| !url.is_empty())
    }

    /// Who these claims are about.
    pub(super) fn profile(&self, claims: Object) -> Result<Profile, Nobody> {
        let mapped = claims::map(
            claims,
            &self.attribute_mapping,
            &self.custom_claims_allowlist,
        );
        Profile::of_claims(&mapped)
    }
}

/// A provider that people may come through.
pub(super) async fn load_enabled(
    context: &Context,
    identifier: &str,
) -> Result<CustomProvider, Unusable> {
    if !context.config.custom_providers.is_enabled {
        let text = "custom OAuth providers are disabled".to_owned();
        return Err(Unusable::NotOffered(text));
    }
    let mut db = context.db().await.map_err(Unusable::Failed)?;
    let found = find(&mut db, identifier).await;
    match found.map_err(|error| Unusable::Failed(error.into()))? {
        Some(row) if row.enabled => Ok(row),
        Some(_) => Err(Unusable::NotOffered(format!(
            "custom provider {identifier} is disabled"
        ))),
        None => Err(Unusable::NotOffered(format!(
            "custom provider {identifier} not found"
        ))),
    }
}

/// Where these providers send people back to.
pub(super) fn redirect_uri(context: &Context) -> String {
    let configured = context.config.custom_providers.external_url.as_deref();
    let base = configured.filter(|url| !url.is_empty());
    let base = base.unwrap_or(&context.external_url).trim_end_matches('/');
    format!("{base}/callback")
}

/// An OpenID request asks for this, whatever else it asks for.
pub(super) fn require_openid(scopes: &mut Vec<String>) {
    if !scopes.iter().any(|scope| scope == "openid") {
        scopes.insert(0, "openid".to_owned());
    }
}
