//! Configuring a layer (A1) and rejecting unsafe configurations (A31).

mod checks;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plinth_client::auth::{ATTEMPT_TIMEOUT, AuthApi, JwksCache};
use plinth_client::{BoxFuture, Clock, Http, ProjectUrl, SystemClock};
use plinth_token::Secret;

use crate::backend::{AuthBackend, HttpBackend};
use crate::config::Config;
use crate::cookie::{CookieOptions, Encoding, Limits};
use crate::csrf::CsrfPolicy;
use crate::layer::SessionLayer;
use crate::refresh::RefreshCoordinator;
use crate::runtime::SessionRuntime;
use crate::verify::{ClaimRules, TokenVerifier};
pub use checks::ConfigError;
use checks::{all, check_cookie, network, origin, path, redirect};

/// How much of a session is stored in cookies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionEncoding {
    /// The tokens and the user, the default of `@supabase/ssr`.
    #[default]
    UserAndTokens,
    /// The tokens only, for users with large metadata. The client in the browser must be configured the
    /// same way (C25).
    TokensOnly,
}

enum Issuer {
    OfProject,
    Named(String),
    Anybody,
}

/// Configures a [`SessionLayer`]; see [`SessionLayer::builder`].
#[must_use = "nothing happens before build()"]
pub struct SessionLayerBuilder {
    project_url: String,
    anon_key: Secret,
    cookie_name: Option<String>,
    cookie_options: CookieOptions,
    encoding: Encoding,
    session_encoding: SessionEncoding,
    limits: Limits,
    jwks: Option<Arc<JwksCache>>,
    hs256_secret: Option<Secret>,
    issuer: Issuer,
    audience: String,
    roles: Vec<String>,
    csrf: CsrfPolicy,
    public_url: Option<String>,
    allowed_origins: Vec<String>,
    allowed_redirects: Vec<String>,
    trusted_proxies: Vec<String>,
    allow_insecure: bool,
    strict_revocation: bool,
    sign_in_path: Option<String>,
    mfa_path: Option<String>,
    refresh_wait: Duration,
    coordinator: Option<Arc<dyn RefreshCoordinator>>,
    backend: Option<Arc<dyn AuthBackend>>,
    http: Option<Http>,
    clock: Arc<dyn Clock>,
    runtime: SessionRuntime,
}

impl SessionLayerBuilder {
    pub(crate) fn new(project_url: impl Into<String>, anon_key: impl Into<Secret>) -> Self {
        Self {
            project_url: project_url.into(),
            anon_key: anon_key.into(),
            cookie_name: None,
            cookie_options: CookieOptions::default(),
            encoding: Encoding::default(),
            session_encoding: SessionEncoding::default(),
            limits: Limits::default(),
            jwks: None,
            hs256_secret: None,
            issuer: Issuer::OfProject,
            audience: "authenticated".to_owned(),
            roles: vec!["authenticated".to_owned()],
            csrf: CsrfPolicy::default(),
            public_url: None,
            allowed_origins: Vec::new(),
            allowed_redirects: Vec::new(),
            trusted_proxies: Vec::new(),
            allow_insecure: false,
            strict_revocation: false,
            sign_in_path: None,
            mfa_path: None,
            refresh_wait: Duration::from_secs(5),
            coordinator: None,
            backend: None,
            http: None,
            clock: Arc::new(SystemClock),
            runtime: SessionRuntime::of_process(),
        }
    }

