//! The cookies of one request: what was received, what changed, and the resulting headers.
//!
//! Reads see earlier writes (C13), and nothing is sent before the handler has ended, so that several
//! changes of a value result in one write.

use http::{HeaderMap, HeaderValue};
use zeroize::Zeroizing;

use crate::cookie::{
    Changes, CookieOptions, CookieOptionsError, Cookies, Encoding, Limits, Scope, Side, Write,
    flow_index, header, remove_at_scopes,
};

/// The cookies of one request that belong to one session key.
#[derive(Default)]
pub(crate) struct CookieJar {
    header: Zeroizing<String>,
    request: Cookies,
    changes: Changes,
    stale_removals: Vec<Write>,
    limits: Limits,
}

impl CookieJar {
    /// Reads the cookies whose names start with the key. Headers that are too long count as none.
    pub(crate) fn read(headers: &HeaderMap, key: &str, limits: &Limits) -> Self {
        let header = header::joined(headers, limits).unwrap_or_default();
        let request = Cookies::parse_starting_with(&header, key);
        Self {
            header,
            request,
            limits: *limits,
            ..Self::default()
        }
    }

    /// The cookies as they came.
    pub(crate) fn request(&self) -> &Cookies {
        &self.request
    }

    /// The value of a key as it is now.
    pub(crate) fn item(&self, key: &str) -> Option<String> {
        match self.changes.get(key) {
            Some(change) => change.map(str::to_owned),
            None => self.request.item(key, &self.limits),
        }
    }

    pub(crate) fn set(&mut self, key: impl Into<String>, item: impl Into<String>) {
        self.changes.set(key, item);
    }

    pub(crate) fn remove(&mut self, key: impl Into<String>) {
        self.changes.remove(key);
    }

    /// Removes the session and all pending sign-in flows.
    pub(crate) fn remove_session(&mut self, key: &str) {
        let index = self.item(&flow_index(key));
        self.changes.remove_session(key, index.as_deref());
    }

    /// Removes the cookies of a key also at scopes that an earlier version of the application used.
    pub(crate) fn remove_at_scopes(
        &mut self,
        key: &str,
        scopes: &[Scope],
        options: &CookieOptions,
    ) -> Result<(), CookieOptionsError> {
        let writes = remove_at_scopes(key, &self.request, scopes, options)?;
        self.stale_removals.extend(writes);
        Ok(())
    }

    /// The cookies to set or remove.
    pub(crate) fn writes(&self, options: &CookieOptions, encoding: Encoding) -> Vec<Write> {
        let planned = self
            .changes
            .plan(&self.request, options, encoding, Side::Server);
        self.stale_removals.iter().cloned().chain(planned).collect()
    }

    /// The `Cookie` header that the browser will send next.
    pub(crate) fn next_header(&self, writes: &[Write]) -> Option<HeaderValue> {
        header::rewrite(&self.header, writes)
    }
}
