//! The cookies of a request as a session store for the SDK.

use plinth_client::{BoxFuture, Session as StoredSession, SessionStore, StoreError};

use crate::request_context::RequestContext;

const VERIFIER_SUFFIX: &str = "-code-verifier";

/// Stores the SDK's items in the cookies of one request (C24): it reads its own writes, and everything is sent
/// with the response.
///
/// Only keys of this session are kept; the SDK must be given the same storage key.
#[derive(Clone)]
pub struct CookieStore(RequestContext);

impl CookieStore {
    pub(crate) fn new(context: RequestContext) -> Self {
        Self(context)
    }

    /// The storage key to give to the SDK.
    pub fn storage_key(&self) -> &str {
        &self.0.config().key
    }

    fn read(&self, key: &str) -> Option<String> {
        let config = self.0.config();
        let item = self.0.cookie_jar().item(key)?;
        let is_too_old = verifier_in(key, &item).is_some_and(|verifier| {
            config
                .runtime
                .is_flow_too_old(&verifier, config.clock.now_ms())
        });
        (!is_too_old).then_some(item)
    }

    fn write(&self, key: &str, text: &str) {
        let config = self.0.config();
        if let Some(verifier) = verifier_in(key, text) {
            config
                .runtime
                .record_flow_start(&verifier, config.clock.now_ms());
        }
        let mut cookie_jar = self.0.cookie_jar();
        match StoredSession::from_json(text) {
            Ok(session) if key == config.key => config.store_session(&mut cookie_jar, &session),
            _ => cookie_jar.set(key, text),
        }
    }

    /// Also invalidates cached refreshes of a session that is signed out.
    fn remove_item(&self, key: &str) {
        let config = self.0.config();
        let mut cookie_jar = self.0.cookie_jar();
        if key == config.key
            && let Some(session) = config.stored_session(&cookie_jar)
        {
            config.invalidate_refreshes_of(&session);
        }
        cookie_jar.remove(key);
    }

    fn check(&self, key: &str) -> Result<(), StoreError> {
        if key.starts_with(self.storage_key()) {
            Ok(())
        } else {
            Err(StoreError::new(
                "the key does not belong to this session's cookies",
            ))
        }
    }
}

/// The PKCE verifier, if the key belongs to one.
fn verifier_in(key: &str, item: &str) -> Option<String> {
    let is_verifier = key.ends_with(VERIFIER_SUFFIX);
    is_verifier
        .then(|| serde_json::from_str(item).ok())
        .flatten()
}

impl SessionStore for CookieStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move { self.check(key).map(|()| self.read(key)) })
    }

    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.check(key).map(|()| self.write(key, &text)) })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.check(key).map(|()| self.remove_item(key)) })
    }
}

impl std::fmt::Debug for CookieStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("CookieStore")
            .field(&self.storage_key())
            .finish()
    }
}