    pub(crate) fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let url = variable("SUPABASE_URL").ok_or(ConfigError::Environment("SUPABASE_URL"))?;
        let key = variable("SUPABASE_PUBLISHABLE_KEY").or_else(|| variable("SUPABASE_ANON_KEY"));
        let key = key.ok_or(ConfigError::Environment("SUPABASE_PUBLISHABLE_KEY"))?;
        Ok(Self::new(url, key))
    }

    /// The cookie's name, which is the storage key of the JavaScript clients. By default
    /// `sb-<first part of the project's host>-auth-token`; set it on both sides where that is not
    /// unique, as with IP addresses and hosts called `api.…` (S6), or to `__Host-…` (A29).
    pub fn cookie_name(mut self, name: impl Into<String>) -> Self {
        self.cookie_name = Some(name.into());
        self
    }

    /// Cookie attributes.
    pub fn cookie_options(mut self, options: CookieOptions) -> Self {
        self.cookie_options = options;
        self
    }

    /// How values are encoded. All encodings are read.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// How much of a session is written. All forms are read.
    pub fn encode(mut self, encoding: SessionEncoding) -> Self {
        self.session_encoding = encoding;
        self
    }

    /// Limits for received cookies.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// A key cache shared with other clients of the same project.
    pub fn jwks(mut self, keys: Arc<JwksCache>) -> Self {
        self.jwks = Some(keys);
        self
    }

    /// The project's shared secret, if it signs tokens with one: they are then verified locally. Without it
    /// each of them is checked with the auth service.
    pub fn hs256_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.hs256_secret = Some(secret.into());
        self
    }

    /// The expected issuer of tokens, if not `<project URL>/auth/v1`.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Issuer::Named(issuer.into());
        self
    }

    /// Accepts tokens of any issuer with a valid signature, for projects that are reachable under several
    /// URLs.
    pub fn any_issuer(mut self) -> Self {
        self.issuer = Issuer::Anybody;
        self
    }

    /// The expected audience of tokens. Default `authenticated`.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audience = audience.into();
        self
    }

    /// Accepts users of another role, besides `authenticated`.
    pub fn allow_role(mut self, role: impl Into<String>) -> Self {
        self.roles.push(role.into());
        self
    }

    /// How cookie-authenticated changes from other origins are handled.
    pub fn csrf(mut self, policy: CsrfPolicy) -> Self {
        self.csrf = policy;
        self
    }

    /// The URL of this application as browsers see it: `https://app.example.com`. Set it in production: it
    /// defines the own origin and whether cookies are `Secure`. A path is ignored.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Other origins that may send changes.
    pub fn allowed_origins<T: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = T>,
    ) -> Self {
        self.allowed_origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Absolute URLs to which users may be redirected after signing in. Paths of this host always may.
    pub fn allowed_redirects<T: Into<String>>(mut self, urls: impl IntoIterator<Item = T>) -> Self {
        self.allowed_redirects = urls.into_iter().map(Into::into).collect();
        self
    }

    /// Addresses of proxies whose `X-Forwarded-Proto` and `X-Forwarded-Host` are trusted if no public URL is
    /// set. The peer's address comes from axum's `ConnectInfo<SocketAddr>`.
    pub fn trusted_proxies<T: Into<String>>(
        mut self,
        networks: impl IntoIterator<Item = T>,
    ) -> Self {
        self.trusted_proxies = networks.into_iter().map(Into::into).collect();
        self
    }

    /// Writes session cookies also over plain http across a network, where they can be intercepted.
    pub fn allow_insecure(mut self, allow: bool) -> Self {
        self.allow_insecure = allow;
        self
    }

    /// Checks with the auth service before every change whether the session still exists, so that a revoked
    /// session ends at once and not when its access token expires (A19).
    pub fn strict_revocation(mut self, strict: bool) -> Self {
        self.strict_revocation = strict;
        self
    }

    /// Redirects unauthenticated page views to this path with `?next=…`; without it, and for script
    /// requests, the response is 401.
    pub fn sign_in_path(mut self, path: impl Into<String>) -> Self {
        self.sign_in_path = Some(path.into());
        self
    }

    /// The same for users whose second factor is missing.
    pub fn mfa_path(mut self, path: impl Into<String>) -> Self {
        self.mfa_path = Some(path.into());
        self
    }

    /// How long a request waits for a refresh before it continues without. Default 5 s (A23).
    pub fn refresh_wait(mut self, wait: Duration) -> Self {
        self.refresh_wait = wait;
        self
    }

    /// A lock around refreshes, for several processes.
    pub fn coordinator(mut self, coordinator: Arc<dyn RefreshCoordinator>) -> Self {
        self.coordinator = Some(coordinator);
        self
    }

    /// Replaces the HTTP backend.
    pub fn backend(mut self, backend: Arc<dyn AuthBackend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// How requests to the project are sent.
    pub fn http(mut self, http: Http) -> Self {
        self.http = Some(http);
        self
    }

    /// The clock by which tokens expire.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// State that is not shared with the other layers of the process.
    pub fn runtime(mut self, runtime: SessionRuntime) -> Self {
        self.runtime = runtime;
        self
    }

    /// Validates the configuration and builds the layer. A server of many projects can build one for each:
    /// with a shared [`Http`] it is cheap.
    pub fn build(self) -> Result<SessionLayer, ConfigError> {
        let project_url = ProjectUrl::parse(&self.project_url)?;
        let key = self
            .cookie_name
            .unwrap_or_else(|| project_url.storage_key());
        let public_origin = self.public_url.map(origin).transpose()?;
        check_cookie(&key, &self.cookie_options, public_origin.as_ref())?;
        if public_origin.is_none() && self.trusted_proxies.is_empty() {
            tracing::warn!(
                "the session layer has no public URL: cookies are Secure except on loopback, and the \
                 CSRF check relies on Sec-Fetch-Site and allowed_origins"
            );
        }

        let service = project_url.service("auth/v1");
        let issuer = match self.issuer {
            Issuer::OfProject => Some(service.clone()),
            Issuer::Named(issuer) => Some(issuer),
            Issuer::Anybody => None,
        };
        let http = self
            .http
            .unwrap_or_default()
            .with_clock(Shared(Arc::clone(&self.clock)));
        let jwks = self.jwks.unwrap_or_default();
        let backend = self.backend.unwrap_or_else(|| {
            let api = AuthApi::new(&project_url, self.anon_key.expose(), http.clone())
                .with_timeout(ATTEMPT_TIMEOUT);
            Arc::new(HttpBackend::new(api, Arc::clone(&jwks)))
        });
        let tokens = TokenVerifier::new(
            Arc::clone(&backend),
            self.runtime.token_cache().clone(),
            service,
            ClaimRules {
                issuer,
                audience: self.audience,
                roles: self.roles,
            },
            self.limits.max_token_bytes,
            self.hs256_secret.as_ref(),
        );
        Ok(SessionLayer::new(Config {
            project_url: self.project_url,
            anon_key: self.anon_key,
            key,
            cookie_options: self.cookie_options,
            encoding: self.encoding,
            session_encoding: self.session_encoding,
            limits: self.limits,
            csrf: self.csrf,
            public_origin,
            allowed_origins: all(self.allowed_origins, origin)?,
            allowed_redirects: all(self.allowed_redirects, redirect)?,
            trusted_proxies: all(self.trusted_proxies, network)?,
            allow_insecure: self.allow_insecure,
            strict_revocation: self.strict_revocation,
            sign_in_path: self.sign_in_path.map(path).transpose()?,
            mfa_path: self.mfa_path.map(path).transpose()?,
            refresh_wait: self.refresh_wait,
            coordinator: self.coordinator,
            backend,
            http,
            jwks,
            tokens: tokens.map_err(|_| ConfigError::Secret)?,
            clock: self.clock,
            runtime: self.runtime,
        }))
    }
}

/// Adapter for a shared clock.
#[derive(Debug)]
struct Shared(Arc<dyn Clock>);

impl Clock for Shared {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.0.sleep(duration)
    }
}

