//! Refresh tokens as rows: each use replaces a token by its child (auth contract §3.3).

use plinth_db::{DbError, Queries, Row};
use plinth_project::ServiceTransaction;
use time::OffsetDateTime;
use uuid::Uuid;

use super::issue::Subject;
use crate::{
    AuthError,
    model::{Session, sessions},
    random,
    request::Context,
};

/// A row of `auth.refresh_tokens`.
pub(super) struct ChainedToken {
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
    /// The token, its session (both locked) and whose they are.
    Token(Box<(ChainedToken, Session, Subject)>),
}

impl ChainedToken {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let is_revoked: Option<bool> = row.try_get("token_revoked")?;
        let updated_at: Option<OffsetDateTime> = row.try_get("token_updated_at")?;
        Ok(Self {
            token: row.try_get("token")?,
            is_revoked: is_revoked.unwrap_or(false),
            updated_at: updated_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
        })
    }
}

/// Begins a transaction, finds a token and locks it together with its session, if nobody else has.
pub(super) async fn lock(
    context: &Context,
    token: &str,
) -> Result<(ServiceTransaction, Found), AuthError> {
    let sql = format!(
        "select t.token, t.revoked as token_revoked, t.updated_at as token_updated_at, {}, {}
         from auth.refresh_tokens t
         join auth.sessions s on s.id = t.session_id
         join auth.users u on u.id = s.user_id
         where t.token = $1
         for update of t, s skip locked",
        sessions::COLUMNS,
        Subject::columns()
    );
    let (mut tx, rows) = context.begin_with(&sql, &[&token]).await?;
    let found = match rows.first() {
        Some(row) => Found::Token(Box::new((
            ChainedToken::from_row(row)?,
            Session::from_row(row)?,
            Subject::from_row(row)?,
        ))),
        None => why_not(&mut tx, token).await?,
    };
    Ok((tx, found))
}

async fn why_not(db: &mut impl Queries, token: &str) -> Result<Found, DbError> {
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

/// Whether no token of the session came after this one.
pub(super) async fn is_newest(
    db: &mut impl Queries,
    session: Uuid,
    token: &str,
) -> Result<bool, DbError> {
    let sql = "select t.token from auth.refresh_tokens t
               where t.session_id = $1 order by t.id desc limit 1";
    let row = db.query_opt(sql, &[&session]).await?;
    let newest: Option<String> = row.map(|row| row.try_get("token")).transpose()?;
    Ok(newest.as_deref() == Some(token))
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

/// Both at once: the token counts as used, and its child takes its place.
pub(super) async fn replace(
    db: &mut impl Queries,
    token: &ChainedToken,
    user: Uuid,
    session: Uuid,
    now: OffsetDateTime,
) -> Result<String, DbError> {
    let sql = "with used as (
                 update auth.refresh_tokens set revoked = true, updated_at = $3 where token = $1)
               insert into auth.refresh_tokens
                 (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
               values ($4, $2, $5, false, $3, $3, $1, $6)";
    let child = random::short_token();
    let (instance, user) = (Uuid::nil(), user.to_string());
    let params: plinth_db::Params<'_> = &[&token.token, &child, &now, &instance, &user, &session];
    db.execute(sql, params).await?;
    Ok(child)
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
