//! OAuth clients of the project's OAuth server (client contract S80).

use std::fmt;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::super::AuthError;
use super::super::api::{AuthApi, Call};
use super::super::body::Body;
use super::checked_id;
use super::list::{Paging, linked_page, total};
use crate::call_options::{CallOptions, with_call_options, with_handle_options};

const PATH: &str = "/admin/oauth/clients";

/// An OAuth client.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct OauthClient {
    /// A UUID.
    pub client_id: String,
    /// Only present when the client is created or its secret regenerated.
    pub client_secret: Option<String>,
    /// `public` or `confidential`.
    pub client_type: String,
    /// Allowed redirect URLs.
    pub redirect_uris: Vec<String>,
    /// `none`, `client_secret_basic` or `client_secret_post`.
    pub token_endpoint_auth_method: String,
    /// `authorization_code`, `refresh_token`.
    pub grant_types: Vec<String>,
    /// `code`.
    pub response_types: Vec<String>,
    /// The display name.
    pub client_name: Option<String>,
    /// Its home page.
    pub client_uri: Option<String>,
    /// Its picture.
    pub logo_uri: Option<String>,
    /// `manual`, or `dynamic` if it registered itself.
    pub registration_type: String,
    /// As RFC 3339.
    pub created_at: Option<String>,
    /// As RFC 3339.
    pub updated_at: Option<String>,
}

/// The secret is not printed.
impl fmt::Debug for OauthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthClient")
            .field("client_id", &self.client_id)
            .field("client_name", &self.client_name)
            .field("client_type", &self.client_type)
            .field("redirect_uris", &self.redirect_uris)
            .finish_non_exhaustive()
    }
}

/// A page of applications.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OauthClientPage {
    /// The applications on it.
    pub clients: Vec<OauthClient>,
    /// How many there are on all pages.
    pub total: Option<u64>,
    /// The page after this one.
    pub next_page: Option<u64>,
    /// The last page.
    pub last_page: Option<u64>,
}

/// The project's applications; see [`AdminClient::oauth_clients`](super::AdminClient::oauth_clients).
#[derive(Clone, Debug)]
pub struct OauthClients {
    api: AuthApi,
}

with_handle_options!(OauthClients);

impl OauthClients {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            api: self.api.with_options(options),
        }
    }

    pub(super) fn new(api: &AuthApi) -> Self {
        Self { api: api.clone() }
    }

    /// Makes one that people may be sent back from to these addresses.
    pub fn create<U: Into<String>>(
        &self,
        redirect_uris: impl IntoIterator<Item = U>,
    ) -> OauthClientRequest {
        OauthClientRequest::new(&self.api, Method::POST, Ok(PATH.to_owned()))
            .redirect_uris(redirect_uris)
    }

    /// Changes what is named in the request, and nothing else.
    pub fn update(&self, client_id: &str) -> OauthClientRequest {
        OauthClientRequest::new(&self.api, Method::PUT, path(client_id, ""))
    }

    /// One of them.
    pub async fn get(&self, client_id: &str) -> Result<OauthClient, AuthError> {
        self.api.json(Call::get(path(client_id, "")?)).await
    }

    /// A page of them.
    pub fn list(&self) -> ListOauthClientsRequest {
        ListOauthClientsRequest {
            api: self.api.clone(),
            paging: Paging::default(),
            options: CallOptions::default(),
        }
    }

    /// Removes one. No user can sign in with it any more.
    pub async fn delete(&self, client_id: &str) -> Result<(), AuthError> {
        self.api.done(Call::delete(path(client_id, "")?)).await
    }

    /// Regenerates its secret; the old one becomes invalid.
    pub async fn regenerate_secret(&self, client_id: &str) -> Result<OauthClient, AuthError> {
        let path = path(client_id, "/regenerate_secret")?;
        self.api.json(Call::post(path, json!({}))).await
    }
}

