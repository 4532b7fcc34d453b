//! Resolves the session of a request from its headers (client contract §4.2, steps A5–A9).
//!
//! Any input results in a state, never in an error. Only the verified token counts; the rest of the cookie is
//! for display (A24).

use std::sync::Arc;

use http::{HeaderMap, header};
use plinth_client::{EXPIRY_MARGIN_MS, Session as StoredSession};
use zeroize::Zeroizing;

use crate::config::Config;
use crate::cookie_jar::CookieJar;
use crate::metrics;
use crate::origin::Transport;
use crate::refresh::Refreshed;
use crate::server_check::ServerCheck;
use crate::session::{Session, SessionState};
use crate::verify::{Verification, VerifiedClaims};

impl Config {
    /// Resolves a bearer token.
    pub(crate) async fn resolve_bearer(&self, token: &str) -> SessionState {
        let claims = match self.tokens.check(token, self.clock.now_s()).await {
            Verification::Verified(claims) => claims,
            Verification::AskServer(claims) if self.is_unexpired(&claims) => {
                match self.check_with_server(token, &claims).await {
                    ServerCheck::Alive => claims,
                    ServerCheck::Unavailable => return SessionState::Unavailable,
                    ServerCheck::Ended | ServerCheck::Rejected => return SessionState::Anonymous,
                }
            }
            Verification::NoKeys(claims) if self.is_unexpired(&claims) => {
                return SessionState::Unavailable;
            }
            _ => return SessionState::Anonymous,
        };
        if self.is_unexpired(&claims) {
            SessionState::SignedIn(Session::from_bearer(claims, token))
        } else {
            SessionState::Anonymous
        }
    }

    /// Resolves session cookies. Refreshes where needed and records the changes in the jar. Where cookies may not
    /// be written nothing is refreshed: the old refresh token would be used up and its successor lost.
    pub(crate) async fn resolve_cookies(
        &self,
        cookie_jar: &mut CookieJar,
        transport: Transport,
    ) -> SessionState {
        if cookie_jar.request().has_conflict_of(&self.key) {
            metrics::conflicting_cookies();
            if self.runtime.conflicts().is_due(self.clock.now_ms()) {
                tracing::warn!(
                    cookie = %self.key,
                    "conflicting session cookies: the first of each name is used, and a whole value before \
                     chunks (logged at most once a minute; metrics count every request)"
                );
            }
        }
        let Some(stored) = self.stored_session(cookie_jar) else {
            return SessionState::Anonymous;
        };
        let verification = self
            .tokens
            .check(stored.access_token(), self.clock.now_s())
            .await;
        let is_early_enough = |claims: &VerifiedClaims| match transport {
            Transport::Rejected => self.is_unexpired(claims),
            Transport::Open | Transport::Secure => self.is_fresh(claims),
        };
        let old = match verification {
            Verification::Rejected => return SessionState::Anonymous,
            Verification::Verified(claims) if is_early_enough(&claims) => {
                return signed_in(claims, stored);
            }
            Verification::AskServer(claims) if is_early_enough(&claims) => {
                return self.check_and_sign_in(cookie_jar, stored, claims).await;
            }
            // The next token could not be verified either, and each refresh would use up another.
            Verification::NoKeys(_) => return SessionState::Unavailable,
            Verification::UnknownKey(claims)
                if is_early_enough(&claims) && self.is_confirmed_by_server(&stored) =>
            {
                return signed_in(claims, stored);
            }
            Verification::Verified(claims) => Some(ExpiringToken::Verified(claims)),
            Verification::AskServer(claims) => Some(ExpiringToken::Unverified(claims)),
            Verification::UnknownKey(_) => None,
        };
        match transport {
            Transport::Rejected => SessionState::Anonymous,
            Transport::Open | Transport::Secure => self.renew(cookie_jar, stored, old).await,
        }
    }

    /// Checks with the server that a valid session was not revoked; used before changes, if configured
    /// (A19).
    pub(crate) async fn confirm(
        &self,
        cookie_jar: &mut CookieJar,
        state: SessionState,
    ) -> SessionState {
        let SessionState::SignedIn(session) = &state else {
            return state;
        };
        match self
            .check_with_server_now(session.access_token().expose())
            .await
        {
            ServerCheck::Alive => state,
            ServerCheck::Ended | ServerCheck::Rejected => {
                if session.stored().is_some() {
                    cookie_jar.remove(&self.key);
                }
                SessionState::Anonymous
            }
            ServerCheck::Unavailable => SessionState::Unavailable,
        }
    }

    /// The session in the cookies, if it is well-formed (A6).
    pub(crate) fn stored_session(&self, cookie_jar: &CookieJar) -> Option<StoredSession> {
        let item = Zeroizing::new(cookie_jar.item(&self.key)?);
        if !self.limits.allows_depth_of(&item) {
            return None;
        }
        let stored = StoredSession::from_json(&item).ok()?;
        let is_complete = !stored.access_token().is_empty() && !stored.refresh_token().is_empty();
        is_complete.then_some(stored)
    }

