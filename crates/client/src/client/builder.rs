//! Configuring a client.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;

use super::{Base, Client, ThirdParty, TokenSource};
use crate::auth::{
    Auth, AuthApi, AuthError, Engine, FlowType, JwksCache, SessionBus, SessionRefresher, Settings,
    Visibility, of_page,
};
use crate::call_options::CallOptions;
use crate::clock::Clock;
use crate::http::{Http, HttpService};
use crate::project_url::ProjectUrl;
use crate::runtime::{MaybeSend, MaybeSync};
use crate::store::{MemoryStore, SessionStore};
use crate::trace_context::{CurrentTrace, TraceContext};

/// Configures a client; see [`Client::builder`].
///
/// ```
/// use plinth_client::{Client, FileStore};
///
/// # fn main() -> Result<(), plinth_client::AuthError> {
/// let client = Client::builder("http://localhost:54321", "anon-key")
///     .session_store(FileStore::new("/tmp/my-tool/session"))
///     .header("x-app", "my-tool")
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is made before `build`"]
pub struct ClientBuilder {
    url: String,
    key: String,
    storage_key: Option<String>,
    store: Option<Arc<dyn SessionStore>>,
    user_store: Option<Arc<dyn SessionStore>>,
    auto_refresh: bool,
    visibility: Option<Arc<dyn Visibility>>,
    append_flow_id: bool,
    bus: Option<Arc<dyn SessionBus>>,
    keys: Option<Arc<JwksCache>>,
    refresher: Option<Arc<dyn SessionRefresher>>,
    http: Option<Http>,
    trace: Option<Arc<dyn CurrentTrace>>,
    options: CallOptions,
    retry: bool,
    schema: Option<String>,
    #[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
    realtime: crate::realtime::RealtimeOptions,
}

impl ClientBuilder {
    pub(super) fn new(url: &str, key: &str) -> Self {
        Self {
            url: url.to_owned(),
            key: key.to_owned(),
            storage_key: None,
            store: None,
            user_store: None,
            auto_refresh: true,
            visibility: None,
            append_flow_id: false,
            bus: None,
            keys: None,
            refresher: None,
            http: None,
            trace: None,
            options: CallOptions::default(),
            retry: true,
            schema: None,
            #[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
            realtime: crate::realtime::RealtimeOptions::new(),
        }
    }

    /// Where the session is stored. Default: in memory.
    pub fn session_store(mut self, store: impl SessionStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Stores users apart from their sessions, which keeps those small.
    pub fn user_store(mut self, store: impl SessionStore) -> Self {
        self.user_store = Some(Arc::new(store));
        self
    }

    /// The storage key of the session. The default is derived from the first label of the host, which several
    /// projects may share: set one where hosts are called `api.…` or are IP addresses.
    pub fn storage_key(mut self, key: impl Into<String>) -> Self {
        self.storage_key = Some(key.into());
        self
    }

    /// Whether the session is refreshed in the background, checked every 30 s. Default true; either way it is
    /// refreshed when it is used.
    pub fn auto_refresh(mut self, is_on: bool) -> Self {
        self.auto_refresh = is_on;
        self
    }

    /// Reports whether the application is visible; the session is not refreshed in the background while it is
    /// hidden. In a browser the page's visibility is used by default.
    pub fn visibility(mut self, visibility: impl Visibility) -> Self {
        self.visibility = Some(Arc::new(visibility));
        self
    }

    /// The flow of sign-ins that leave the program. There is only one: JavaScript's `implicit` puts tokens into
    /// URLs.
    pub fn flow(self, flow: FlowType) -> Self {
        match flow {
            FlowType::Pkce => self,
        }
    }

    /// Adds a flow id to the redirect URL of each sign-in (`sb_flow_id`), so that several can be pending at
    /// once.
    pub fn append_flow_id(mut self, is_on: bool) -> Self {
        self.append_flow_id = is_on;
        self
    }

    /// Shares session events with other processes that have the same session.
    pub fn session_bus(mut self, bus: impl SessionBus) -> Self {
        self.bus = Some(Arc::new(bus));
        self
    }

    /// Delegates refreshes, for many clients at once.
    pub fn refresher(mut self, refresher: impl SessionRefresher) -> Self {
        self.refresher = Some(Arc::new(refresher));
        self
    }

    /// Shares published keys with other clients of the same project.
    pub fn jwks(mut self, cache: Arc<JwksCache>) -> Self {
        self.keys = Some(cache);
        self
    }

    /// Uses a custom reqwest client. It should not follow redirects to other hosts: their responses are
    /// rejected.
    pub fn http(mut self, client: reqwest::Client) -> Self {
        let clock = self.http.take().map(|http| http.clock().clone());
        self.http = Some(Http::with_reqwest(client).with_shared_clock(clock));
        self
    }

    /// Uses a custom tower service.
    pub fn http_service(mut self, service: impl HttpService) -> Self {
        let clock = self.http.take().map(|http| http.clock().clone());
        self.http = Some(Http::with_service(service).with_shared_clock(clock));
        self
    }

    /// Shares connections and clock with other clients.
    pub fn shared_http(mut self, http: Http) -> Self {
        self.http = Some(http);
        self
    }

    /// Replaces the system clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.http = Some(self.http.unwrap_or_default().with_clock(clock));
        self
    }

