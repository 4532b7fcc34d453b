//! Custom identity providers (client contract S80).

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::AuthError;
use super::super::api::{AuthApi, Call, segment};
use super::super::body::{Body, to_value};
use crate::call_options::{CallOptions, with_call_options, with_handle_options};

const PATH: &str = "/admin/custom-providers";

/// The provider's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderType {
    /// OpenID Connect, with discovery.
    Oidc,
    /// Plain OAuth 2.
    Oauth2,
}

impl ProviderType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Oidc => "oidc",
            Self::Oauth2 => "oauth2",
        }
    }
}

/// A provider. Its secret is never returned.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CustomProvider {
    /// A UUID.
    pub id: String,
    /// `custom:` and a name of one's own.
    pub identifier: String,
    /// `oidc` or `oauth2`.
    pub provider_type: String,
    /// What people are shown.
    pub name: String,
    /// The project's client id at the provider.
    pub client_id: String,
    /// Other client ids whose tokens are accepted.
    pub acceptable_client_ids: Vec<String>,
    /// Requested scopes.
    pub scopes: Vec<String>,
    /// Whether PKCE is used.
    pub pkce_enabled: bool,
    /// Mapping of claims to user attributes.
    pub attribute_mapping: Map<String, Value>,
    /// Additional claims to store.
    pub custom_claims_allowlist: Vec<String>,
    /// Additional authorization parameters.
    pub authorization_params: Map<String, Value>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether users without an e-mail address may sign in.
    pub email_optional: bool,
    /// OpenID Connect: the issuer.
    pub issuer: Option<String>,
    /// OpenID Connect: the discovery URL, if non-standard.
    pub discovery_url: Option<String>,
    /// OpenID Connect: whether the nonce check is skipped.
    pub skip_nonce_check: bool,
    /// OAuth 2: the authorization URL.
    pub authorization_url: Option<String>,
    /// OAuth 2: the token URL.
    pub token_url: Option<String>,
    /// OAuth 2: the user info URL.
    pub userinfo_url: Option<String>,
    /// OAuth 2: the JWKS URL.
    pub jwks_uri: Option<String>,
    /// As RFC 3339.
    pub created_at: Option<String>,
    /// As RFC 3339.
    pub updated_at: Option<String>,
}

/// The project's own providers; see [`AdminClient::providers`](super::AdminClient::providers).
#[derive(Clone, Debug)]
pub struct CustomProviders {
    api: AuthApi,
}

with_handle_options!(CustomProviders);

impl CustomProviders {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            api: self.api.with_options(options),
        }
    }

    pub(super) fn new(api: &AuthApi) -> Self {
        Self { api: api.clone() }
    }

    /// Makes one. Its identifier begins with `custom:`.
    pub fn create(&self, kind: ProviderType, identifier: impl Into<String>) -> ProviderRequest {
        ProviderRequest::new(&self.api, Method::POST, PATH.to_owned())
            .with("provider_type", kind.as_str())
            .with("identifier", identifier.into())
    }

    /// Changes what is named in the request, and nothing else.
    pub fn update(&self, identifier: &str) -> ProviderRequest {
        ProviderRequest::new(&self.api, Method::PUT, path(identifier))
    }

    /// One of them.
    pub async fn get(&self, identifier: &str) -> Result<CustomProvider, AuthError> {
        self.api.json(Call::get(path(identifier))).await
    }

    /// All of them.
    pub async fn list(&self) -> Result<Vec<CustomProvider>, AuthError> {
        self.read(Call::get(PATH)).await
    }

    /// Those that speak one protocol.
    pub async fn list_of(&self, kind: ProviderType) -> Result<Vec<CustomProvider>, AuthError> {
        let call = Call::get(PATH).query("type", kind.as_str().to_owned());
        self.read(call).await
    }

    /// Removes one. No user can sign in with it any more.
    pub async fn delete(&self, identifier: &str) -> Result<(), AuthError> {
        self.api.done(Call::delete(path(identifier))).await
    }

    async fn read(&self, call: Call<'_>) -> Result<Vec<CustomProvider>, AuthError> {
        #[derive(Deserialize)]
        struct Listed {
            #[serde(default)]
            providers: Vec<CustomProvider>,
        }

        let listed: Listed = self.api.json(call).await?;
        Ok(listed.providers)
    }
}

