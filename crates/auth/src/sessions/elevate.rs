//! A session whose user proved a second factor (auth contract §4).

use plinth_db::{DbError, Queries};
use serde_json::Value;
use uuid::Uuid;

use super::{TokenBody, chained, counted, issue_access_token};
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    model::{Factor, Session, User, sessions},
    request::Context,
};

/// Raises the session to aal2, gives it a new refresh token, and ends every other session of the
/// user that is still below.
pub(crate) async fn elevate(
    context: &Context,
    db: &mut impl Queries,
    user: User,
    session: Uuid,
    factor: &Factor,
) -> Result<TokenBody, AuthError> {
    let method = factor.kind.amr();
    let Some(session) = lock(db, session).await? else {
        return Err(AuthError::new(
            403,
            Code::SessionNotFound,
            "Session from session_id claim in JWT does not exist",
        ));
    };
    sessions::add_amr(db, session.id, method, context.now).await?;
    let refresh_token = rotate(context, db, &user, &session).await?;
    let session = raise(context, db, session.id, factor.id).await?;
    let sql = "delete from auth.sessions
               where user_id = $1 and (aal is null or aal = 'aal1')";
    db.execute(sql, &[&user.id]).await?;
    issue_access_token(context, db, user, &session, refresh_token, method).await
}

/// Takes the second factor away from the sessions that it was proven in; their access tokens say so
/// from the next refresh on.
pub(crate) async fn lower(
    context: &Context,
    db: &mut impl Queries,
    factor: &Factor,
) -> Result<(), DbError> {
    let sql = "delete from auth.mfa_amr_claims a using auth.sessions s
               where s.id = a.session_id and s.factor_id = $1 and a.authentication_method = $2";
    db.execute(sql, &[&factor.id, &factor.kind.amr()]).await?;
    let sql = "update auth.sessions set aal = 'aal1', factor_id = null, updated_at = $2
               where factor_id = $1";
    db.execute(sql, &[&factor.id, &context.now]).await?;
    Ok(())
}

async fn lock(db: &mut impl Queries, id: Uuid) -> Result<Option<Session>, DbError> {
    let columns = sessions::COLUMNS;
    let sql = format!("select {columns} from auth.sessions s where s.id = $1 for update");
    let row = db.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(Session::from_row).transpose()
}

/// None of the tokens of before may stand for the higher assurance.
async fn rotate(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    session: &Session,
) -> Result<String, AuthError> {
    let Some((key, counter)) = session.counted() else {
        audit::write(context, db, user, Action::TokenRevoked, Value::Null).await?;
        return Ok(chained::rotate_for_mfa(db, user.id, session.id, context.now).await?);
    };
    // One more than a refresh would, or the token before it could be shown again.
    let counter = counter + 2;
    counted::set_counter(db, session.id, counter).await?;
    counted::render(session.id, &key, counter)
        .ok_or_else(|| AuthError::internal("Unexpected failure", "a session's key is unusable"))
}

async fn raise(
    context: &Context,
    db: &mut impl Queries,
    session: Uuid,
    factor: Uuid,
) -> Result<Session, DbError> {
    let sql = format!(
        "update auth.sessions s set aal = 'aal2', factor_id = $2, updated_at = $3
         where s.id = $1
         returning {}",
        sessions::COLUMNS
    );
    let row = db
        .query_opt(&sql, &[&session, &factor, &context.now])
        .await?;
    let row = row.ok_or_else(|| DbError::Misuse("a locked session is gone".to_owned()))?;
    Session::from_row(&row)
}
