//! JSON bodies of custom providers. Responses never contain the secret.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    model::{Object, custom_providers::CustomProvider},
    wire_time,
};

/// The request body; in updates, absent fields are unchanged.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ProviderParams {
    pub(super) provider_type: String,
    pub(super) identifier: String,
    pub(super) name: String,
    pub(super) client_id: String,
    pub(super) client_secret: String,
    pub(super) acceptable_client_ids: Option<Vec<String>>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) pkce_enabled: Option<bool>,
    pub(super) attribute_mapping: Option<Object>,
    pub(super) custom_claims_allowlist: Option<Vec<String>>,
    pub(super) authorization_params: Option<Object>,
    pub(super) enabled: Option<bool>,
    pub(super) email_optional: Option<bool>,
    pub(super) issuer: String,
    pub(super) discovery_url: String,
    pub(super) skip_nonce_check: Option<bool>,
    pub(super) authorization_url: String,
    pub(super) token_url: String,
    pub(super) userinfo_url: String,
    pub(super) jwks_uri: String,
}

/// The response body.
#[derive(Debug, Serialize)]
pub(super) struct ProviderBody {
    id: Uuid,
    provider_type: &'static str,
    identifier: String,
    name: String,
    client_id: String,
    acceptable_client_ids: Vec<String>,
    scopes: Vec<String>,
    pkce_enabled: bool,
    attribute_mapping: Object,
    custom_claims_allowlist: Vec<String>,
    authorization_params: Object,
    enabled: bool,
    email_optional: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discovery_url: Option<String>,
    skip_nonce_check: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    discovery_document: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    userinfo_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    #[serde(serialize_with = "wire_time::serialize")]
    created_at: OffsetDateTime,
    #[serde(serialize_with = "wire_time::serialize")]
    updated_at: OffsetDateTime,
}

impl From<CustomProvider> for ProviderBody {
    fn from(provider: CustomProvider) -> Self {
        Self {
            id: provider.id,
            provider_type: provider.protocol.as_str(),
            identifier: provider.identifier,
            name: provider.name,
            client_id: provider.client_id,
            acceptable_client_ids: provider.acceptable_client_ids,
            scopes: provider.scopes,
            pkce_enabled: provider.pkce_enabled,
            attribute_mapping: provider.attribute_mapping,
            custom_claims_allowlist: provider.custom_claims_allowlist,
            authorization_params: provider.authorization_params,
            enabled: provider.enabled,
            email_optional: provider.email_optional,
            issuer: provider.issuer,
            discovery_url: provider.discovery_url,
            skip_nonce_check: provider.skip_nonce_check,
            discovery_document: provider.cached_discovery,
            authorization_url: provider.authorization_url,
            token_url: provider.token_url,
            userinfo_url: provider.userinfo_url,
            jwks_uri: provider.jwks_uri,
            created_at: provider.created_at,
            updated_at: provider.updated_at,
        }
    }
}
