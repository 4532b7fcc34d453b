//! The checked settings of a layer.

use std::sync::Arc;
use std::time::Duration;

use http::{Extensions, HeaderMap};
use plinth_client::auth::JwksCache;
use plinth_client::{Client, ClientBuilder, Clock, Http};
use plinth_token::Secret;
use url::Url;

use crate::backend::AuthBackend;
use crate::builder::SessionEncoding;
use crate::cookie::{CookieOptions, Encoding, Limits};
use crate::csrf::CsrfPolicy;
use crate::network::Network;
use crate::origin::{Origin, Transport};
use crate::refresh::RefreshCoordinator;
use crate::runtime::SessionRuntime;
use crate::verify::TokenChecker;

/// Everything that a request is held against. One per project, shared by all its requests.
pub(crate) struct Config {
    pub(crate) project_url: String,
    pub(crate) anon_key: Secret,
    /// The cookie's name, which is the storage key.
    pub(crate) key: String,
    pub(crate) cookie_options: CookieOptions,
    pub(crate) encoding: Encoding,
    pub(crate) session_encoding: SessionEncoding,
    pub(crate) limits: Limits,
    pub(crate) csrf: CsrfPolicy,
    pub(crate) public_origin: Option<Origin>,
    pub(crate) allowed_origins: Vec<Origin>,
    pub(crate) allowed_redirects: Vec<Url>,
    pub(crate) trusted_proxies: Vec<Network>,
    pub(crate) allow_insecure: bool,
    pub(crate) strict_revocation: bool,
    pub(crate) sign_in_path: Option<String>,
    pub(crate) mfa_path: Option<String>,
    pub(crate) refresh_wait: Duration,
    pub(crate) coordinator: Option<Arc<dyn RefreshCoordinator>>,
    pub(crate) backend: Arc<dyn AuthBackend>,
    /// How the SDK clients of handlers reach the project.
    pub(crate) http: Http,
    pub(crate) jwks: Arc<JwksCache>,
    pub(crate) tokens: TokenChecker,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) runtime: SessionRuntime,
}

impl Config {
    /// What tells this project's credentials apart from others' in shared memory.
    pub(crate) fn project(&self) -> &str {
        &self.tokens.project
    }

    /// A client of the project for one request.
    pub(crate) fn client(&self) -> ClientBuilder {
        Client::builder(&self.project_url, self.anon_key.expose())
            .shared_http(self.http.clone())
            .jwks(Arc::clone(&self.jwks))
            .storage_key(&self.key)
            .auto_refresh(false)
    }

    /// Where this request arrived, as far as anybody may be believed.
    pub(crate) fn origin(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<Origin> {
        match &self.public_origin {
            Some(origin) => Some(origin.clone()),
            None => Origin::from_proxy(headers, extensions, &self.trusted_proxies),
        }
    }

    /// The attributes of cookies for a request that came this way; nothing where none may be
    /// written.
    pub(crate) fn options_for(&self, transport: Transport) -> Option<CookieOptions> {
        let by_default = match transport {
            Transport::Open => false,
            Transport::Secure => true,
            Transport::Refused => return None,
        };
        let secure = self.cookie_options.secure.unwrap_or(by_default);
        Some(self.cookie_options.clone().secure(secure))
    }
}