/// Secrets are not printed.
impl fmt::Debug for SessionLayerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SessionLayerBuilder")
            .field("project_url", &self.project_url)
            .field("cookie_name", &self.cookie_name)
            .field("cookie_options", &self.cookie_options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> SessionLayerBuilder {
        SessionLayer::builder("https://abc.example.co", "anon")
    }

    #[test]
    fn the_defaults_are_those_of_the_product() {
        let layer = builder().build().unwrap();
        let config = layer.config();

        assert_eq!(config.key, "sb-abc-auth-token");
        assert_eq!(
            config.tokens.rules.issuer.as_deref(),
            Some("https://abc.example.co/auth/v1")
        );
        assert_eq!(config.tokens.rules.audience, "authenticated");
        assert_eq!(config.tokens.rules.roles, ["authenticated"]);
        assert_eq!(config.refresh_wait, Duration::from_secs(5));
        assert_eq!(
            (config.csrf, config.encoding),
            (CsrfPolicy::Enforce, Encoding::Base64Url)
        );
    }

    #[test]
    fn the_environment_names_the_project_and_its_public_key() {
        let from = |variables: &[(&str, &str)]| {
            SessionLayerBuilder::from_variables(|name| {
                let found = variables
                    .iter()
                    .find(|(token_cache, _)| *token_cache == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let url = ("SUPABASE_URL", "http://localhost:54321");
        let key = ("SUPABASE_PUBLISHABLE_KEY", "sb_publishable_x");
        let old = ("SUPABASE_ANON_KEY", "old");

        let builder = from(&[url, old, key]).unwrap();
        assert_eq!(builder.anon_key.expose(), "sb_publishable_x");
        assert_eq!(
            builder.build().unwrap().cookie_name(),
            "sb-localhost-auth-token"
        );
        assert_eq!(from(&[url, old]).unwrap().anon_key.expose(), "old");
        let missing = |variables: &[(&str, &str)]| from(variables).unwrap_err();
        assert_eq!(missing(&[key]), ConfigError::Environment("SUPABASE_URL"));
        let empty = ("SUPABASE_ANON_KEY", "");
        assert_eq!(
            missing(&[url, empty]),
            ConfigError::Environment("SUPABASE_PUBLISHABLE_KEY")
        );
    }

    #[test]
    fn projects_below_a_path_have_an_issuer_there() {
        let layer = SessionLayer::builder("http://localhost:54321/p/abc", "anon");
        let layer = layer.cookie_name("sb-abc-auth-token").build().unwrap();

        let issuer = layer.config().tokens.rules.issuer.as_deref();
        assert_eq!(issuer, Some("http://localhost:54321/p/abc/auth/v1"));
    }

    #[test]
    fn secrets_are_not_printed() {
        let printed = format!("{:?}", builder().hs256_secret("open sesame"));
        assert!(
            !printed.contains("sesame") && !printed.contains("anon\""),
            "{printed}"
        );
    }
}