    /// Stores a session in the cookies, as much of it as configured.
    pub(crate) fn store_session(&self, cookie_jar: &mut CookieJar, session: &StoredSession) {
        let session = match self.session_encoding {
            crate::SessionEncoding::UserAndTokens => session.to_json(),
            crate::SessionEncoding::TokensOnly => session.without_user().to_json(),
        };
        cookie_jar.set(&self.key, session);
    }

    async fn renew(
        &self,
        cookie_jar: &mut CookieJar,
        stored: StoredSession,
        old: Option<ExpiringToken>,
    ) -> SessionState {
        let (is_over, otherwise) = match self.refresh(stored.refresh_token()).await {
            Refreshed::Renewed(renewed) => return self.adopt(cookie_jar, renewed).await,
            Refreshed::Rejected(_) => (true, SessionState::Anonymous),
            Refreshed::Unavailable(_) => (false, SessionState::Unavailable),
        };
        // The refresh was early: the old token is still valid (S30).
        match old {
            Some(ExpiringToken::Verified(claims)) if self.is_unexpired(&claims) => {
                return signed_in(claims, stored);
            }
            Some(ExpiringToken::Unverified(claims)) if self.is_unexpired(&claims) => {
                return self.check_and_sign_in(cookie_jar, stored, claims).await;
            }
            _ => {}
        }
        if is_over {
            cookie_jar.remove(&self.key);
        }
        otherwise
    }

    /// Adopts a renewed session, after the same checks as any other. The old refresh token is used up, so the new
    /// session is stored even while it cannot be verified.
    async fn adopt(&self, cookie_jar: &mut CookieJar, renewed: StoredSession) -> SessionState {
        let token = renewed.access_token();
        match self.tokens.check(token, self.clock.now_s()).await {
            Verification::Verified(claims) if self.is_unexpired(&claims) => {
                self.store_session(cookie_jar, &renewed);
                signed_in(claims, renewed)
            }
            // Its key may be too new to be known here yet; ask the server.
            Verification::AskServer(claims)
            | Verification::UnknownKey(claims)
            | Verification::NoKeys(claims)
                if self.is_unexpired(&claims) =>
            {
                self.store_session(cookie_jar, &renewed);
                self.check_and_sign_in(cookie_jar, renewed, claims).await
            }
            _ => {
                tracing::error!(
                    "the auth service issued a token that this layer rejects; \
                     check its project URL, issuer and audience"
                );
                SessionState::Anonymous
            }
        }
    }

    async fn check_and_sign_in(
        &self,
        cookie_jar: &mut CookieJar,
        stored: StoredSession,
        claims: Arc<VerifiedClaims>,
    ) -> SessionState {
        match self.check_with_server(stored.access_token(), &claims).await {
            ServerCheck::Alive => signed_in(claims, stored),
            ServerCheck::Ended => {
                cookie_jar.remove(&self.key);
                SessionState::Anonymous
            }
            ServerCheck::Rejected => SessionState::Anonymous,
            ServerCheck::Unavailable => SessionState::Unavailable,
        }
    }

    /// The token's `exp` counts, not the cookie's `expires_at` (A8).
    fn is_fresh(&self, claims: &VerifiedClaims) -> bool {
        claims.remaining_ms(self.clock.now_ms()) >= EXPIRY_MARGIN_MS
    }

    fn is_unexpired(&self, claims: &VerifiedClaims) -> bool {
        claims.remaining_ms(self.clock.now_ms()) > 0
    }
}

/// A token that is about to expire.
enum ExpiringToken {
    Verified(Arc<VerifiedClaims>),
    Unverified(Arc<VerifiedClaims>),
}

fn signed_in(claims: Arc<VerifiedClaims>, stored: StoredSession) -> SessionState {
    SessionState::SignedIn(Session::from_cookies(claims, stored))
}

/// The token of an `Authorization: Bearer` header. An empty text if it is malformed: it still takes
/// precedence over cookies (A5).
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    let (scheme, token) = match value.to_str() {
        Ok(text) => text.split_once(' ').unwrap_or((text, "")),
        Err(_)
            if value
                .as_bytes()
                .get(..7)
                .is_some_and(|start| start.eq_ignore_ascii_case(b"bearer ")) =>
        {
            ("bearer", "")
        }
        Err(_) => return None,
    };
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn any_bearer_header_wins() {
        let read = |value: &'static [u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(
                header::AUTHORIZATION,
                HeaderValue::from_bytes(value).unwrap(),
            );
            bearer_token(&headers).map(str::to_owned)
        };

        assert_eq!(read(b"Bearer abc").as_deref(), Some("abc"));
        assert_eq!(read(b"bearer  abc ").as_deref(), Some("abc"));
        assert_eq!(read(b"Bearer").as_deref(), Some(""));
        assert_eq!(read(b"Bearer \xff").as_deref(), Some(""));
        assert_eq!(read(b"Basic abc"), None);
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
