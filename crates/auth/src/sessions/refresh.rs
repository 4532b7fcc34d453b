//! Refresh: a token is exchanged for the next (auth contract §3.3).
//!
//! The active token is replaced by its child. Its parent may be shown once more, because a client
//! can lose our answer; an older one, past the reuse interval, revokes the family. Token and
//! session are locked before anything is decided. A hook that is asked over HTTP may be slow, so
//! it is asked when the exchange is stored and nobody waits any more. If it refuses, our answer
//! is as good as lost: the client's token is the active one's parent, and may be shown again.

use std::time::Duration;

use http::StatusCode;
use plinth_db::Queries;
use plinth_project::ServiceTransaction;
use serde_json::Value;
use time::OffsetDateTime;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    TokenBody, TokenHeaders,
    chained::{self, ChainedToken},
    check_valid,
    counted::{self, CountedToken},
    issue::{Subject, issue_for, issue_unlocked},
};
use crate::{
    AuthError,
    audit::{self, Action},
    config::RefreshTokens,
    error::Code,
    hooks,
    model::{
        Session, User,
        sessions::{self, Aal},
    },
    rate_limit::{self, Bucket},
    request::Context,
};

/// How long to wait for somebody else who is refreshing the same session.
const PATIENCE: Duration = Duration::from_secs(5);
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// Exchanges a token. `client` is the application that asks, which must be the session's.
pub(crate) async fn refresh(
    context: &Context,
    token: &str,
    client: Option<Uuid>,
) -> Result<TokenBody, AuthError> {
    let counted = match token.len() {
        12 if is_chained(token) => None,
        13.. => Some(CountedToken::parse(token).ok_or_else(malformed)?),
        _ => return Err(malformed()),
    };
    let deadline = Instant::now() + PATIENCE;
    let turn = context.state.turns.wait(token, deadline).await;
    let turn = turn.ok_or_else(too_many_at_once)?;
    let stored = loop {
        let outcome = match &counted {
            None => {
                let (tx, found) = chained::lock(context, token).await?;
                Attempt::new(context, client, tx).chained(found).await?
            }
            Some(counted) => {
                let (tx, found) = counted::lock(context, counted.session).await?;
                let attempt = Attempt::new(context, client, tx);
                attempt.counted(counted, found).await?
            }
        };
        match outcome {
            Outcome::Tokens(body) => return Ok(*body),
            Outcome::Stored(stored) => break *stored,
            Outcome::Locked if Instant::now() < deadline => {
                // Not all at the same moment again.
                let jitter = u64::from(crate::random::bytes::<1>()[0] % 20);
                tokio::time::sleep(RETRY_AFTER + Duration::from_millis(jitter)).await;
            }
            Outcome::Locked => return Err(too_many_at_once()),
        }
    };
    drop(turn);
    let (session, subject, replacement) = stored;
    let token = replacement.token.clone();
    let issued = issue_unlocked(context, subject, &session, token, METHOD).await;
    let mut body = issued.map_err(worth_another_try)?;
    body.headers = replacement.headers(&session);
    Ok(body)
}

/// What the hook is told of how somebody came in.
const METHOD: &str = "token_refresh";

fn is_chained(token: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    token.bytes().all(is_allowed)
}

enum Outcome {
    Tokens(Box<TokenBody>),
    /// Done but for the access token.
    Stored(Box<(Session, Subject, Replacement)>),
    Locked,
}

struct Attempt<'a> {
    context: &'a Context,
    client: Option<Uuid>,
    tx: ServiceTransaction,
}

/// What the client gets instead of its token.
struct Replacement {
    token: String,
    is_rotated: bool,
    reuse_cause: Option<&'static str>,
    /// Of the session from now on, if that changes.
    counter: Option<i64>,
    /// What the audit log says.
    actions: &'static [Action],
}

impl<'a> Attempt<'a> {
    fn new(context: &'a Context, client: Option<Uuid>, tx: ServiceTransaction) -> Self {
        Self {
            context,
            client,
            tx,
        }
    }

