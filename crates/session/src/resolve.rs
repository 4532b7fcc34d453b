//! From a request's headers to who sent it (client contract §4.2, steps A5–A9).
//!
//! Whatever a stranger sends ends in a state, never in an error. Nothing but the verified token
//! decides; the rest of the cookie is there to be shown (A24).

use std::sync::Arc;

use http::{HeaderMap, header};
use plinth_client::{EXPIRY_MARGIN_MS, Session as StoredSession};
use zeroize::Zeroizing;

use crate::config::Config;
use crate::jar::Jar;
use crate::metrics;
use crate::origin::Transport;
use crate::refresh::Refreshed;
use crate::server_check::Checked;
use crate::session::{Session, SessionState};
use crate::verify::{Proven, Trust};

impl Config {
    /// Who sent this bearer token.
    pub(crate) async fn resolve_bearer(&self, token: &str) -> SessionState {
        let proven = match self.tokens.check(token, self.clock.now_s()).await {
            Trust::Genuine(proven) => proven,
            Trust::AskServer(proven) if self.is_unexpired(&proven) => {
                match self.ask_server(token, &proven).await {
                    Checked::Alive => proven,
                    Checked::Unavailable => return SessionState::Unavailable,
                    Checked::Ended | Checked::Refused => return SessionState::Anonymous,
                }
            }
            Trust::NoKeys(proven) if self.is_unexpired(&proven) => {
                return SessionState::Unavailable;
            }
            _ => return SessionState::Anonymous,
        };
        if self.is_unexpired(&proven) {
            SessionState::SignedIn(Session::from_bearer(proven, token))
        } else {
            SessionState::Anonymous
        }
    }

    /// Who sent these cookies. Refreshes where needed, and notes in the jar what the browser has
    /// to be told. Where cookies may not be written nothing is refreshed: the old refresh token
    /// would be spent and its successor lost.
    pub(crate) async fn resolve_cookies(
        &self,
        jar: &mut Jar,
        transport: Transport,
    ) -> SessionState {
        if jar.request().has_conflict_of(&self.key) {
            metrics::conflicting_cookies();
            if self.runtime.conflicts().is_due(self.clock.now_ms()) {
                tracing::warn!(
                    cookie = %self.key,
                    "session cookies contradict each other; the first of a name counts, and a whole \
                     value before chunks. This is said once a minute; metrics count every request"
                );
            }
        }
        let Some(stored) = self.stored_session(jar) else {
            return SessionState::Anonymous;
        };
        let trust = self
            .tokens
            .check(stored.access_token(), self.clock.now_s())
            .await;
        let is_early_enough = |proven: &Proven| match transport {
            Transport::Refused => self.is_unexpired(proven),
            Transport::Open | Transport::Secure => self.is_fresh(proven),
        };
        let old = match trust {
            Trust::Refused => return SessionState::Anonymous,
            Trust::Genuine(proven) if is_early_enough(&proven) => return signed_in(proven, stored),
            Trust::AskServer(proven) if is_early_enough(&proven) => {
                return self.by_servers_word(jar, stored, proven).await;
            }
            // Nobody could check the next token either, and each refresh would spend another.
            Trust::NoKeys(_) => return SessionState::Unavailable,
            Trust::UnknownKey(proven)
                if is_early_enough(&proven) && self.server_has_vouched_for(&stored) =>
            {
                return signed_in(proven, stored);
            }
            Trust::Genuine(proven) => Some(Old::Genuine(proven)),
            Trust::AskServer(proven) => Some(Old::Unproven(proven)),
            Trust::UnknownKey(_) => None,
        };
        match transport {
            Transport::Refused => SessionState::Anonymous,
            Transport::Open | Transport::Secure => self.renew(jar, stored, old).await,
        }
    }

    /// A session that is good by itself may have been ended elsewhere. Asked before changes, if
    /// the configuration wants it (A19).
    pub(crate) async fn confirm(&self, jar: &mut Jar, state: SessionState) -> SessionState {
        let SessionState::SignedIn(session) = &state else {
            return state;
        };
        match self.ask_server_again(session.access_token().expose()).await {
            Checked::Alive => state,
            Checked::Ended | Checked::Refused => {
                if session.stored().is_some() {
                    jar.remove(&self.key);
                }
                SessionState::Anonymous
            }
            Checked::Unavailable => SessionState::Unavailable,
        }
    }

