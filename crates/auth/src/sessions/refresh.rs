//! Refresh: exchanges a refresh token for the next one (auth contract §3.3).
//!
//! The active token is replaced by its child. Its parent may be used once more, because a client
//! can lose a response. Using an older one after the reuse interval revokes the family, unless it is
//! from before a second factor was proven: then it is rejected and nothing else happens. Token and
//! session are locked before anything is decided. HTTP hooks may be slow, so they run after the
//! commit, without locks. If the hook rejects, the client retries with the parent of the active
//! token, as after a lost response.

use std::time::Duration;

use plinth_project::ServiceTransaction;
use serde_json::Value;
use time::OffsetDateTime;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    TokenBody, TokenHeaders,
    counted::{self, CountedToken},
    find_end,
    issue::{issue_for, issue_without_transaction},
};
use crate::{
    AuthError,
    audit::{self, Action},
    config::RefreshTokens,
    hooks,
    model::{
        Session, User,
        refresh_tokens::{self, Found, RefreshToken},
        sessions::{self, Aal, Refreshed},
        subject::Subject,
    },
    rate_limit::{self, Bucket},
    request::RequestContext,
};

/// For another request that refreshes the same session.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// Exchanges a token. `client` is the requesting application, which must be the session's.
pub(crate) async fn refresh(
    context: &RequestContext,
    token: &str,
    client: Option<Uuid>,
) -> Result<TokenBody, AuthError> {
    let counted = match token.len() {
        12 if is_chained(token) => None,
        13.. => Some(CountedToken::parse(token).ok_or_else(AuthError::refresh_token_malformed)?),
        _ => return Err(AuthError::refresh_token_malformed()),
    };
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let permit = context.state.refresh_queue.acquire(token, deadline).await;
    let permit = permit.ok_or_else(AuthError::too_many_concurrent_refreshes)?;
    let stored = loop {
        let outcome = match &counted {
            None => {
                let (tx, found) = refresh_tokens::lock(&context.project, token).await?;
                Attempt::new(context, client, tx)
                    .refresh_chained(found)
                    .await?
            }
            Some(counted) => {
                let (tx, found) =
                    sessions::lock_with_subject(&context.project, counted.session).await?;
                let attempt = Attempt::new(context, client, tx);
                attempt.refresh_counted(counted, found).await?
            }
        };
        match outcome {
            Outcome::Tokens(body) => return Ok(*body),
            Outcome::Stored(stored) => break *stored,
            Outcome::Locked if Instant::now() < deadline => {
                // Spreads the retries.
                let jitter = u64::from(crate::random::bytes::<1>()[0] % 20);
                tokio::time::sleep(RETRY_DELAY + Duration::from_millis(jitter)).await;
            }
            Outcome::Locked => return Err(AuthError::too_many_concurrent_refreshes()),
        }
    };
    drop(permit);
    let (session, subject, replacement) = stored;
    let token = replacement.token.clone();
    let issued = issue_without_transaction(context, subject, &session, token, METHOD).await;
    let mut body = issued.map_err(AuthError::or_retry)?;
    body.headers = replacement.headers(&session);
    Ok(body)
}

/// The authentication method in the hook's payload.
const METHOD: &str = "token_refresh";

fn is_chained(token: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    token.bytes().all(is_allowed)
}

enum Outcome {
    Tokens(Box<TokenBody>),
    /// Committed; only the access token is missing.
    Stored(Box<(Session, Subject, Replacement)>),
    Locked,
}

struct Attempt<'a> {
    context: &'a RequestContext,
    client: Option<Uuid>,
    tx: ServiceTransaction,
}

/// The next refresh token.
struct Replacement {
    token: String,
    is_rotated: bool,
    reuse_cause: Option<&'static str>,
    /// The session's new counter, if it changes.
    counter: Option<i64>,
    /// For the audit log.
    actions: &'static [Action],
}

impl<'a> Attempt<'a> {
    fn new(context: &'a RequestContext, client: Option<Uuid>, tx: ServiceTransaction) -> Self {
        Self {
            context,
            client,
            tx,
        }
    }

