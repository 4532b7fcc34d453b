//! Providers defined over the admin API (auth contract §2.15).

pub(crate) mod admin;
mod body;
mod claims;
mod validation;

use std::sync::Arc;

use super::{
    http_client::{HttpClient, HttpError},
    oidc::Document,
    provider::ProviderError,
    providers::{MissingSubject, Profile},
};
use crate::{
    model::{
        Object,
        custom_providers::{self, CustomProvider, Protocol},
    },
    request::RequestContext,
};

/// The prefix of their identifiers.
pub(super) const PREFIX: &str = "custom:";

impl CustomProvider {
    pub(super) fn is_openid(&self) -> bool {
        self.protocol == Protocol::OpenId
    }

    /// Accepted audiences of ID tokens.
    pub(super) fn audiences(&self) -> Vec<String> {
        let ids = std::iter::once(&self.client_id).chain(&self.acceptable_client_ids);
        ids.cloned().collect()
    }

    /// The discovery document.
    pub(super) async fn document(
        &self,
        context: &RequestContext,
    ) -> Result<Arc<Document>, HttpError> {
        let issuer = self.issuer.as_deref().unwrap_or_default();
        let http = HttpClient::public_only(context);
        let discovery = context.service.discovery();
        discovery
            .document(context, &http, issuer, self.discovery_url())
            .await
    }

    /// The URL of the discovery document, if it differs from the issuer's well-known URL.
    pub(super) fn discovery_url(&self) -> Option<&str> {
        self.discovery_url.as_deref().filter(|url| !url.is_empty())
    }

    /// The profile from the mapped claims.
    pub(super) fn profile(&self, claims: Object) -> Result<Profile, MissingSubject> {
        let mapped = claims::map(
            claims,
            &self.attribute_mapping,
            &self.custom_claims_allowlist,
        );
        Profile::from_claims(&mapped)
    }
}

/// Loads a provider if it is enabled.
pub(super) async fn load_enabled(
    context: &RequestContext,
    identifier: &str,
) -> Result<CustomProvider, ProviderError> {
    if !context.config.custom_providers.is_enabled {
        let text = "custom OAuth providers are disabled".to_owned();
        return Err(ProviderError::NotOffered(text));
    }
    let mut db = context.db().await.map_err(ProviderError::Failed)?;
    let found = custom_providers::find(&mut db, identifier).await;
    match found.map_err(|error| ProviderError::Failed(error.into()))? {
        Some(row) if row.enabled => Ok(row),
        Some(_) => Err(ProviderError::NotOffered(format!(
            "custom provider {identifier} is disabled"
        ))),
        None => Err(ProviderError::NotOffered(format!(
            "custom provider {identifier} not found"
        ))),
    }
}

/// The redirect URI of custom providers.
pub(super) fn redirect_uri(context: &RequestContext) -> String {
    let configured = context.config.custom_providers.external_url.as_deref();
    let base = configured.filter(|url| !url.is_empty());
    let base = base.unwrap_or(&context.external_url).trim_end_matches('/');
    format!("{base}/callback")
}

/// OpenID Connect requires the scope `openid`.
pub(super) fn require_openid(scopes: &mut Vec<String>) {
    if !scopes.iter().any(|scope| scope == "openid") {
        scopes.insert(0, "openid".to_owned());
    }
}
