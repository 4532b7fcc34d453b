//! SQL over `auth.sessions` and `auth.mfa_amr_claims`.

use std::net::IpAddr;

use plinth_db::{DbError, Params, Queries, Row, Step};
use plinth_project::{Project, Service, ServiceTransaction};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{AMR, AmrClaim, COLUMNS, Session, amr_from_row};
use crate::model::subject::Subject;

/// A session to be inserted.
pub(crate) struct NewSession<'a> {
    pub(crate) id: Uuid,
    pub(crate) user: Uuid,
    /// How the user authenticated.
    pub(crate) method: &'a str,
    pub(crate) not_after: Option<OffsetDateTime>,
    pub(crate) user_agent: &'a str,
    pub(crate) ip: IpAddr,
    pub(crate) tag: Option<&'a str>,
    pub(crate) oauth_client_id: Option<Uuid>,
    pub(crate) scopes: Option<&'a str>,
}

/// Inserts a session of aal1 and its method.
pub(crate) async fn insert(
    db: &mut impl Queries,
    new: &NewSession<'_>,
    now: OffsetDateTime,
) -> Result<Session, DbError> {
    let sql = format!(
        "insert into auth.sessions as s (
           id, user_id, created_at, updated_at, aal, not_after, user_agent, ip, tag,
           oauth_client_id, scopes)
         values ($1, $2, $3, $3, 'aal1', $4, $5, $6::text::inet, $7, $8, $9)
         returning {COLUMNS}"
    );
    let ip = new.ip.to_string();
    let params: Params<'_> = &[
        &new.id,
        &new.user,
        &now,
        &new.not_after,
        &new.user_agent,
        &ip,
        &new.tag,
        &new.oauth_client_id,
        &new.scopes,
    ];
    let row = db.query_opt(&sql, params).await?;
    let row = row.ok_or_else(|| DbError::Misuse("an insert returned no row".to_owned()))?;
    add_amr(db, new.id, new.method, now).await?;
    Session::from_row(&row)
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

/// Ends one of a user's. Returns how many that were.
pub(crate) async fn delete_of_user(
    db: &mut impl Queries,
    user: Uuid,
    id: Uuid,
) -> Result<u64, DbError> {
    let sql = "delete from auth.sessions where id = $1 and user_id = $2";
    db.execute(sql, &[&id, &user]).await
}

/// Ends all of a user's. Returns how many that were.
pub(crate) async fn delete_all(db: &mut impl Queries, user: Uuid) -> Result<u64, DbError> {
    let sql = "delete from auth.sessions where user_id = $1";
    db.execute(sql, &[&user]).await
}

