//! Refresh tokens as rows: each use replaces a token by its child (auth contract §3.3).

use plinth_db::{DbError, Queries, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    model::{Session, User, sessions, users},
    random,
};

/// A row of `auth.refresh_tokens`.
pub(super) struct ChainedToken {
    pub(super) id: i64,
    pub(super) token: String,
    pub(super) is_revoked: bool,
    pub(super) updated_at: OffsetDateTime,
}

/// What looking for a token found.
pub(super) enum Found {
    Nothing,
    /// A token of times when there were no sessions.
    WithoutSession,
    /// Somebody else is refreshing the same session.
    Locked,
    /// The token, its session (both locked) and its user.
    Token(Box<(ChainedToken, Session, User)>),
}

impl ChainedToken {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let is_revoked: Option<bool> = row.try_get("token_revoked")?;
        let updated_at: Option<OffsetDateTime> = row.try_get("token_updated_at")?;
        Ok(Self {
            id: row.try_get("token_id")?,
            token: row.try_get("token")?,
            is_revoked: is_revoked.unwrap_or(false),
            updated_at: updated_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
        })
    }
}

/// Finds a token and locks it together with its session, if nobody else has.
pub(super) async fn lock(db: &mut impl Queries, token: &str) -> Result<Found, DbError> {
    let sql = format!(
        "select t.id as token_id, t.token, t.revoked as token_revoked,
           t.updated_at as token_updated_at, {}, {}
         from auth.refresh_tokens t
         join auth.sessions s on s.id = t.session_id
         join auth.users u on u.id = s.user_id
         where t.token = $1
         for update of t, s skip locked",
        sessions::COLUMNS,
        users::COLUMNS
    );
    if let Some(row) = db.query_opt(&sql, &[&token]).await? {
        let found = (
            ChainedToken::from_row(&row)?,
            Session::from_row(&row)?,
            User::from_row(&row)?,
        );
        return Ok(Found::Token(Box::new(found)));
    }
    let sql = "select t.session_id from auth.refresh_tokens t where t.token = $1";
    let Some(row) = db.query_opt(sql, &[&token]).await? else {
        return Ok(Found::Nothing);
    };
    let session: Option<Uuid> = row.try_get("session_id")?;
    Ok(match session {
        Some(_) => Found::Locked,
        None => Found::WithoutSession,
    })
}

/// The active token of a session, and of which one it is the child.
pub(super) async fn find_active(
    db: &mut impl Queries,
    session: Uuid,
) -> Result<Option<(String, Option<String>)>, DbError> {
    let sql = "select t.token, t.parent from auth.refresh_tokens t
               where t.session_id = $1 and not t.revoked
               order by t.id desc limit 1";
    let Some(row) = db.query_opt(sql, &[&session]).await? else {
        return Ok(None);
    };
    Ok(Some((row.try_get("token")?, row.try_get("parent")?)))
}

/// A new token of the session.
pub(super) async fn insert(
    db: &mut impl Queries,
    user: Uuid,
    session: Uuid,
    parent: Option<&str>,
    now: OffsetDateTime,
) -> Result<String, DbError> {
    let sql = "insert into auth.refresh_tokens
                 (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
               values ($1, $2, $3, false, $4, $4, $5, $6)";
    let token = random::short_token();
    let (instance, user) = (Uuid::nil(), user.to_string());
    db.execute(sql, &[&instance, &token, &user, &now, &parent, &session])
        .await?;
    Ok(token)
}

/// From now on the token counts as used.
pub(super) async fn revoke(
    db: &mut impl Queries,
    token: &ChainedToken,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.refresh_tokens set revoked = true, updated_at = $2 where id = $1";
    db.execute(sql, &[&token.id, &now]).await?;
    Ok(())
}

/// The whole family counts as used.
pub(super) async fn revoke_all(
    db: &mut impl Queries,
    session: Uuid,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.refresh_tokens set revoked = true, updated_at = $2
               where session_id = $1 and not revoked";
    db.execute(sql, &[&session, &now]).await?;
    Ok(())
}

/// After a second factor: a token without a parent. Those of before count as used long ago, so that
/// not even within the reuse interval does one of them stand for the higher assurance.
pub(super) async fn rotate_for_mfa(
    db: &mut impl Queries,
    user: Uuid,
    session: Uuid,
    now: OffsetDateTime,
) -> Result<String, DbError> {
    let sql = "update auth.refresh_tokens set revoked = true, updated_at = $2
               where session_id = $1";
    db.execute(sql, &[&session, &OffsetDateTime::UNIX_EPOCH])
        .await?;
    insert(db, user, session, None, now).await
}