    async fn refresh_chained(mut self, found: Found) -> Result<Outcome, AuthError> {
        let now = self.context.now;
        let (found, session, subject) = match found {
            Found::Nothing => return self.reject_unknown().await,
            Found::WithoutSession => {
                return Err(AuthError::refresh_token_without_session());
            }
            Found::Locked => return self.roll_back_locked().await,
            Found::Token(found) => *found,
        };
        self.check_rate(&session).await?;
        // Before the other checks: such a token has no time to compare with.
        if found.is_void {
            return Err(AuthError::refresh_token_already_used());
        }
        let token_at = Some(found.updated_at);
        self.check(&session, &subject.user, token_at).await?;
        let user = subject.user.id;
        if let Some((key, counter)) = session.counted() {
            return self
                .refresh_upgraded(found, key, counter, session, subject)
                .await;
        }
        if !found.is_revoked {
            let token = if self.is_upgraded(&session) {
                refresh_tokens::revoke_all(&mut self.tx, session.id, now).await?;
                counted::first_token(&mut self.tx, session.id).await?
            } else {
                refresh_tokens::replace(&mut self.tx, &found, user, session.id, now).await?
            };
            let replacement = Replacement {
                actions: &[Action::TokenRevoked, Action::TokenRefreshed],
                ..Replacement::rotated(token)
            };
            return self.finish(session, subject, replacement).await;
        }
        let active = refresh_tokens::find_active(&mut self.tx, session.id).await?;
        if let Some((active, Some(parent))) = &active
            && *parent == found.token
        {
            let same = Replacement::reused(active.clone(), "parent_of_active");
            return self.finish(session, subject, same).await;
        }
        let interval = self.context.config.refresh.reuse_interval;
        if active.is_some() && now <= found.updated_at + interval {
            let parent = Some(found.token.as_str());
            let token = refresh_tokens::insert(&mut self.tx, user, session.id, parent, now).await?;
            return self
                .finish(session, subject, Replacement::rotated(token))
                .await;
        }
        if self.context.config.refresh.is_rotation_enabled {
            refresh_tokens::revoke_all(&mut self.tx, session.id, now).await?;
            self.audit(&subject.user, Action::TokenRevoked).await?;
        }
        // The revocation must be committed although the request fails.
        self.tx.commit().await?;
        Err(AuthError::refresh_token_already_used())
    }

    /// A v1 token of a session that uses v2 by now. The last v1 token is accepted until the first
    /// counter is used, since the response may be lost; others within the reuse interval.
    async fn refresh_upgraded(
        mut self,
        found: RefreshToken,
        key: String,
        counter: i64,
        session: Session,
        subject: Subject,
    ) -> Result<Outcome, AuthError> {
        let is_parent = counter == 0
            && refresh_tokens::is_newest(&mut self.tx, session.id, &found.token).await?;
        let interval = self.context.config.refresh.reuse_interval;
        let is_recent = self.context.now <= found.updated_at + interval;
        if is_parent || (is_recent && session.aal == Aal::Aal1) {
            let token = counted::render(session.id, &key, counter)
                .ok_or_else(AuthError::refresh_token_malformed)?;
            let same = Replacement::reused(token, "parent_of_active");
            return self.finish(session, subject, same).await;
        }
        self.end_session(&session, &subject.user).await
    }

    async fn refresh_counted(
        mut self,
        token: &CountedToken,
        found: Option<(Session, Subject)>,
    ) -> Result<Outcome, AuthError> {
        let Some((session, subject)) = found else {
            return match sessions::find(&mut self.tx, token.session).await? {
                Some(_) => self.roll_back_locked().await,
                None => self.reject_unknown().await,
            };
        };
        let known = session.counted();
        let Some((key, counter)) = known.filter(|(key, _)| token.is_signed_with(key)) else {
            return self.reject_unknown().await;
        };
        self.check_rate(&session).await?;
        self.check(&session, &subject.user, None).await?;
        let render = |counter| {
            counted::render(session.id, &key, counter)
                .ok_or_else(AuthError::refresh_token_malformed)
        };
        let replacement = match counter - token.counter {
            ..0 => return Err(AuthError::refresh_token_malformed()),
            0 => Replacement {
                counter: Some(counter + 1),
                ..Replacement::rotated(render(counter + 1)?)
            },
            behind if self.may_reuse(&session, behind) => {
                Replacement::reused(render(counter)?, "reuse_interval")
            }
            _ => return self.end_session(&session, &subject.user).await,
        };
        self.finish(session, subject, replacement).await
    }

    /// The tokens may be stolen, so the session ends.
    async fn end_session(mut self, session: &Session, user: &User) -> Result<Outcome, AuthError> {
        if self.context.config.refresh.is_rotation_enabled {
            sessions::delete(&mut self.tx, session.id).await?;
            self.audit(user, Action::TokenRevoked).await?;
        }
        self.tx.commit().await?;
        Err(AuthError::refresh_token_already_used())
    }

