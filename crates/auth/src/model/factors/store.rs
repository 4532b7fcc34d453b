//! SQL over `auth.mfa_factors`.

use plinth_db::{DbError, Queries, Row};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{COLUMNS, Factor, FactorKind};

/// A factor to be inserted.
pub(crate) struct NewFactor<'a> {
    pub(crate) user: Uuid,
    pub(crate) kind: FactorKind,
    pub(crate) friendly_name: &'a str,
    pub(crate) secret: Option<&'a str>,
    pub(crate) phone: Option<&'a str>,
}

pub(crate) async fn insert(
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
    // GoTrue cannot read NULL here.
    let secret = new.secret.unwrap_or_default();
    let params: plinth_db::Params<'_> = &[
        &id,
        &new.user,
        &new.friendly_name,
        &kind,
        &now,
        &secret,
        &new.phone,
    ];
    db.execute(sql, params).await?;
    Ok(id)
}

/// A user's factor.
pub(crate) async fn find(
    db: &mut impl Queries,
    user: Uuid,
    id: Uuid,
) -> Result<Option<Factor>, DbError> {
    let sql =
        format!("select {COLUMNS} from auth.mfa_factors f where f.id = $1 and f.user_id = $2");
    optional(db.query_opt(&sql, &[&id, &user]).await?)
}

/// As [`find`], and locks the row until the transaction ends.
pub(crate) async fn lock(
    db: &mut impl Queries,
    user: Uuid,
    id: Uuid,
) -> Result<Option<Factor>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.mfa_factors f where f.id = $1 and f.user_id = $2 for update"
    );
    optional(db.query_opt(&sql, &[&id, &user]).await?)
}

pub(crate) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    db.execute("delete from auth.mfa_factors where id = $1", &[&id])
        .await?;
    Ok(())
}

/// All of the user's; returns how many there were.
pub(crate) async fn delete_all(db: &mut impl Queries, user: Uuid) -> Result<u64, DbError> {
    let sql = "delete from auth.mfa_factors where user_id = $1";
    db.execute(sql, &[&user]).await
}

/// Deletes the user's unverified factors from before `limit` that were never challenged.
pub(crate) async fn delete_stale(
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

/// Deletes the user's unverified factors of that kind.
pub(crate) async fn delete_unverified(
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

pub(crate) async fn mark_verified(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.mfa_factors set status = 'verified', updated_at = $2 where id = $1";
    db.execute(sql, &[&id, &now]).await?;
    Ok(())
}

/// Sets name and number where they are given.
pub(crate) async fn update(
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
    optional(
        db.query_opt(&sql, &[&id, &friendly_name, &phone, &now])
            .await?,
    )
}

/// Stores the credential of a security key, and its last response.
pub(crate) async fn update_credential(
    db: &mut impl Queries,
    id: Uuid,
    credential: &Value,
    aaguid: Uuid,
    last_response: &Value,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.mfa_factors
               set web_authn_credential = $2, web_authn_aaguid = $3,
                 last_webauthn_challenge_data = $4, updated_at = $5
               where id = $1";
    db.execute(sql, &[&id, credential, &aaguid, last_response, &now])
        .await?;
    Ok(())
}

/// Sets when the factor was last challenged.
pub(crate) async fn set_last_challenged(
    db: &mut impl Queries,
    id: Uuid,
    at: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.mfa_factors set last_challenged_at = $2 where id = $1";
    db.execute(sql, &[&id, &at]).await?;
    Ok(())
}

/// All of a user's, oldest first.
pub(crate) async fn list(db: &mut impl Queries, user: Uuid) -> Result<Vec<Factor>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.mfa_factors f where f.user_id = $1 order by f.created_at, f.id"
    );
    let rows = db.query(&sql, &[&user]).await?;
    rows.iter().map(Factor::from_row).collect()
}

/// Whether the user can reach aal2.
pub(crate) async fn has_verified(db: &mut impl Queries, user: Uuid) -> Result<bool, DbError> {
    let sql = "select 1 from auth.mfa_factors f where f.user_id = $1 and f.status = 'verified'
               limit 1";
    Ok(db.query_opt(sql, &[&user]).await?.is_some())
}

fn optional(row: Option<Row>) -> Result<Option<Factor>, DbError> {
    row.as_ref().map(Factor::from_row).transpose()
}
