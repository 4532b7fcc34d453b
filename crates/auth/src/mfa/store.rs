//! SQL over `auth.mfa_factors` and `auth.mfa_challenges`. Nothing here knows about HTTP.

use std::net::IpAddr;

use plinth_db::{DbError, Queries, Row};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::model::{Factor, FactorKind, factors::COLUMNS};

/// What a factor begins with.
pub(super) struct NewFactor<'a> {
    pub(super) user: Uuid,
    pub(super) kind: FactorKind,
    pub(super) friendly_name: &'a str,
    pub(super) secret: Option<&'a str>,
    pub(super) phone: Option<&'a str>,
}

pub(super) async fn insert(
    db: &mut impl Queries,
    new: &NewFactor<'_>,
    now: OffsetDateTime,
) -> Result<Uuid, DbError> {
    let sql = "insert into auth.mfa_factors
                 (id, user_id, friendly_name, factor_type, status, created_at, updated_at,
                  secret, phone)
               values ($1, $2, $3, $4::text::auth.factor_type, 'unverified', $5, $5, $6, $7)";
    let id = crate::random::uuid();
    let kind = new.kind.as_str();
    let params: plinth_db::Params<'_> = &[
        &id,
        &new.user,
        &new.friendly_name,
        &kind,
        &now,
        &new.secret,
        &new.phone,
    ];
    db.execute(sql, params).await?;
    Ok(id)
}

/// A user's factor.
pub(super) async fn find(
    db: &mut impl Queries,
    user: Uuid,
    id: Uuid,
) -> Result<Option<Factor>, DbError> {
    let sql =
        format!("select {COLUMNS} from auth.mfa_factors f where f.id = $1 and f.user_id = $2");
    maybe(db.query_opt(&sql, &[&id, &user]).await?)
}

/// As [`find`], and nobody else may change it until the transaction ends.
pub(super) async fn lock(
    db: &mut impl Queries,
    user: Uuid,
    id: Uuid,
) -> Result<Option<Factor>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.mfa_factors f where f.id = $1 and f.user_id = $2 for update"
    );
    maybe(db.query_opt(&sql, &[&id, &user]).await?)
}

pub(super) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    db.execute("delete from auth.mfa_factors where id = $1", &[&id])
        .await?;
    Ok(())
}

/// Factors of the user that nobody ever tried to confirm, from before `limit`.
pub(super) async fn delete_stale(
    db: &mut impl Queries,
    user: Uuid,
    limit: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "delete from auth.mfa_factors f
               where f.user_id = $1 and f.status = 'unverified' and f.created_at < $2
                 and not exists (select 1 from auth.mfa_challenges c where c.factor_id = f.id)";
    db.execute(sql, &[&user, &limit]).await?;
    Ok(())
}

/// The other factors of that kind which the user never confirmed.
pub(super) async fn delete_unverified(
    db: &mut impl Queries,
    user: Uuid,
    kind: FactorKind,
) -> Result<(), DbError> {
    let sql = "delete from auth.mfa_factors
               where user_id = $1 and status = 'unverified'
                 and factor_type = $2::text::auth.factor_type";
    db.execute(sql, &[&user, &kind.as_str()]).await?;
    Ok(())
}

pub(super) async fn mark_verified(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.mfa_factors set status = 'verified', updated_at = $2 where id = $1";
    db.execute(sql, &[&id, &now]).await?;
    Ok(())
}

/// Names and numbers that are to stay are `None`.
pub(super) async fn update(
    db: &mut impl Queries,
    id: Uuid,
    friendly_name: Option<&str>,
    phone: Option<&str>,
    now: OffsetDateTime,
) -> Result<Option<Factor>, DbError> {
    let sql = format!(
        "update auth.mfa_factors f
         set friendly_name = coalesce($2, f.friendly_name), phone = coalesce($3, f.phone),
           updated_at = $4
         where f.id = $1
         returning {COLUMNS}"
    );
    maybe(
        db.query_opt(&sql, &[&id, &friendly_name, &phone, &now])
            .await?,
    )
}

