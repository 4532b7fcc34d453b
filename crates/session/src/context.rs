//! One request on its way through the layer: what is known on the way in, and what is said on the
//! way out (client contract §4.2, A10–A14).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderValue, header, request::Parts};

use crate::config::Config;
use crate::csrf::{self, CsrfPolicy};
use crate::jar::Jar;
use crate::metrics;
use crate::origin::Transport;
use crate::resolve::bearer_token;
use crate::session::SessionState;

/// A response that carries cookies must never be shown to anybody else (C23).
const NO_CACHING: [(header::HeaderName, &str); 3] = [
    (
        header::CACHE_CONTROL,
        "private, no-cache, no-store, must-revalidate, max-age=0",
    ),
    (header::EXPIRES, "0"),
    (header::PRAGMA, "no-cache"),
];

/// What extractors find in a request. Clones are the same request.
#[derive(Clone)]
pub(crate) struct Context(Arc<Inner>);

struct Inner {
    config: Arc<Config>,
    state: SessionState,
    jar: Mutex<Jar>,
    transport: Transport,
    /// The request was recognised by a bearer token; cookies are left alone (A5).
    is_bearer: bool,
    /// Nothing changes, or the change comes from our own pages.
    is_from_ourselves: bool,
    was_read: AtomicBool,
}

impl Context {
    /// Finds out who sent a request, and shows inner services the cookies that the browser will
    /// have once it has seen the response.
    pub(crate) async fn open(config: Arc<Config>, parts: &mut Parts) -> Self {
        let origin = config.origin(&parts.headers, &parts.extensions);
        let transport = Transport::of(origin.as_ref(), &parts.headers, config.allow_insecure);
        let mut jar = Jar::default();
        let bearer = bearer_token(&parts.headers);
        let is_bearer = bearer.is_some();
        let mut state = match bearer {
            Some(token) => config.resolve_bearer(token).await,
            None => {
                jar = Jar::read(&parts.headers, &config.key, &config.limits);
                config.resolve_cookies(&mut jar, transport).await
            }
        };

        let may_change = csrf::may_change_state(&parts.method, &parts.headers);
        let is_from_ourselves = !may_change
            || config.csrf == CsrfPolicy::Off
            || csrf::is_from_ourselves(&parts.headers, origin.as_ref(), &config.allowed_origins);
        if config.strict_revocation && may_change && (is_bearer || is_from_ourselves) {
            state = config.confirm(&mut jar, state).await;
        }
        metrics::request(state.name());

        let context = Self(Arc::new(Inner {
            config,
            state,
            jar: Mutex::new(jar),
            transport,
            is_bearer,
            is_from_ourselves,
            was_read: AtomicBool::new(false),
        }));
        context.announce_writes(&mut parts.headers);
        context
    }

    /// Whether cookies say who this is, but not our own pages sent it (A32).
    pub(crate) fn is_forged(&self) -> bool {
        let is_recognised = !matches!(self.0.state, SessionState::Anonymous);
        is_recognised && !self.0.is_bearer && !self.0.is_from_ourselves
    }

    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.0.config
    }

    /// Who sent the request. From now on the response depends on it.
    pub(crate) fn read_state(&self) -> &SessionState {
        self.0.was_read.store(true, Ordering::Relaxed);
        &self.0.state
    }

    pub(crate) fn is_bearer(&self) -> bool {
        self.0.is_bearer
    }

    pub(crate) fn is_from_ourselves(&self) -> bool {
        self.0.is_from_ourselves
    }

    pub(crate) fn jar(&self) -> MutexGuard<'_, Jar> {
        self.0.jar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inner services see the cookies of the next request, and answer in full: a 304 would hand
    /// the new cookies to whoever holds the old page.
    fn announce_writes(&self, headers: &mut HeaderMap) {
        let Some(options) = self.0.config.options_for(self.0.transport) else {
            return;
        };
        let jar = self.jar();
        let writes = jar.writes(&options, self.0.config.encoding);
        if writes.is_empty() {
            return;
        }
        match jar.next_header(&writes) {
            Some(cookies) => _ = headers.insert(header::COOKIE, cookies),
            None => _ = headers.remove(header::COOKIE),
        }
        headers.remove(header::IF_NONE_MATCH);
        headers.remove(header::IF_MODIFIED_SINCE);
    }

    /// Tells the browser what changed, and caches to keep out of it (A13).
    pub(crate) fn close(&self, headers: &mut HeaderMap) {
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

    /// One `Set-Cookie` for each change, after those that others have set. Whether there was any.
    fn write_cookies(&self, headers: &mut HeaderMap) -> bool {
        let config = &self.0.config;
        let options = config.options_for(self.0.transport);
        let planned = options.clone().unwrap_or_default();
        let writes = self.jar().writes(&planned, config.encoding);
        if writes.is_empty() {
            return false;
        }
        let Some(options) = options else {
            if config
                .runtime
                .refused_transports()
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
                tracing::error!(cookie = %write.name, "a session cookie cannot be written");
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
