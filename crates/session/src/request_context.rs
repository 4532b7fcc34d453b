//! What one request carries through the layer: session, cookies and origin of the request, headers
//! of the response (client contract §4.2, A10–A14).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderValue, header, request::Parts};

use crate::config::Config;
use crate::cookie_jar::CookieJar;
use crate::csrf::{self, CsrfPolicy};
use crate::metrics;
use crate::origin::Transport;
use crate::resolve::bearer_token;
use crate::session::SessionState;

/// A response that sets session cookies must never be cached (C23).
const NO_CACHING: [(header::HeaderName, &str); 3] = [
    (
        header::CACHE_CONTROL,
        "private, no-cache, no-store, must-revalidate, max-age=0",
    ),
    (header::EXPIRES, "0"),
    (header::PRAGMA, "no-cache"),
];

/// Stored in the request's extensions for extractors. Clones share the state.
#[derive(Clone)]
pub(crate) struct RequestContext(Arc<Inner>);

struct Inner {
    config: Arc<Config>,
    state: SessionState,
    cookie_jar: Mutex<CookieJar>,
    transport: Transport,
    /// Authenticated by a bearer token; cookies are ignored (A5).
    is_bearer: bool,
    /// The request changes nothing, or comes from an allowed origin.
    is_allowed_origin: bool,
    was_read: AtomicBool,
}

impl RequestContext {
    /// Resolves the session of a request, and rewrites its `Cookie` header to what the browser will
    /// have after the response.
    pub(crate) async fn resolve(config: Arc<Config>, parts: &mut Parts) -> Self {
        let origin = config.origin(&parts.headers, &parts.extensions);
        let transport = Transport::of(origin.as_ref(), &parts.headers, config.allow_insecure);
        let mut cookie_jar = CookieJar::default();
        let bearer = bearer_token(&parts.headers);
        let is_bearer = bearer.is_some();
        let mut state = match bearer {
            Some(token) => config.resolve_bearer(token).await,
            None => {
                cookie_jar = CookieJar::read(&parts.headers, &config.key, &config.limits);
                config.resolve_cookies(&mut cookie_jar, transport).await
            }
        };

        let may_change = csrf::may_change_state(&parts.method, &parts.headers);
        let is_allowed_origin = !may_change
            || config.csrf == CsrfPolicy::Off
            || csrf::is_allowed_origin(&parts.headers, origin.as_ref(), &config.allowed_origins);
        if config.strict_revocation && may_change && (is_bearer || is_allowed_origin) {
            state = config.confirm(&mut cookie_jar, state).await;
        }
        metrics::request(state.name());

        let context = Self(Arc::new(Inner {
            config,
            state,
            cookie_jar: Mutex::new(cookie_jar),
            transport,
            is_bearer,
            is_allowed_origin,
            was_read: AtomicBool::new(false),
        }));
        context.rewrite_request_cookies(&mut parts.headers);
        context
    }

    /// Whether it is a cookie-authenticated change from another origin (A32).
    pub(crate) fn is_forged(&self) -> bool {
        let is_recognised = !matches!(self.0.state, SessionState::Anonymous);
        is_recognised && !self.0.is_bearer && !self.0.is_allowed_origin
    }

    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.0.config
    }

    /// The session state. From now on the response depends on it.
    pub(crate) fn read_state(&self) -> &SessionState {
        self.0.was_read.store(true, Ordering::Relaxed);
        &self.0.state
    }

    pub(crate) fn is_bearer(&self) -> bool {
        self.0.is_bearer
    }

    pub(crate) fn is_allowed_origin(&self) -> bool {
        self.0.is_allowed_origin
    }

    pub(crate) fn cookie_jar(&self) -> MutexGuard<'_, CookieJar> {
        self.0
            .cookie_jar
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Inner services see the cookies of the next request, and respond in full: a 304 would deliver the new
    /// cookies with a stale page.
    fn rewrite_request_cookies(&self, headers: &mut HeaderMap) {
        let Some(options) = self.0.config.options_for(self.0.transport) else {
            return;
        };
        let cookie_jar = self.cookie_jar();
        let writes = cookie_jar.writes(&options, self.0.config.encoding);
        if writes.is_empty() {
            return;
        }
        match cookie_jar.next_header(&writes) {
            Some(cookies) => _ = headers.insert(header::COOKIE, cookies),
            None => _ = headers.remove(header::COOKIE),
        }
        headers.remove(header::IF_NONE_MATCH);
        headers.remove(header::IF_MODIFIED_SINCE);
    }

    /// Adds `Set-Cookie` and caching headers (A13).
    pub(crate) fn write_response_headers(&self, headers: &mut HeaderMap) {
        if self.write_cookies(headers) {
            for (name, value) in NO_CACHING {
                headers.insert(name, HeaderValue::from_static(value));
            }
            add_vary_cookie(headers);
        } else if self.0.was_read.load(Ordering::Relaxed) {
            headers
                .entry(header::CACHE_CONTROL)
                .or_insert(HeaderValue::from_static("private, no-store"));
            add_vary_cookie(headers);
        }
    }

    /// Appends one `Set-Cookie` per change; returns whether there was any.
    fn write_cookies(&self, headers: &mut HeaderMap) -> bool {
        let config = &self.0.config;
        let options = config.options_for(self.0.transport);
        let planned = options.clone().unwrap_or_default();
        let writes = self.cookie_jar().writes(&planned, config.encoding);
        if writes.is_empty() {
            return false;
        }
        let Some(options) = options else {
            if config
                .runtime
                .insecure_transports()
                .is_due(config.clock.now_ms())
            {
                tracing::error!(
                    "session cookies are not written over plain http; \
                     serve the application over https, or allow it with `allow_insecure`"
                );
            }
            return false;
        };
        let mut has_written = false;
        for write in writes {
            let written = HeaderValue::from_str(&write.header(&options))
                .ok()
                .map(|mut value| {
                    value.set_sensitive(true);
                    value
                })
                .is_some_and(|value| headers.try_append(header::SET_COOKIE, value).is_ok());
            if !written {
                tracing::error!(cookie = %write.name, "cannot write a session cookie");
            }
            has_written |= written;
        }
        has_written
    }
}

fn add_vary_cookie(headers: &mut HeaderMap) {
    let is_there = headers.get_all(header::VARY).iter().any(|value| {
        let names = value.to_str().unwrap_or_default().split(',').map(str::trim);
        names
            .into_iter()
            .any(|name| name == "*" || name.eq_ignore_ascii_case("cookie"))
    });
    if !is_there {
        headers.append(header::VARY, HeaderValue::from_static("Cookie"));
    }
}