    /// The session in the cookies, if it has the form of one (A6).
    pub(crate) fn stored_session(&self, jar: &Jar) -> Option<StoredSession> {
        let item = Zeroizing::new(jar.item(&self.key)?);
        if !self.limits.allows_depth_of(&item) {
            return None;
        }
        let stored = StoredSession::from_json(&item).ok()?;
        let is_complete = !stored.access_token().is_empty() && !stored.refresh_token().is_empty();
        is_complete.then_some(stored)
    }

    /// Keeps a session in the cookies, as much of it as the configuration says.
    pub(crate) fn keep(&self, jar: &mut Jar, session: &StoredSession) {
        let session = match self.session_encoding {
            crate::SessionEncoding::UserAndTokens => session.to_json(),
            crate::SessionEncoding::TokensOnly => session.without_user().to_json(),
        };
        jar.set(&self.key, session);
    }

    async fn renew(&self, jar: &mut Jar, stored: StoredSession, old: Option<Old>) -> SessionState {
        let (is_over, otherwise) = match self.refresh(stored.refresh_token()).await {
            Refreshed::Renewed(renewed) => return self.adopt(jar, renewed).await,
            Refreshed::Refused(_) => (true, SessionState::Anonymous),
            Refreshed::Unavailable(_) => (false, SessionState::Unavailable),
        };
        // It was early: what is left of the old token is still good (S30).
        match old {
            Some(Old::Genuine(proven)) if self.is_unexpired(&proven) => {
                return signed_in(proven, stored);
            }
            Some(Old::Unproven(proven)) if self.is_unexpired(&proven) => {
                return self.by_servers_word(jar, stored, proven).await;
            }
            _ => {}
        }
        if is_over {
            jar.remove(&self.key);
        }
        otherwise
    }

    /// Uses a renewed session, after the same checks as any other. The old refresh token is spent,
    /// so the new one is kept even while nobody can be asked about it.
    async fn adopt(&self, jar: &mut Jar, renewed: StoredSession) -> SessionState {
        let token = renewed.access_token();
        match self.tokens.check(token, self.clock.now_s()).await {
            Trust::Genuine(proven) if self.is_unexpired(&proven) => {
                self.keep(jar, &renewed);
                signed_in(proven, renewed)
            }
            // Its key may be too new to be known here yet; the server knows it.
            Trust::AskServer(proven) | Trust::UnknownKey(proven) | Trust::NoKeys(proven)
                if self.is_unexpired(&proven) =>
            {
                self.keep(jar, &renewed);
                self.by_servers_word(jar, renewed, proven).await
            }
            _ => {
                tracing::error!(
                    "the auth service gave a token that this layer refuses; \
                     check its project URL, issuer and audience"
                );
                SessionState::Anonymous
            }
        }
    }

    async fn by_servers_word(
        &self,
        jar: &mut Jar,
        stored: StoredSession,
        proven: Arc<Proven>,
    ) -> SessionState {
        match self.ask_server(stored.access_token(), &proven).await {
            Checked::Alive => signed_in(proven, stored),
            Checked::Ended => {
                jar.remove(&self.key);
                SessionState::Anonymous
            }
            Checked::Refused => SessionState::Anonymous,
            Checked::Unavailable => SessionState::Unavailable,
        }
    }

    /// The token's own word counts, not the cookie's `expires_at` (A8).
    fn is_fresh(&self, proven: &Proven) -> bool {
        proven.remaining_ms(self.clock.now_ms()) >= EXPIRY_MARGIN_MS
    }

    fn is_unexpired(&self, proven: &Proven) -> bool {
        proven.remaining_ms(self.clock.now_ms()) > 0
    }
}

/// A token that is about to end.
enum Old {
    Genuine(Arc<Proven>),
    Unproven(Arc<Proven>),
}

fn signed_in(proven: Arc<Proven>, stored: StoredSession) -> SessionState {
    SessionState::SignedIn(Session::from_cookies(proven, stored))
}

/// The token of an `Authorization: Bearer` header. An empty text where there is one that cannot be
/// read: it still wins over cookies (A5).
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
