//! One request to the auth service.

use std::time::Duration;

use http::{HeaderValue, Method, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AuthApi, TokenResponse};
use crate::auth::AuthError;
use crate::http::{HttpResponse, Outgoing};
use crate::json::Members;
use crate::session::{ExpiryPlace, Session};
use crate::user::User;

/// A request to the auth service.
#[derive(Clone)]
pub(crate) struct Call<'a> {
    method: Method,
    path: String,
    query: Vec<(&'a str, String)>,
    token: Option<&'a str>,
    body: Option<Value>,
    timeout: Option<Duration>,
    max_response_bytes: Option<usize>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            token: None,
            body: None,
            timeout: None,
            max_response_bytes: None,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path).body(body)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// With a user's access token.
    pub(crate) fn token(mut self, token: &'a str) -> Self {
        self.token = Some(token);
        self
    }

    pub(crate) fn query(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn redirect_to(self, url: Option<&str>) -> Self {
        match url {
            Some(url) => self.query("redirect_to", url),
            None => self,
        }
    }

    pub(crate) fn timeout(mut self, limit: Option<Duration>) -> Self {
        self.timeout = limit;
        self
    }

    pub(crate) fn at_most(mut self, bytes: usize) -> Self {
        self.max_response_bytes = Some(bytes);
        self
    }
}

impl AuthApi {
    /// The URL of a path with a query.
    pub(crate) fn url(&self, path: &str, query: &[(&str, String)]) -> String {
        let mut url = format!("{}{path}", self.0.base);
        for (at, (name, value)) in query.iter().enumerate() {
            url.push(if at == 0 { '?' } else { '&' });
            url.push_str(name);
            url.push('=');
            url.extend(url::form_urlencoded::byte_serialize(value.as_bytes()));
        }
        url
    }

    /// Sends a call. Anything but success is an error.
    pub(crate) async fn response(&self, call: Call<'_>) -> Result<HttpResponse, AuthError> {
        let mut request = Outgoing::new(call.method, self.url(&call.path, &call.query));
        request.headers = self.headers(call.token)?;
        request.timeout = call.timeout.or(self.0.timeout);
        if let Some(bytes) = call.max_response_bytes {
            request.max_response_bytes = bytes;
        }
        if let Some(body) = call.body {
            let json = HeaderValue::from_static("application/json;charset=UTF-8");
            request.headers.insert(header::CONTENT_TYPE, json);
            request.body = body.to_string().into();
        }
        let response = self.0.http.send(request).await?;
        if response.is_success() {
            Ok(response)
        } else {
            Err(AuthError::from_response(&response))
        }
    }

    /// Sends a call and parses the response.
    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, AuthError> {
        let response = self.response(call).await?;
        serde_json::from_slice(&response.body).map_err(|_| AuthError::unreadable())
    }

    /// Sends a call and ignores the response.
    pub(crate) async fn done(&self, call: Call<'_>) -> Result<(), AuthError> {
        self.response(call).await.map(drop)
    }

    /// Sends a call that may return a session.
    pub(crate) async fn tokens(&self, call: Call<'_>) -> Result<TokenResponse, AuthError> {
        self.tokens_with(call, ExpiryPlace::Last).await
    }

    pub(crate) async fn tokens_with(
        &self,
        call: Call<'_>,
        place: ExpiryPlace,
    ) -> Result<TokenResponse, AuthError> {
        let response = self.response(call).await?;
        let text = std::str::from_utf8(&response.body).map_err(|_| AuthError::unreadable())?;
        let members = Members::parse(text).ok_or_else(AuthError::unreadable)?;
        let weak_password = members.get("weak_password");
        Ok(TokenResponse {
            session: Session::from_token_response(text, self.clock().now_ms(), place),
            user: User::from_response(text),
            weak_password: weak_password.and_then(|advice| serde_json::from_str(advice).ok()),
        })
    }

    /// Sends a call that must return a session and its user.
    pub(crate) async fn session(&self, call: Call<'_>) -> Result<TokenResponse, AuthError> {
        let tokens = self.tokens(call).await?;
        match (&tokens.session, &tokens.user) {
            (Some(_), Some(_)) => Ok(tokens),
            _ => Err(AuthError::InvalidTokenResponse),
        }
    }

    /// Sends a call that returns a user.
    pub(crate) async fn user_of(&self, call: Call<'_>) -> Result<User, AuthError> {
        let response = self.response(call).await?;
        let text = std::str::from_utf8(&response.body).map_err(|_| AuthError::unreadable())?;
        serde_json::from_str::<&serde_json::value::RawValue>(text)
            .map_err(|_| AuthError::unreadable())?;
        User::from_response(text).ok_or(AuthError::InvalidTokenResponse)
    }
}

/// Encodes a value as a path segment.
pub(crate) fn segment(value: &str) -> String {
    // Unlike in a query, a space is %20.
    url::form_urlencoded::byte_serialize(value.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}