/// How many a user has.
pub(crate) async fn count(db: &mut impl Queries, user: Uuid) -> Result<u64, DbError> {
    let sql = "select count(*) as total from auth.sessions where user_id = $1";
    let total: i64 = match db.query_opt(sql, &[&user]).await? {
        Some(row) => row.try_get("total")?,
        None => 0,
    };
    Ok(total.unsigned_abs())
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

/// Ends all of a user's that belong to an application.
pub(crate) async fn delete_for_client(
    db: &mut impl Queries,
    user: Uuid,
    client: Uuid,
) -> Result<(), DbError> {
    let sql = "delete from auth.sessions where user_id = $1 and oauth_client_id = $2";
    db.execute(sql, &[&user, &client]).await?;
    Ok(())
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

/// As [`find`], and locks the row until the transaction ends.
pub(crate) async fn lock(db: &mut impl Queries, id: Uuid) -> Result<Option<Session>, DbError> {
    let sql = format!("select {COLUMNS} from auth.sessions s where s.id = $1 for update");
    let row = db.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(Session::from_row).transpose()
}

/// Begins a transaction and locks a session, unless another request has; with its user. All of that
/// is one round trip.
pub(crate) async fn lock_with_subject(
    project: &Project,
    id: Uuid,
) -> Result<(ServiceTransaction, Option<(Session, Subject)>), DbError> {
    let sql = format!(
        "select {COLUMNS}, {} from auth.sessions s join auth.users u on u.id = s.user_id
         where s.id = $1 for update of s skip locked",
        Subject::columns()
    );
    let params: Params<'_> = &[&id];
    let select = Step::typed(&sql, params);
    let begun = project.db.begin_as_service_with(Service::Auth, select);
    let (tx, rows) = begun.await?;
    let found = match rows.first() {
        Some(row) => Some((Session::from_row(row)?, Subject::from_row(row)?)),
        None => None,
    };
    Ok((tx, found))
}

/// Sets the key that signs the session's refresh tokens, and the counter of the newest one.
pub(crate) async fn set_refresh_key(
    db: &mut impl Queries,
    id: Uuid,
    key: &str,
    counter: i64,
) -> Result<(), DbError> {
    let sql = "update auth.sessions set refresh_token_hmac_key = $2, refresh_token_counter = $3
               where id = $1";
    db.execute(sql, &[&id, &key, &counter]).await?;
    Ok(())
}

/// What a refresh changes.
pub(crate) struct Refreshed<'a> {
    pub(crate) at: OffsetDateTime,
    pub(crate) user_agent: &'a str,
    pub(crate) ip: IpAddr,
    /// The new counter of the refresh tokens, if it changes.
    pub(crate) counter: Option<i64>,
    /// Entries of the audit log.
    pub(crate) audit_payloads: &'a [Value],
}

/// Updates the session and writes the audit log, in one statement.
pub(crate) async fn store_refresh(
    db: &mut impl Queries,
    id: Uuid,
    refreshed: &Refreshed<'_>,
) -> Result<(), DbError> {
    let sql = "with updated as (
                 update auth.sessions
                 set refreshed_at = $2::timestamptz at time zone 'utc', updated_at = $2,
                   user_agent = $3, ip = $4::text::inet,
                   refresh_token_counter = coalesce($5, refresh_token_counter)
                 where id = $1)
               insert into auth.audit_log_entries
                 (instance_id, id, payload, created_at, ip_address)
               select $6, gen_random_uuid(), payload, $2, $4
               from unnest($7::json[]) as payload";
    let ip = refreshed.ip.to_string();
    let params: Params<'_> = &[
        &id,
        &refreshed.at,
        &refreshed.user_agent,
        &ip,
        &refreshed.counter,
        &Uuid::nil(),
        &refreshed.audit_payloads,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// Raises a session to aal2 by a factor.
pub(crate) async fn raise_aal(
    db: &mut impl Queries,
    id: Uuid,
    factor: Uuid,
    now: OffsetDateTime,
) -> Result<Session, DbError> {
    let sql = format!(
        "update auth.sessions s set aal = 'aal2', factor_id = $2, updated_at = $3
         where s.id = $1
         returning {COLUMNS}"
    );
    let row = db.query_opt(&sql, &[&id, &factor, &now]).await?;
    let row = row.ok_or_else(|| DbError::Misuse("a locked session is gone".to_owned()))?;
    Session::from_row(&row)
}

/// Lowers every session that a factor raised to aal1, and removes that `method` from them.
pub(crate) async fn lower_aal(
    db: &mut impl Queries,
    factor: Uuid,
    method: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "delete from auth.mfa_amr_claims a using auth.sessions s
               where s.id = a.session_id and s.factor_id = $1 and a.authentication_method = $2";
    db.execute(sql, &[&factor, &method]).await?;
    let sql = "update auth.sessions set aal = 'aal1', factor_id = null, updated_at = $2
               where factor_id = $1";
    db.execute(sql, &[&factor, &now]).await?;
    Ok(())
}

/// Ends all of a user's that are below aal2.
pub(crate) async fn delete_below_aal2(db: &mut impl Queries, user: Uuid) -> Result<(), DbError> {
    let sql = "delete from auth.sessions
               where user_id = $1 and (aal is null or aal = 'aal1')";
    db.execute(sql, &[&user]).await?;
    Ok(())
}

/// The earliest times at which a session may have begun or been used to be valid at present; `None`
/// for no limit.
pub(crate) struct ValidSince {
    pub(crate) created_at: Option<OffsetDateTime>,
    pub(crate) used_at: Option<OffsetDateTime>,
    /// For those below aal2.
    pub(crate) created_at_low_aal: Option<OffsetDateTime>,
}

/// Whether another valid session of the same user and tag was used more recently.
pub(crate) async fn is_superseded(
    db: &mut impl Queries,
    session: &Session,
    valid_since: &ValidSince,
    now: OffsetDateTime,
) -> Result<bool, DbError> {
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
    let params: Params<'_> = &[
        &session.user_id,
        &session.id,
        &session.tag,
        &last_used,
        &now,
        &valid_since.created_at,
        &valid_since.used_at,
        &valid_since.created_at_low_aal,
    ];
    Ok(db.query_opt(sql, params).await?.is_some())
}
