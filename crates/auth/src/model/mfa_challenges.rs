//! `auth.mfa_challenges`: what the owner of a factor is to respond to.

use std::net::IpAddr;

use plinth_db::{DbError, Queries, Row};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

/// A challenge of one factor. Without `Debug`, since it holds the code.
pub(crate) struct MfaChallenge {
    pub(crate) id: Uuid,
    pub(crate) factor_id: Uuid,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) is_verified: bool,
    pub(crate) ip: IpAddr,
    /// The code that was sent.
    pub(crate) otp: Option<String>,
    /// What a security key is to sign.
    pub(crate) web_authn: Option<Value>,
}

pub(crate) async fn insert(db: &mut impl Queries, challenge: &MfaChallenge) -> Result<(), DbError> {
    let sql = "insert into auth.mfa_challenges
                 (id, factor_id, created_at, ip_address, otp_code, web_authn_session_data)
               values ($1, $2, $3, $4, $5, $6)";
    // GoTrue cannot read NULL here.
    let otp = challenge.otp.as_deref().unwrap_or_default();
    let params: plinth_db::Params<'_> = &[
        &challenge.id,
        &challenge.factor_id,
        &challenge.created_at,
        &challenge.ip,
        &otp,
        &challenge.web_authn,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// A factor's challenge, locked until the transaction ends, where there is one.
pub(crate) async fn lock(
    db: &mut impl Queries,
    factor: Uuid,
    id: Uuid,
) -> Result<Option<MfaChallenge>, DbError> {
    let sql = "select c.id, c.factor_id, c.created_at, c.verified_at is not null as is_verified,
                 c.ip_address, c.otp_code, c.web_authn_session_data
               from auth.mfa_challenges c
               where c.id = $1 and c.factor_id = $2
               for update";
    let Some(row) = db.query_opt(sql, &[&id, &factor]).await? else {
        return Ok(None);
    };
    Ok(Some(MfaChallenge {
        id: row.try_get("id")?,
        factor_id: row.try_get("factor_id")?,
        created_at: row.try_get("created_at")?,
        is_verified: row.try_get("is_verified")?,
        ip: row.try_get("ip_address")?,
        otp: row.try_get("otp_code")?,
        web_authn: row.try_get("web_authn_session_data")?,
    }))
}

pub(crate) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    db.execute("delete from auth.mfa_challenges where id = $1", &[&id])
        .await?;
    Ok(())
}

/// Marks the challenge as verified, and stores the code `otp` if it is given.
pub(crate) async fn mark_verified(
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

/// The codes that the factor's challenges since then were verified with.
pub(crate) async fn list_codes(
    db: &mut impl Queries,
    factor: Uuid,
    since: OffsetDateTime,
) -> Result<Vec<String>, DbError> {
    let sql = "select c.otp_code from auth.mfa_challenges c
               where c.factor_id = $1 and c.created_at >= $2 and c.verified_at is not null
                 and c.otp_code <> ''";
    let rows = db.query(sql, &[&factor, &since]).await?;
    let code = |row: &Row| row.try_get("otp_code");
    rows.iter().map(code).collect()
}