    /// A second factor adds two to the counter, so that no earlier token gives the higher
    /// assurance. The reuse interval must not undo that.
    fn may_reuse(&self, session: &Session, behind: i64) -> bool {
        let rules = &self.context.config.refresh;
        let last = session.refreshed_at.unwrap_or(session.created_at);
        let is_recent = self.context.now < last + rules.reuse_interval;
        behind == 1 || rules.is_reuse_allowed || (is_recent && session.aal == Aal::Aal1)
    }

    /// Whether this session is upgraded to v2 tokens. The decision is stable per session.
    fn is_upgraded(&self, session: &Session) -> bool {
        let rules = &self.context.config.refresh;
        let share = session.id.as_u128() % 100;
        rules.tokens == RefreshTokens::Counted && share < u128::from(rules.upgrade_percentage)
    }

    /// Counted by all nodes once the transaction is committed; by this node in any case.
    async fn check_rate(&mut self, session: &Session) -> Result<(), AuthError> {
        let (bucket, key) = (Bucket::TokenRefresh, session.id.to_string());
        rate_limit::check_shared_by(self.context, &mut self.tx, bucket, &key).await
    }

    /// Checks the session, whatever the token.
    async fn check(
        &mut self,
        session: &Session,
        user: &User,
        token_at: Option<OffsetDateTime>,
    ) -> Result<(), AuthError> {
        if user.is_banned(self.context.now) {
            return Err(AuthError::user_banned_on_refresh());
        }
        let end = find_end(self.context, &mut self.tx, session, user, token_at).await?;
        if let Some(reason) = end {
            return Err(AuthError::session_expired(reason));
        }
        if session.oauth_client_id == self.client {
            Ok(())
        } else {
            Err(AuthError::oauth_refresh_token_of_another_client())
        }
    }

    /// Guesses are rate limited by client address.
    async fn reject_unknown(self) -> Result<Outcome, AuthError> {
        self.tx.rollback().await?;
        rate_limit::check_shared(self.context, Bucket::TokenRefresh).await?;
        Err(AuthError::refresh_token_not_found())
    }

    async fn roll_back_locked(self) -> Result<Outcome, AuthError> {
        self.tx.rollback().await?;
        Ok(Outcome::Locked)
    }

    async fn audit(&mut self, user: &User, action: Action) -> Result<(), AuthError> {
        audit::write(self.context, &mut self.tx, user, action, Value::Null).await
    }

    async fn finish(
        mut self,
        session: Session,
        subject: Subject,
        replacement: Replacement,
    ) -> Result<Outcome, AuthError> {
        self.store(&session, &subject.user, &replacement).await?;
        if hooks::is_token_hook_remote(self.context) {
            self.tx.commit().await?;
            return Ok(Outcome::Stored(Box::new((session, subject, replacement))));
        }
        let headers = replacement.headers(&session);
        let (context, token) = (self.context, replacement.token);
        let mut body = issue_for(context, &mut self.tx, subject, &session, token, METHOD).await?;
        body.headers = headers;
        self.tx.commit().await?;
        Ok(Outcome::Tokens(Box::new(body)))
    }

    /// Updates session and audit log in one statement.
    async fn store(
        &mut self,
        session: &Session,
        user: &User,
        replacement: &Replacement,
    ) -> Result<(), AuthError> {
        let client = &self.context.client;
        let refreshed = Refreshed {
            at: self.context.now,
            user_agent: &client.user_agent,
            ip: client.ip,
            counter: replacement.counter,
            audit_payloads: &audit::payloads(self.context, user, replacement.actions),
        };
        Ok(sessions::store_refresh(&mut self.tx, session.id, &refreshed).await?)
    }
}

impl Replacement {
    fn rotated(token: String) -> Self {
        Self {
            token,
            is_rotated: true,
            reuse_cause: None,
            counter: None,
            actions: &[Action::TokenRefreshed],
        }
    }

    fn reused(token: String, cause: &'static str) -> Self {
        Self {
            is_rotated: false,
            reuse_cause: Some(cause),
            ..Self::rotated(token)
        }
    }

    fn headers(&self, session: &Session) -> TokenHeaders {
        TokenHeaders {
            session_id: Some(session.id),
            is_rotated: Some(self.is_rotated),
            reuse_cause: self.reuse_cause,
        }
    }
}