    /// Propagates traces to the project's services: every request to the project carries the trace that this
    /// function returns.
    ///
    /// ```
    /// use plinth_client::{Client, TraceContext};
    ///
    /// # fn main() -> Result<(), plinth_client::AuthError> {
    /// let client = Client::builder("http://localhost:54321", "anon-key")
    ///     .trace_propagation(|| {
    ///         // Ask your tracing library here.
    ///         let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned();
    ///         Some(TraceContext { traceparent, ..TraceContext::default() })
    ///     })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn trace_propagation<F>(mut self, current: F) -> Self
    where
        F: Fn() -> Option<TraceContext> + MaybeSend + MaybeSync + 'static,
    {
        self.trace = Some(Arc::new(current));
        self
    }

    /// Sends a header with every request.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.options.set_header(name, value);
        self
    }

    /// Sets the default timeout of requests. There is none otherwise.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout = Some(limit);
        self
    }

    /// Whether database reads are retried after temporary server errors. Default true.
    pub fn retry(mut self, is_on: bool) -> Self {
        self.retry = is_on;
        self
    }

    /// The database schema, where it is not the server's default.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = Some(name.into());
        self
    }

    /// Realtime options.
    #[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
    pub fn realtime(mut self, options: crate::realtime::RealtimeOptions) -> Self {
        self.realtime = options;
        self
    }

    /// Builds the client.
    pub fn build(self) -> Result<Client, AuthError> {
        let (base, url) = self.base()?;
        let mut api = AuthApi::new(&url, &base.key, base.http.clone());
        api = api.with_headers(base.headers.clone());
        if let Some(limit) = base.timeout {
            api = api.with_timeout(limit);
        }
        let settings = Settings {
            storage_key: self.storage_key.unwrap_or_else(|| url.storage_key()),
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::new())),
            user_store: self.user_store,
            auto_refresh: self.auto_refresh,
            visibility: self.visibility.or_else(of_page),
            append_flow_id: self.append_flow_id,
            bus: self.bus,
            refresher: self.refresher.unwrap_or_else(|| Arc::new(api.clone())),
        };
        let engine = Engine::new(api, self.keys.unwrap_or_default(), settings);
        let auth = Auth::new(engine);
        let tokens: Arc<dyn TokenSource> = Arc::new(auth.clone());
        let base = Arc::new(base);
        Ok(Client {
            #[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
            realtime: crate::realtime::Realtime::new(
                base.clone(),
                tokens.clone(),
                Some(auth.clone()),
                self.realtime,
            ),
            base,
            tokens,
            auth,
        })
    }

    /// Builds a client for users of a third-party auth service. It calls this function for the access token of each
    /// request, and has no `auth()`.
    ///
    /// ```
    /// use plinth_client::Client;
    ///
    /// # fn main() -> Result<(), plinth_client::AuthError> {
    /// let client = Client::builder("http://localhost:54321", "anon-key")
    ///     .access_token(|| async { Some("token-of-the-other-service".to_owned()) })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Signing in belongs to the other service, so this does not compile:
    ///
    /// ```compile_fail,E0599
    /// use plinth_client::Client;
    ///
    /// # fn main() -> Result<(), plinth_client::AuthError> {
    /// let client = Client::builder("http://localhost:54321", "anon-key")
    ///     .access_token(|| async { Some("token-of-the-other-service".to_owned()) })?;
    /// client.auth();
    /// # Ok(())
    /// # }
    /// ```
    pub fn access_token<F, T>(self, give: F) -> Result<Client<ThirdParty>, AuthError>
    where
        F: Fn() -> T + MaybeSend + MaybeSync + 'static,
        T: Future<Output = Option<String>> + MaybeSend + 'static,
    {
        let (base, _) = self.base()?;
        let auth = ThirdParty::new(give);
        let tokens: Arc<dyn TokenSource> = Arc::new(auth.clone());
        let base = Arc::new(base);
        Ok(Client {
            #[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
            realtime: crate::realtime::Realtime::new(
                base.clone(),
                tokens.clone(),
                None,
                self.realtime,
            ),
            base,
            tokens,
            auth,
        })
    }

    fn base(&self) -> Result<(Base, ProjectUrl), AuthError> {
        let url = ProjectUrl::parse(&self.url)?;
        if self.key.is_empty() || HeaderValue::from_str(&self.key).is_err() {
            return Err(AuthError::InvalidInput(
                "The project's key is missing or malformed",
            ));
        }
        if self.options.is_unsendable {
            return Err(AuthError::InvalidInput("A header cannot be sent as given"));
        }
        warn_of_unknown_key(&self.key);
        let base = Base {
            url: url.clone(),
            key: self.key.clone(),
            headers: self.options.headers.clone(),
            http: self
                .http
                .clone()
                .unwrap_or_default()
                .with_trace(self.trace.clone()),
            timeout: self.options.timeout,
            retry: self.retry,
            schema: self.schema.clone(),
        };
        Ok((base, url))
    }
}

/// Warns once about a key of an unknown kind (R4). It is sent as given.
fn warn_of_unknown_key(key: &str) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    if is_of_unknown_kind(key) {
        ONCE.call_once(|| tracing::warn!("the project's API key is of an unknown kind"));
    }
}

fn is_of_unknown_kind(key: &str) -> bool {
    let kind = key
        .strip_prefix("sb_")
        .and_then(|rest| rest.split_once('_'));
    kind.is_some_and(|(kind, _)| !matches!(kind, "publishable" | "secret"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_kinds_of_keys_are_distinguished() {
        assert!(!is_of_unknown_kind("sb_publishable_x"));
        assert!(!is_of_unknown_kind("sb_secret_x"));
        assert!(!is_of_unknown_kind("eyJhbGciOi.x.y"));
        assert!(is_of_unknown_kind("sb_temporary_x"));
    }
}