/// Making or changing a provider.
#[must_use = "nothing is sent before `send`"]
pub struct ProviderRequest {
    api: AuthApi,
    method: Method,
    path: String,
    body: Result<Body, AuthError>,
    options: CallOptions,
}

with_call_options!(ProviderRequest);

impl ProviderRequest {
    fn new(api: &AuthApi, method: Method, path: String) -> Self {
        Self {
            api: api.clone(),
            method,
            path,
            body: Ok(Body::default()),
            options: CallOptions::default(),
        }
    }

    /// What people are shown.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with("name", name.into())
    }

    /// The project's client id at the provider.
    pub fn client_id(self, id: impl Into<String>) -> Self {
        self.with("client_id", id.into())
    }

    /// The client secret.
    pub fn client_secret(self, secret: impl Into<String>) -> Self {
        self.with("client_secret", secret.into())
    }

    /// Other client ids whose tokens are accepted.
    pub fn acceptable_client_ids<T: Into<String>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.with_list("acceptable_client_ids", ids)
    }

    /// Requested scopes.
    pub fn scopes<T: Into<String>>(self, scopes: impl IntoIterator<Item = T>) -> Self {
        self.with_list("scopes", scopes)
    }

    /// Whether PKCE is used; default true.
    pub fn pkce(self, is_used: bool) -> Self {
        self.with("pkce_enabled", is_used)
    }

    /// Mapping of claims to user attributes, an object: a text names a claim, anything else is a constant.
    pub fn attribute_mapping(self, mapping: &impl Serialize) -> Self {
        self.with_data("attribute_mapping", mapping)
    }

    /// Additional claims to store.
    pub fn custom_claims<T: Into<String>>(self, claims: impl IntoIterator<Item = T>) -> Self {
        self.with_list("custom_claims_allowlist", claims)
    }

    /// Additional authorization parameters, an object of texts.
    pub fn authorization_params(self, params: &impl Serialize) -> Self {
        self.with_data("authorization_params", params)
    }

    /// Whether it is enabled; default true.
    pub fn enabled(self, is_enabled: bool) -> Self {
        self.with("enabled", is_enabled)
    }

    /// Whether users without an e-mail address may sign in.
    pub fn email_optional(self, is_optional: bool) -> Self {
        self.with("email_optional", is_optional)
    }

    /// OpenID Connect: the issuer.
    pub fn issuer(self, url: impl Into<String>) -> Self {
        self.with("issuer", url.into())
    }

    /// OpenID Connect: the discovery URL, if non-standard.
    pub fn discovery_url(self, url: impl Into<String>) -> Self {
        self.with("discovery_url", url.into())
    }

    /// OpenID Connect: whether the nonce check is skipped.
    pub fn skip_nonce_check(self, is_skipped: bool) -> Self {
        self.with("skip_nonce_check", is_skipped)
    }

    /// OAuth 2: the authorization URL.
    pub fn authorization_url(self, url: impl Into<String>) -> Self {
        self.with("authorization_url", url.into())
    }

    /// OAuth 2: the token URL.
    pub fn token_url(self, url: impl Into<String>) -> Self {
        self.with("token_url", url.into())
    }

    /// OAuth 2: the user info URL.
    pub fn userinfo_url(self, url: impl Into<String>) -> Self {
        self.with("userinfo_url", url.into())
    }

    /// OAuth 2: the JWKS URL.
    pub fn jwks_uri(self, url: impl Into<String>) -> Self {
        self.with("jwks_uri", url.into())
    }

    /// Makes or changes it.
    pub async fn send(self) -> Result<CustomProvider, AuthError> {
        let api = self.api.for_call(&self.options)?;
        let call = Call::new(self.method, self.path);
        api.json(call.body(self.body?.finish())).await
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.body = self.body.map(|body| body.with(name, value));
        self
    }

    fn with_list<T: Into<String>>(self, name: &str, items: impl IntoIterator<Item = T>) -> Self {
        let items: Vec<String> = items.into_iter().map(Into::into).collect();
        self.with(name, items)
    }

    fn with_data(mut self, name: &str, data: &impl Serialize) -> Self {
        let data = to_value(data);
        self.body = self.body.and_then(|body| Ok(body.with(name, data?)));
        self
    }
}

fn path(identifier: &str) -> String {
    format!("{PATH}/{}", segment(identifier))
}