/// Making or changing an application.
#[must_use = "nothing is sent before `send`"]
pub struct OauthClientRequest {
    api: AuthApi,
    method: Method,
    path: Result<String, AuthError>,
    body: Body,
    options: CallOptions,
}

with_call_options!(OauthClientRequest, ListOauthClientsRequest);

impl OauthClientRequest {
    fn new(api: &AuthApi, method: Method, path: Result<String, AuthError>) -> Self {
        Self {
            api: api.clone(),
            method,
            path,
            body: Body::default(),
            options: CallOptions::default(),
        }
    }

    /// Where people may be sent back to.
    pub fn redirect_uris<U: Into<String>>(self, uris: impl IntoIterator<Item = U>) -> Self {
        self.with_list("redirect_uris", uris)
    }

    /// What people are shown.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with("client_name", name.into())
    }

    /// Its home page.
    pub fn uri(self, uri: impl Into<String>) -> Self {
        self.with("client_uri", uri.into())
    }

    /// Its picture.
    pub fn logo_uri(self, uri: impl Into<String>) -> Self {
        self.with("logo_uri", uri.into())
    }

    /// A public client: an application in a browser or on a phone.
    pub fn public(self) -> Self {
        self.auth_method("none")
    }

    /// The authentication method: `client_secret_basic` (default), `client_secret_post` or `none`.
    pub fn auth_method(self, method: impl Into<String>) -> Self {
        self.with("token_endpoint_auth_method", method.into())
    }

    /// What it may ask tokens for: `authorization_code`, `refresh_token`.
    pub fn grant_types<G: Into<String>>(self, types: impl IntoIterator<Item = G>) -> Self {
        self.with_list("grant_types", types)
    }

    /// Makes or changes it.
    pub async fn send(self) -> Result<OauthClient, AuthError> {
        let api = self.api.for_call(&self.options)?;
        let call = Call::new(self.method, self.path?);
        api.json(call.body(self.body.finish())).await
    }

    fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.body.set(name, value);
        self
    }

    fn with_list<T: Into<String>>(self, name: &str, items: impl IntoIterator<Item = T>) -> Self {
        let items: Vec<String> = items.into_iter().map(Into::into).collect();
        self.with(name, items)
    }
}

/// Reading a page of applications; see [`OauthClients::list`].
#[must_use = "nothing is sent before `send`"]
pub struct ListOauthClientsRequest {
    api: AuthApi,
    paging: Paging,
    options: CallOptions,
}

impl ListOauthClientsRequest {
    /// Which page, counted from 1.
    pub fn page(mut self, page: u64) -> Self {
        self.paging.page = Some(page);
        self
    }

    /// How many a page has.
    pub fn per_page(mut self, clients: u64) -> Self {
        self.paging.per_page = Some(clients);
        self
    }

    /// Reads the page.
    pub async fn send(self) -> Result<OauthClientPage, AuthError> {
        #[derive(Deserialize)]
        struct Page {
            #[serde(default)]
            clients: Vec<OauthClient>,
        }

        let call = self.paging.of(Call::get(PATH));
        let response = self.api.for_call(&self.options)?.response(call).await?;
        let page: Page =
            serde_json::from_slice(&response.body).map_err(|_| AuthError::unreadable())?;
        Ok(OauthClientPage {
            clients: page.clients,
            total: total(&response),
            next_page: linked_page(&response, "next"),
            last_page: linked_page(&response, "last"),
        })
    }
}

fn path(client_id: &str, rest: &str) -> Result<String, AuthError> {
    Ok(format!("{PATH}/{}{rest}", checked_id(client_id)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let client: OauthClient = serde_json::from_value(json!({
            "client_id": "an id", "client_secret": "hush", "redirect_uris": ["https://a.example/"],
        }))
        .expect("a client");
        assert_eq!(client.client_secret.as_deref(), Some("hush"));
        let printed = format!("{client:?}");
        assert!(
            printed.contains("an id") && !printed.contains("hush"),
            "{printed}"
        );
    }
}
