//! Raising and lowering the assurance level of sessions (auth contract §4).

use plinth_db::{DbError, Queries};
use serde_json::Value;
use uuid::Uuid;

use super::{TokenBody, counted, issue_access_token};
use crate::{
    AuthError,
    audit::{self, Action},
    model::{Factor, Session, User, refresh_tokens, sessions},
    request::RequestContext,
};

/// Raises the session to aal2, issues a new refresh token, and ends the user's other sessions below
/// aal2.
pub(crate) async fn elevate(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
    session: Uuid,
    factor: &Factor,
) -> Result<TokenBody, AuthError> {
    let method = factor.kind.amr();
    let Some(session) = sessions::lock(db, session).await? else {
        return Err(AuthError::session_of_token_not_found());
    };
    sessions::add_amr(db, session.id, method, context.now).await?;
    let refresh_token = rotate(context, db, &user, &session).await?;
    let session = sessions::raise_aal(db, session.id, factor.id, context.now).await?;
    sessions::delete_below_aal2(db, user.id).await?;
    issue_access_token(context, db, user, &session, refresh_token, method).await
}

/// Lowers the sessions that were raised with this factor. Access tokens change at the next refresh.
pub(crate) async fn lower_aal(
    context: &RequestContext,
    db: &mut impl Queries,
    factor: &Factor,
) -> Result<(), DbError> {
    sessions::lower_aal(db, factor.id, factor.kind.amr(), context.now).await
}

/// Invalidates older refresh tokens, which must not give aal2.
async fn rotate(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    session: &Session,
) -> Result<String, AuthError> {
    refresh_tokens::void_all(db, session.id).await?;
    let Some((_, counter)) = session.counted() else {
        audit::write(context, db, user, Action::TokenRevoked, Value::Null).await?;
        return Ok(refresh_tokens::insert(db, user.id, session.id, None, context.now).await?);
    };
    // A refresh adds one and allows the parent once more; adding two excludes that. With another key
    // the older tokens are unknown, so their use does not end the session.
    Ok(counted::new_key(db, session.id, counter + 2).await?)
}