    async fn chained(mut self, found: chained::Found) -> Result<Outcome, AuthError> {
        let now = self.context.now;
        let (found, session, subject) = match found {
            chained::Found::Nothing => return Err(self.unknown_token()),
            chained::Found::WithoutSession => return Err(no_session()),
            chained::Found::Locked => return self.give_way().await,
            chained::Found::Token(found) => *found,
        };
        let token_at = Some(found.updated_at);
        self.check(&session, &subject.user, token_at).await?;
        let user = subject.user.id;
        if let Some((key, counter)) = session.counted() {
            return self.moved_on(found, key, counter, session, subject).await;
        }
        if !found.is_revoked {
            let token = match self.is_upgraded(&session) {
                true => {
                    chained::revoke_all(&mut self.tx, session.id, now).await?;
                    counted::first(&mut self.tx, session.id).await?
                }
                false => chained::replace(&mut self.tx, &found, user, session.id, now).await?,
            };
            let replacement = Replacement {
                actions: &[Action::TokenRevoked, Action::TokenRefreshed],
                ..Replacement::rotated(token)
            };
            return self.finish(session, subject, replacement).await;
        }
        let active = chained::find_active(&mut self.tx, session.id).await?;
        if let Some((active, Some(parent))) = &active
            && *parent == found.token
        {
            let same = Replacement::reused(active.clone(), "parent_of_active");
            return self.finish(session, subject, same).await;
        }
        let interval = self.context.config.refresh.reuse_interval;
        if active.is_some() && now <= found.updated_at + interval {
            let parent = Some(found.token.as_str());
            let token = chained::insert(&mut self.tx, user, session.id, parent, now).await?;
            return self
                .finish(session, subject, Replacement::rotated(token))
                .await;
        }
        if self.context.config.refresh.is_rotation_enabled {
            chained::revoke_all(&mut self.tx, session.id, now).await?;
            self.audit(&subject.user, Action::TokenRevoked).await?;
        }
        // The revocation must last although the request fails.
        self.tx.commit().await?;
        Err(already_used())
    }

    /// A row is shown of a session whose tokens are signed counters by now. It is as good as any
    /// token of before: the last one as long as the first counter was not used, since our answer may
    /// be lost; others within the reuse interval.
    async fn moved_on(
        mut self,
        found: ChainedToken,
        key: String,
        counter: i64,
        session: Session,
        subject: Subject,
    ) -> Result<Outcome, AuthError> {
        let is_parent =
            counter == 0 && chained::is_newest(&mut self.tx, session.id, &found.token).await?;
        let interval = self.context.config.refresh.reuse_interval;
        let is_recent = self.context.now <= found.updated_at + interval;
        if is_parent || (is_recent && session.aal == Aal::Aal1) {
            let token = counted::render(session.id, &key, counter).ok_or_else(malformed)?;
            let same = Replacement::reused(token, "parent_of_active");
            return self.finish(session, subject, same).await;
        }
        self.end_reused(&session, &subject.user).await
    }

    async fn counted(
        mut self,
        token: &CountedToken,
        found: Option<(Session, Subject)>,
    ) -> Result<Outcome, AuthError> {
        let Some((session, subject)) = found else {
            return match sessions::find(&mut self.tx, token.session).await? {
                Some(_) => self.give_way().await,
                None => Err(self.unknown_token()),
            };
        };
        let known = session.counted();
        let Some((key, counter)) = known.filter(|(key, _)| token.is_signed_with(key)) else {
            return Err(self.unknown_token());
        };
        self.check(&session, &subject.user, None).await?;
        let render = |counter| counted::render(session.id, &key, counter).ok_or_else(malformed);
        let replacement = match counter - token.counter {
            ..0 => return Err(malformed()),
            0 => Replacement {
                counter: Some(counter + 1),
                ..Replacement::rotated(render(counter + 1)?)
            },
            behind if self.may_reuse(&session, behind) => {
                Replacement::reused(render(counter)?, "reuse_interval")
            }
            _ => return self.end_reused(&session, &subject.user).await,
        };
        self.finish(session, subject, replacement).await
    }

    /// Somebody else may have the session's tokens; nobody shall.
    async fn end_reused(mut self, session: &Session, user: &User) -> Result<Outcome, AuthError> {
        if self.context.config.refresh.is_rotation_enabled {
            sessions::delete(&mut self.tx, session.id).await?;
            self.audit(user, Action::TokenRevoked).await?;
        }
        self.tx.commit().await?;
        Err(already_used())
    }

    /// A second factor moves the count on by two, so that no token of before is worth the higher
    /// assurance; the interval must not make it so.
    fn may_reuse(&self, session: &Session, behind: i64) -> bool {
        let rules = &self.context.config.refresh;
        let last = session.refreshed_at.unwrap_or(session.created_at);
        let is_recent = self.context.now < last + rules.reuse_interval;
        behind == 1 || rules.is_reuse_allowed || (is_recent && session.aal == Aal::Aal1)
    }

