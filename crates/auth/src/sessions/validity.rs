//! Whether a session is still valid (auth contract §3.4). Checked at refresh, and for users with an
//! admin token.

use std::time::Duration;

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;

use crate::{
    model::{
        Session, User, factors,
        sessions::{self, Aal, ValidSince},
    },
    request::RequestContext,
};

/// Why the session has ended, as the last words of the error text; `None` while it is valid.
/// `token_at` is the creation time of a v1 refresh token: a second factor creates a new one without
/// a refresh.
pub(crate) async fn find_end(
    context: &RequestContext,
    db: &mut impl Queries,
    session: &Session,
    user: &User,
    token_at: Option<OffsetDateTime>,
) -> Result<Option<&'static str>, DbError> {
    let rules = &context.config.sessions;
    let is_over = |limit: Option<OffsetDateTime>| limit.is_some_and(|limit| context.now > limit);
    if is_over(session.not_after) || is_over(rules.timebox.map(|it| session.created_at + it)) {
        return Ok(Some(""));
    }
    let last_used = session.refreshed_at.or(token_at);
    let last_used = last_used.unwrap_or(session.created_at);
    if is_over(rules.inactivity_timeout.map(|it| last_used + it)) {
        return Ok(Some(" (Inactivity)"));
    }
    // The time within which a user with a second factor must verify it.
    let low_aal = match rules.allow_low_aal {
        Some(limit) if factors::has_verified(db, user.id).await? => Some(limit),
        _ => None,
    };
    if session.aal == Aal::Aal1 && is_over(low_aal.map(|it| session.created_at + it)) {
        return Ok(Some(" (Low AAL: User Needs MFA Verification)"));
    }
    if rules.is_single_per_user && is_superseded(context, db, session, low_aal).await? {
        return Ok(Some(" (Revoked by Newer Login)"));
    }
    Ok(None)
}

async fn is_superseded(
    context: &RequestContext,
    db: &mut impl Queries,
    session: &Session,
    low_aal: Option<Duration>,
) -> Result<bool, DbError> {
    let rules = &context.config.sessions;
    let earliest = |limit: Option<Duration>| limit.map(|limit| context.now - limit);
    let valid_since = ValidSince {
        created_at: earliest(rules.timebox),
        used_at: earliest(rules.inactivity_timeout),
        created_at_low_aal: earliest(low_aal),
    };
    sessions::is_superseded(db, session, &valid_since, context.now).await
}