/// What a security key is known by from now on, and what it answered last.
pub(super) async fn update_credential(
    db: &mut impl Queries,
    id: Uuid,
    credential: &Value,
    aaguid: Uuid,
    last_answer: &Value,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.mfa_factors
               set web_authn_credential = $2, web_authn_aaguid = $3,
                 last_webauthn_challenge_data = $4, updated_at = $5
               where id = $1";
    db.execute(sql, &[&id, credential, &aaguid, last_answer, &now])
        .await?;
    Ok(())
}

/// Notes when the factor was last asked for.
pub(super) async fn touch(
    db: &mut impl Queries,
    id: Uuid,
    at: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.mfa_factors set last_challenged_at = $2 where id = $1";
    db.execute(sql, &[&id, &at]).await?;
    Ok(())
}

/// Something that the owner of a factor is to answer.
#[derive(Debug)]
pub(super) struct Challenge {
    pub(super) id: Uuid,
    pub(super) factor_id: Uuid,
    pub(super) created_at: OffsetDateTime,
    pub(super) is_answered: bool,
    pub(super) ip: IpAddr,
    /// The code that was sent.
    pub(super) otp: Option<String>,
    /// What a security key was asked.
    pub(super) web_authn: Option<Value>,
}

pub(super) async fn insert_challenge(
    db: &mut impl Queries,
    challenge: &Challenge,
) -> Result<(), DbError> {
    let sql = "insert into auth.mfa_challenges
                 (id, factor_id, created_at, ip_address, otp_code, web_authn_session_data)
               values ($1, $2, $3, $4, $5, $6)";
    let params: plinth_db::Params<'_> = &[
        &challenge.id,
        &challenge.factor_id,
        &challenge.created_at,
        &challenge.ip,
        &challenge.otp,
        &challenge.web_authn,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// A factor's challenge; locked until the transaction ends, where there is one.
pub(super) async fn lock_challenge(
    db: &mut impl Queries,
    factor: Uuid,
    id: Uuid,
) -> Result<Option<Challenge>, DbError> {
    let sql = "select c.id, c.factor_id, c.created_at, c.verified_at is not null as is_answered,
                 c.ip_address, c.otp_code, c.web_authn_session_data
               from auth.mfa_challenges c
               where c.id = $1 and c.factor_id = $2
               for update";
    let Some(row) = db.query_opt(sql, &[&id, &factor]).await? else {
        return Ok(None);
    };
    Ok(Some(Challenge {
        id: row.try_get("id")?,
        factor_id: row.try_get("factor_id")?,
        created_at: row.try_get("created_at")?,
        is_answered: row.try_get("is_answered")?,
        ip: row.try_get("ip_address")?,
        otp: row.try_get("otp_code")?,
        web_authn: row.try_get("web_authn_session_data")?,
    }))
}

pub(super) async fn delete_challenge(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    db.execute("delete from auth.mfa_challenges where id = $1", &[&id])
        .await?;
    Ok(())
}

/// From now on the challenge is answered, with the code `otp` where that is worth keeping.
pub(super) async fn mark_answered(
    db: &mut impl Queries,
    id: Uuid,
    otp: Option<&str>,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.mfa_challenges set verified_at = $2, otp_code = coalesce($3, otp_code)
               where id = $1";
    db.execute(sql, &[&id, &now, &otp]).await?;
    Ok(())
}

/// With what the factor's challenges since then were answered.
pub(super) async fn list_answers(
    db: &mut impl Queries,
    factor: Uuid,
    since: OffsetDateTime,
) -> Result<Vec<String>, DbError> {
    let sql = "select c.otp_code from auth.mfa_challenges c
               where c.factor_id = $1 and c.created_at >= $2 and c.verified_at is not null
                 and c.otp_code is not null";
    let rows = db.query(sql, &[&factor, &since]).await?;
    let code = |row: &Row| row.try_get("otp_code");
    rows.iter().map(code).collect()
}

fn maybe(row: Option<Row>) -> Result<Option<Factor>, DbError> {
    row.as_ref().map(Factor::from_row).transpose()
}