    /// Whether this session moves on to the newer kind of tokens; the same answer every time.
    fn is_upgraded(&self, session: &Session) -> bool {
        let rules = &self.context.config.refresh;
        let share = session.id.as_u128() % 100;
        rules.tokens == RefreshTokens::Counted && share < u128::from(rules.upgrade_percentage)
    }

    /// What is wrong with the session, whatever the token.
    async fn check(
        &mut self,
        session: &Session,
        user: &User,
        token_at: Option<OffsetDateTime>,
    ) -> Result<(), AuthError> {
        rate_limit::check_by(self.context, Bucket::TokenRefresh, &session.id.to_string())?;
        if user.is_banned(self.context.now) {
            let message = "Invalid Refresh Token: User Banned";
            return Err(AuthError::new(400, Code::UserBanned, message));
        }
        check_valid(self.context, &mut self.tx, session, user, token_at, 400).await?;
        match session.oauth_client_id == self.client {
            true => Ok(()),
            false => Err(AuthError::oauth(
                "invalid_client",
                "The refresh token belongs to another client",
            )),
        }
    }

    /// Those who guess are held back by their address.
    fn unknown_token(&self) -> AuthError {
        let limited = rate_limit::check(self.context, Bucket::TokenRefresh).err();
        limited.unwrap_or_else(|| {
            AuthError::new(
                400,
                Code::RefreshTokenNotFound,
                "Invalid Refresh Token: Refresh Token Not Found",
            )
        })
    }

    async fn give_way(self) -> Result<Outcome, AuthError> {
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
        self.note(&session, &subject.user, &replacement).await?;
        if hooks::is_token_made_elsewhere(self.context) {
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

    /// What session and audit log say of it, in one statement.
    async fn note(
        &mut self,
        session: &Session,
        user: &User,
        replacement: &Replacement,
    ) -> Result<(), AuthError> {
        let sql = "with seen as (
                     update auth.sessions
                     set refreshed_at = $2::timestamptz at time zone 'utc', updated_at = $2,
                       user_agent = $3, ip = $4::text::inet,
                       refresh_token_counter = coalesce($5, refresh_token_counter)
                     where id = $1)
                   insert into auth.audit_log_entries
                     (instance_id, id, payload, created_at, ip_address)
                   select $6, gen_random_uuid(), payload, $2, $4
                   from unnest($7::json[]) as payload";
        let client = &self.context.client;
        let ip = client.ip.to_string();
        let payloads = audit::payloads(self.context, user, replacement.actions);
        let params: plinth_db::Params<'_> = &[
            &session.id,
            &self.context.now,
            &client.user_agent,
            &ip,
            &replacement.counter,
            &Uuid::nil(),
            &payloads,
        ];
        self.tx.execute(sql, params).await?;
        Ok(())
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

/// A hook that was not reached or not understood may answer better next time, and a status below 500
/// would end the client's session (client contract S93). What a hook itself says stays as it is.
fn worth_another_try(error: AuthError) -> AuthError {
    match error.code() {
        Code::HookTimeout
        | Code::HookTimeoutAfterRetry
        | Code::HookPayloadOverSizeLimit
        | Code::HookPayloadInvalidContentType => error.with_status(StatusCode::SERVICE_UNAVAILABLE),
        _ => error,
    }
}

/// Worth another try: a status below 500 would end the client's session (client contract S93).
fn too_many_at_once() -> AuthError {
    AuthError::new(
        503,
        Code::Conflict,
        "Too many concurrent token refresh requests on the same session or refresh token",
    )
}

fn malformed() -> AuthError {
    AuthError::invalid("Refresh token is not valid")
}

fn no_session() -> AuthError {
    AuthError::new(
        400,
        Code::SessionNotFound,
        "Invalid Refresh Token: No Valid Session Found",
    )
}

fn already_used() -> AuthError {
    AuthError::new(
        400,
        Code::RefreshTokenAlreadyUsed,
        "Invalid Refresh Token: Already Used",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_hook_itself_says_keeps_a_status_that_ends_sessions() {
        let status = |code| {
            let error = worth_another_try(AuthError::new(422, code, "no"));
            assert_eq!(error.code(), code);
            error.status().as_u16()
        };
        assert_eq!(status(Code::HookTimeout), 503);
        assert_eq!(status(Code::HookTimeoutAfterRetry), 503);
        assert_eq!(status(Code::HookPayloadOverSizeLimit), 503);
        assert_eq!(status(Code::HookPayloadInvalidContentType), 503);
        assert_eq!(status(Code::Unknown), 422);
    }
}
