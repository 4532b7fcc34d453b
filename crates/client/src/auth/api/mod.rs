//! The calls of `/auth/v1`, one method each, stateless: for programs that store sessions themselves (a server in
//! cookies, say). [`Auth`](super::Auth) adds the session.

mod call;
mod factors;
mod passkeys;
mod refresh;
mod token;
mod user;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::AuthError;
use crate::call_options::CallOptions;
use crate::clock::Clock;
use crate::http::Http;
use crate::project_url::ProjectUrl;
use crate::session::Session;
use crate::user::User;
pub(crate) use call::{Call, segment};
pub(crate) use factors::code_response_body;
pub use factors::{Challenge, EnrolledFactor, EnrolledTotp};
pub use passkeys::{Passkey, PasskeyOptions};
pub use refresh::{ATTEMPT_TIMEOUT, MIN_BACKOFF_MS, RETRY_BUDGET_MS};
pub use user::Scope;

/// K11: the API version of responses that this client reads.
pub const API_VERSION: &str = "2024-01-01";

/// The stateless calls of one project's auth service. Cheap to clone.
#[derive(Clone)]
pub struct AuthApi(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    base: String,
    key: String,
    headers: HeaderMap,
    timeout: Option<Duration>,
    /// A header was invalid; reported by every call.
    is_unsendable: bool,
    http: Http,
}

/// A token response: a session, a user, both or neither.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenResponse {
    /// Present if the user is signed in now.
    pub session: Option<Session>,
    /// Present unless the response only confirms that a message was sent.
    pub user: Option<User>,
    /// The sign-in succeeded, but the password should be changed (S85).
    pub weak_password: Option<WeakPassword>,
}

/// A warning of a successful sign-in.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[non_exhaustive]
pub struct WeakPassword {
    /// The message.
    #[serde(default)]
    pub message: String,
    /// `length`, `characters`, `pwned`.
    #[serde(default)]
    pub reasons: Vec<String>,
}

impl AuthApi {
    /// Calls of the project at this URL, with its anonymous key.
    pub fn new(project_url: &ProjectUrl, key: &str, http: Http) -> Self {
        Self(Arc::new(Parts {
            base: project_url.service("auth/v1"),
            key: key.to_owned(),
            headers: HeaderMap::new(),
            timeout: None,
            is_unsendable: false,
            http,
        }))
    }

    /// The same with headers for every call.
    pub fn with_headers(self, headers: HeaderMap) -> Self {
        let mut parts = Parts::clone(&self.0);
        parts.headers.extend(headers);
        Self(Arc::new(parts))
    }

    /// The same with a timeout for every call.
    pub fn with_timeout(self, limit: Duration) -> Self {
        let mut parts = Parts::clone(&self.0);
        parts.timeout = Some(limit);
        Self(Arc::new(parts))
    }

    /// The same with a default timeout.
    pub(crate) fn or_timeout(&self, limit: Duration) -> Self {
        match self.0.timeout {
            Some(_) => self.clone(),
            None => self.clone().with_timeout(limit),
        }
    }

    /// The same for one call with options of its own.
    pub(crate) fn for_call(&self, options: &CallOptions) -> Result<Self, AuthError> {
        let api = self.with_options(options);
        if api.0.is_unsendable {
            Err(AuthError::InvalidInput("A header cannot be sent as given"))
        } else {
            Ok(api)
        }
    }

    /// The same with options for every call.
    pub(crate) fn with_options(&self, options: &CallOptions) -> Self {
        let has_none = options.timeout.is_none() && options.headers.is_empty();
        if has_none && !options.is_unsendable {
            return self.clone();
        }
        let mut parts = Parts::clone(&self.0);
        parts.timeout = options.timeout.or(parts.timeout);
        parts.is_unsendable |= options.is_unsendable;
        for (name, value) in &options.headers {
            parts.headers.insert(name, value.clone());
        }
        Self(Arc::new(parts))
    }

    /// Awaits shared work with the timeout of a call.
    pub(crate) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, AuthError>>,
    ) -> Result<T, AuthError> {
        self.0.http.within(self.0.timeout, work).await?
    }

    /// The clock for expiry and backoff.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.0.http.clock()
    }

    /// How far the server's clock is ahead of ours, in milliseconds (S14).
    pub fn clock_skew_ms(&self) -> Option<i64> {
        self.0.http.clock_skew_ms()
    }

    /// Where the service is: `https://…/auth/v1`.
    pub fn base_url(&self) -> &str {
        &self.0.base
    }

    /// Whether every call carries an `Authorization` header of the caller's.
    pub(crate) fn has_own_authorization(&self) -> bool {
        self.0.headers.contains_key(header::AUTHORIZATION)
    }

    fn bearer(&self, token: Option<&str>) -> Option<HeaderValue> {
        let token = token.unwrap_or(&self.0.key);
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    fn headers(&self, token: Option<&str>) -> Result<HeaderMap, AuthError> {
        if self.0.is_unsendable {
            return Err(AuthError::InvalidInput("A header cannot be sent as given"));
        }
        let unsendable =
            || AuthError::InvalidInput("The key or token has characters that cannot be sent");
        let mut headers = self.0.headers.clone();
        let mut default = |name: HeaderName, value: HeaderValue| {
            headers.entry(name).or_insert(value);
        };
        let mut key = HeaderValue::from_str(&self.0.key).map_err(|_| unsendable())?;
        key.set_sensitive(true);
        default(HeaderName::from_static("apikey"), key);
        let version = HeaderValue::from_static(API_VERSION);
        default(HeaderName::from_static("x-supabase-api-version"), version);
        if let Ok(info) = HeaderValue::from_str(&crate::http::client_info()) {
            default(HeaderName::from_static("x-client-info"), info);
        }
        let bearer = self.bearer(token).ok_or_else(unsendable)?;
        match token {
            // A user's token takes precedence.
            Some(_) => _ = headers.insert(header::AUTHORIZATION, bearer),
            None => _ = headers.entry(header::AUTHORIZATION).or_insert(bearer),
        }
        Ok(headers)
    }
}

/// The URL only: the key stays out of logs.
impl fmt::Debug for AuthApi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AuthApi")
            .field("key_length", &self.0.key.len())
            .finish_non_exhaustive()
    }
}
