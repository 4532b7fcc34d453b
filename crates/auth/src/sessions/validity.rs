//! Whether a session still counts (auth contract §3.4). Checked at refresh, and for users whose
//! token administrates.

use std::time::Duration;

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;

use crate::{
    AuthError,
    error::Code,
    model::{Session, User, factors, sessions::Aal},
    request::Context,
};

/// Refuses, with `status`, a session that has come to its end. `token_at` is when the token that
/// was shown came to be, if it is a row: a second factor makes a new one without a refresh.
pub(crate) async fn check_valid(
    context: &Context,
    db: &mut impl Queries,
    session: &Session,
    user: &User,
    token_at: Option<OffsetDateTime>,
    status: u16,
) -> Result<(), AuthError> {
    let rules = &context.config.sessions;
    let ended = |why: &str| {
        let message = format!("Invalid Refresh Token: Session Expired{why}");
        Err(AuthError::new(status, Code::SessionExpired, message))
    };
    let is_over = |limit: Option<OffsetDateTime>| limit.is_some_and(|limit| context.now > limit);
    if is_over(session.not_after) || is_over(rules.timebox.map(|it| session.created_at + it)) {
        return ended("");
    }
    let last_used = session.refreshed_at.or(token_at);
    let last_used = last_used.unwrap_or(session.created_at);
    if is_over(rules.inactivity_timeout.map(|it| last_used + it)) {
        return ended(" (Inactivity)");
    }
    // Who has a second factor must show it within this time.
    let low_aal = match rules.allow_low_aal {
        Some(limit) if factors::has_verified(db, user.id).await? => Some(limit),
        _ => None,
    };
    if session.aal == Aal::Aal1 && is_over(low_aal.map(|it| session.created_at + it)) {
        return ended(" (Low AAL: User Needs MFA Verification)");
    }
    if rules.is_single_per_user && is_superseded(context, db, session, low_aal).await? {
        return ended(" (Revoked by Newer Login)");
    }
    Ok(())
}

/// Whether another session of the same user and tag, itself still good, was used more recently.
async fn is_superseded(
    context: &Context,
    db: &mut impl Queries,
    session: &Session,
    low_aal: Option<Duration>,
) -> Result<bool, DbError> {
    let rules = &context.config.sessions;
    let earliest = |limit: Option<Duration>| limit.map(|limit| context.now - limit);
    let sql = "select 1 from auth.sessions o
               where o.user_id = $1 and o.id <> $2 and o.tag is not distinct from $3
                 and coalesce(o.refreshed_at at time zone 'utc', o.created_at) > $4
                 and (o.not_after is null or o.not_after > $5)
                 and ($6::timestamptz is null or o.created_at > $6)
                 and ($7::timestamptz is null
                   or coalesce(o.refreshed_at at time zone 'utc', o.created_at) > $7)
                 and ($8::timestamptz is null or o.aal > 'aal1' or o.created_at > $8)
               limit 1";
    let last_used = session.refreshed_at.unwrap_or(session.created_at);
    let params: plinth_db::Params<'_> = &[
        &session.user_id,
        &session.id,
        &session.tag,
        &last_used,
        &context.now,
        &earliest(rules.timebox),
        &earliest(rules.inactivity_timeout),
        &earliest(low_aal),
    ];
    Ok(db.query_opt(sql, params).await?.is_some())
}
