//! The validated settings of a layer.

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
use crate::verify::TokenVerifier;

/// Settings of one project's layer, shared by all requests.
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
    pub(crate) tokens: TokenVerifier,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) runtime: SessionRuntime,
}

impl Config {
    /// Identifies the project in shared caches.
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

    /// The origin of this application, as far as it can be trusted.
    pub(crate) fn origin(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<Origin> {
        match &self.public_origin {
            Some(origin) => Some(origin.clone()),
            None => Origin::from_proxy(headers, extensions, &self.trusted_proxies),
        }
    }

    /// Cookie attributes for this transport; `None` where no cookies may be written.
    pub(crate) fn options_for(&self, transport: Transport) -> Option<CookieOptions> {
        let by_default = match transport {
            Transport::Open => false,
            Transport::Secure => true,
            Transport::Rejected => return None,
        };
        let secure = self.cookie_options.secure.unwrap_or(by_default);
        Some(self.cookie_options.clone().secure(secure))
    }
}
