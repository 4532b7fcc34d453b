//! `auth.refresh_tokens`: tokens that are rows; each use replaces one by its child (auth contract
//! §3.3).

use plinth_db::{DbError, Params, Queries, Row, Step};
use plinth_project::{Project, Service, ServiceTransaction};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Session, sessions, subject::Subject};
use crate::random;

/// A refresh token. Without `Debug`, since it holds the token itself.
pub(crate) struct RefreshToken {
    pub(crate) token: String,
    pub(crate) is_revoked: bool,
    /// Whether [`void_all`] revoked it.
    pub(crate) is_void: bool,
    pub(crate) updated_at: OffsetDateTime,
}

/// When void tokens were last updated. It must be older than any reuse interval.
const VOID_SINCE: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

/// What [`lock`] found.
pub(crate) enum Found {
    Nothing,
    /// A token from before there were sessions.
    WithoutSession,
    /// Another request has locked the token or its session.
    Locked,
    /// The token and its session, both locked, and their user.
    Token(Box<(RefreshToken, Session, Subject)>),
}

impl RefreshToken {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let is_revoked: Option<bool> = row.try_get("token_revoked")?;
        let updated_at: Option<OffsetDateTime> = row.try_get("token_updated_at")?;
        Ok(Self {
            token: row.try_get("token")?,
            is_revoked: is_revoked.unwrap_or(false),
            is_void: updated_at == Some(VOID_SINCE),
            updated_at: updated_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
        })
    }
}

/// Begins a transaction, finds a token and locks it together with its session, unless another
/// request has. All of that is one round trip.
pub(crate) async fn lock(
    project: &Project,
    token: &str,
) -> Result<(ServiceTransaction, Found), DbError> {
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
    let params: Params<'_> = &[&token];
    let select = Step::typed(&sql, params);
    let begun = project.db.begin_as_service_with(Service::Auth, select);
    let (mut tx, rows) = begun.await?;
    let found = match rows.first() {
        Some(row) => Found::Token(Box::new((
            RefreshToken::from_row(row)?,
            Session::from_row(row)?,
            Subject::from_row(row)?,
        ))),
        None => explain_miss(&mut tx, token).await?,
    };
    Ok((tx, found))
}

/// Why no row was locked.
async fn explain_miss(db: &mut impl Queries, token: &str) -> Result<Found, DbError> {
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

/// The active token of a session, and its parent.
pub(crate) async fn find_active(
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

/// Whether this is the session's newest token.
pub(crate) async fn is_newest(
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

/// Inserts a new token of the session and returns it.
pub(crate) async fn insert(
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

/// Revokes the token and inserts its child, in one statement; returns the child.
pub(crate) async fn replace(
    db: &mut impl Queries,
    token: &RefreshToken,
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
    let params: Params<'_> = &[&token.token, &child, &now, &instance, &user, &session];
    db.execute(sql, params).await?;
    Ok(child)
}

/// Revokes all tokens of the session.
pub(crate) async fn revoke_all(
    db: &mut impl Queries,
    session: Uuid,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.refresh_tokens set revoked = true, updated_at = $2
               where session_id = $1 and not revoked";
    db.execute(sql, &[&session, &now]).await?;
    Ok(())
}

/// Revokes all tokens of the session, after a second factor was proven. The revocation is dated back
/// to 1970, so that no older token is worth the higher assurance level, not even within the reuse
/// interval, and so that its use is not taken for a theft of the newer ones.
pub(crate) async fn void_all(db: &mut impl Queries, session: Uuid) -> Result<(), DbError> {
    let sql = "update auth.refresh_tokens set revoked = true, updated_at = $2
               where session_id = $1";
    db.execute(sql, &[&session, &VOID_SINCE]).await?;
    Ok(())
}
