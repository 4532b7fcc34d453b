//! `auth.sessions`: one row per device that is signed in. Ending a session is deleting its row.

use plinth_db::{DbError, Queries, Row};
use postgres_types::Json;
use serde::Deserialize;
use time::{OffsetDateTime, serde::rfc3339};
use uuid::Uuid;

/// A sign-in.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    pub(crate) user_id: Uuid,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) aal: Aal,
    pub(crate) not_after: Option<OffsetDateTime>,
    pub(crate) refreshed_at: Option<OffsetDateTime>,
    pub(crate) user_agent: String,
    pub(crate) ip: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) oauth_client_id: Option<Uuid>,
    pub(crate) refresh_token_hmac_key: Option<String>,
    pub(crate) refresh_token_counter: Option<i64>,
    pub(crate) scopes: Option<String>,
}

/// How sure we are of who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Aal {
    Aal1,
    Aal2,
}

impl Aal {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
        }
    }
}

/// What [`Session::from_row`] reads, of a table that is called `s`. The names are the session's
/// own, so that a user's row can stand beside them.
pub(crate) const COLUMNS: &str = "s.id as session_id, s.user_id as session_user_id,
    s.created_at as session_created_at,
    s.aal::text as session_aal, s.not_after as session_not_after,
    (s.refreshed_at at time zone 'utc') as session_refreshed_at,
    s.user_agent as session_user_agent, host(s.ip) as session_ip, s.tag as session_tag,
    s.oauth_client_id as session_oauth_client_id,
    s.refresh_token_hmac_key as session_hmac_key, s.refresh_token_counter as session_counter,
    s.scopes as session_scopes";

impl Session {
    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let aal: Option<String> = row.try_get("session_aal")?;
        let created_at: Option<OffsetDateTime> = row.try_get("session_created_at")?;
        let user_agent: Option<String> = row.try_get("session_user_agent")?;
        Ok(Self {
            id: row.try_get("session_id")?,
            user_id: row.try_get("session_user_id")?,
            created_at: created_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
            aal: match aal.as_deref() {
                Some("aal2" | "aal3") => Aal::Aal2,
                _ => Aal::Aal1,
            },
            not_after: row.try_get("session_not_after")?,
            refreshed_at: row.try_get("session_refreshed_at")?,
            user_agent: user_agent.unwrap_or_default(),
            ip: row.try_get("session_ip")?,
            tag: row.try_get("session_tag")?,
            oauth_client_id: row.try_get("session_oauth_client_id")?,
            refresh_token_hmac_key: row.try_get("session_hmac_key")?,
            refresh_token_counter: row.try_get("session_counter")?,
            scopes: row.try_get("session_scopes")?,
        })
    }

    /// Key and count of its refresh tokens, if these are signed counters.
    pub(crate) fn counted(&self) -> Option<(String, i64)> {
        let key = self.refresh_token_hmac_key.clone();
        key.zip(self.refresh_token_counter)
    }

    /// From the right side of an outer join.
    pub(crate) fn from_joined_row(row: &Row) -> Result<Option<Self>, DbError> {
        let id: Option<Uuid> = row.try_get("session_id")?;
        id.map(|_| Self::from_row(row)).transpose()
    }
}

/// By id.
pub(crate) async fn find(db: &mut impl Queries, id: Uuid) -> Result<Option<Session>, DbError> {
    let sql = format!("select {COLUMNS} from auth.sessions s where s.id = $1");
    let row = db.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(Session::from_row).transpose()
}

/// The newest of a user's with how each was proved, newest first; `current` is among them however
/// old it is.
pub(crate) async fn list(
    db: &mut impl Queries,
    user: Uuid,
    current: Option<Uuid>,
    max: i64,
) -> Result<Vec<(Session, Vec<AmrClaim>)>, DbError> {
    let sql = format!(
        "select {COLUMNS}, {AMR}
         from (select * from auth.sessions where user_id = $1
               order by id is not distinct from $2 desc, created_at desc limit $3) s
         order by s.created_at desc"
    );
    let rows = db.query(&sql, &[&user, &current, &max]).await?;
    let listed = |row: &Row| Ok((Session::from_row(row)?, amr_from_row(row)?));
    rows.iter().map(listed).collect()
}

/// Ends one; its refresh tokens go with it.
pub(crate) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    db.execute("delete from auth.sessions where id = $1", &[&id])
        .await?;
    Ok(())
}

/// Ends all of a user's but this one.
pub(crate) async fn delete_all_but(
    db: &mut impl Queries,
    user: Uuid,
    but: Option<Uuid>,
) -> Result<(), DbError> {
    let sql = "delete from auth.sessions where user_id = $1 and id is distinct from $2";
    db.execute(sql, &[&user, &but]).await?;
    Ok(())
}

/// One of the ways in which somebody proved themselves in a session (`auth.mfa_amr_claims`).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AmrClaim {
    #[serde(rename = "authentication_method")]
    pub(crate) method: String,
    #[serde(with = "rfc3339", rename = "updated_at")]
    pub(crate) at: OffsetDateTime,
}

/// All claims of a session as one column, newest first; the session's table is called `s`.
pub(crate) const AMR: &str = "
    (select json_agg(a) from (
       select authentication_method, updated_at from auth.mfa_amr_claims
       where session_id = s.id order by updated_at desc) a) as session_amr";

/// What [`AMR`] found.
pub(crate) fn amr_from_row(row: &Row) -> Result<Vec<AmrClaim>, DbError> {
    let claims: Option<Json<Vec<AmrClaim>>> = row.try_get("session_amr")?;
    Ok(claims.map(|Json(claims)| claims).unwrap_or_default())
}

/// A session's, newest first.
pub(crate) async fn list_amr(
    db: &mut impl Queries,
    session: Uuid,
) -> Result<Vec<AmrClaim>, DbError> {
    let sql = "select authentication_method, updated_at from auth.mfa_amr_claims
               where session_id = $1 order by updated_at desc";
    let rows = db.query(sql, &[&session]).await?;
    let claim = |row: &Row| -> Result<AmrClaim, DbError> {
        Ok(AmrClaim {
            method: row.try_get("authentication_method")?,
            at: row.try_get("updated_at")?,
        })
    };
    rows.iter().map(claim).collect()
}

/// Notes a way; the same one again counts as new.
pub(crate) async fn add_amr(
    db: &mut impl Queries,
    session: Uuid,
    method: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "insert into auth.mfa_amr_claims
                 (id, session_id, authentication_method, created_at, updated_at)
               values ($1, $2, $3, $4, $4)
               on conflict (session_id, authentication_method) do update set updated_at = $4";
    let id = crate::random::uuid();
    db.execute(sql, &[&id, &session, &method, &now]).await?;
    Ok(())
}
