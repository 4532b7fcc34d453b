//! `auth.webauthn_credentials`: the passkeys of users.

use plinth_db::{DbError, Queries, Row};
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{webauthn::Credential, wire_time};

/// A passkey.
#[derive(Debug, Clone)]
pub(crate) struct Passkey {
    pub(crate) id: Uuid,
    pub(crate) user_id: Uuid,
    pub(crate) credential: Credential,
    friendly_name: String,
    created_at: OffsetDateTime,
    last_used_at: Option<OffsetDateTime>,
}

/// A passkey as its owner sees it.
#[derive(Debug, Serialize)]
pub(crate) struct PasskeyBody {
    id: Uuid,
    #[serde(skip_serializing_if = "String::is_empty")]
    friendly_name: String,
    #[serde(serialize_with = "wire_time::serialize")]
    created_at: OffsetDateTime,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    last_used_at: Option<OffsetDateTime>,
}

impl From<Passkey> for PasskeyBody {
    fn from(passkey: Passkey) -> Self {
        Self {
            id: passkey.id,
            friendly_name: passkey.friendly_name,
            created_at: passkey.created_at,
            last_used_at: passkey.last_used_at,
        }
    }
}

const COLUMNS: &str = "p.id, p.user_id, p.credential_id, p.public_key, p.attestation_type,
    p.aaguid, p.sign_count, p.transports, p.backup_eligible, p.backed_up, p.friendly_name,
    p.created_at, p.last_used_at";

impl Passkey {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let aaguid: Option<Uuid> = row.try_get("aaguid")?;
        let sign_count: i64 = row.try_get("sign_count")?;
        let transports: Value = row.try_get("transports")?;
        let transports = transports.as_array().into_iter().flatten();
        let attestation_type: String = row.try_get("attestation_type")?;
        Ok(Self {
            id: row.try_get("id")?,
            user_id: row.try_get("user_id")?,
            credential: Credential {
                id: row.try_get("credential_id")?,
                public_key: row.try_get("public_key")?,
                attestation_type: attestation_type.into(),
                aaguid: aaguid.unwrap_or_default(),
                sign_count: u32::try_from(sign_count).unwrap_or(u32::MAX),
                transports: transports
                    .filter_map(|name| name.as_str().map(ToOwned::to_owned))
                    .collect(),
                is_user_verified: false,
                is_backup_eligible: row.try_get("backup_eligible")?,
                is_backed_up: row.try_get("backed_up")?,
            },
            friendly_name: row.try_get("friendly_name")?,
            created_at: row.try_get("created_at")?,
            last_used_at: row.try_get("last_used_at")?,
        })
    }
}

/// All of a user's, oldest first.
pub(crate) async fn list(db: &mut impl Queries, user: Uuid) -> Result<Vec<Passkey>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.webauthn_credentials p
         where p.user_id = $1 order by p.created_at, p.id"
    );
    let rows = db.query(&sql, &[&user]).await?;
    rows.iter().map(Passkey::from_row).collect()
}

/// By the credential id, locked until the transaction ends.
pub(crate) async fn lock_by_credential(
    db: &mut impl Queries,
    credential: &[u8],
) -> Result<Option<Passkey>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.webauthn_credentials p where p.credential_id = $1 for update"
    );
    optional(db.query_opt(&sql, &[&credential]).await?)
}

/// A new one; `None` if the credential is registered already, by this user or another.
pub(crate) async fn insert(
    db: &mut impl Queries,
    user: Uuid,
    credential: &Credential,
    friendly_name: &str,
    now: OffsetDateTime,
) -> Result<Option<Passkey>, DbError> {
    let sql = format!(
        "insert into auth.webauthn_credentials as p (
           id, user_id, credential_id, public_key, attestation_type, aaguid, sign_count,
           transports, backup_eligible, backed_up, friendly_name, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
         on conflict (credential_id) do nothing
         returning {COLUMNS}"
    );
    let id = crate::random::uuid();
    let sign_count = i64::from(credential.sign_count);
    let transports = json!(credential.transports);
    let params: plinth_db::Params<'_> = &[
        &id,
        &user,
        &credential.id,
        &credential.public_key,
        &credential.attestation_type.as_ref(),
        &credential.aaguid,
        &sign_count,
        &transports,
        &credential.is_backup_eligible,
        &credential.is_backed_up,
        &friendly_name,
        &now,
    ];
    optional(db.query_opt(&sql, params).await?)
}

/// Stores what a sign-in changed: counter, backup state and the time.
pub(crate) async fn update_used(
    db: &mut impl Queries,
    id: Uuid,
    credential: &Credential,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.webauthn_credentials
               set sign_count = $2, backed_up = $3, last_used_at = $4, updated_at = $4
               where id = $1";
    let sign_count = i64::from(credential.sign_count);
    let params: plinth_db::Params<'_> = &[&id, &sign_count, &credential.is_backed_up, &now];
    db.execute(sql, params).await?;
    Ok(())
}

pub(crate) async fn rename(
    db: &mut impl Queries,
    user: Uuid,
    id: Uuid,
    friendly_name: &str,
    now: OffsetDateTime,
) -> Result<Option<Passkey>, DbError> {
    let sql = format!(
        "update auth.webauthn_credentials p set friendly_name = $3, updated_at = $4
         where p.id = $1 and p.user_id = $2
         returning {COLUMNS}"
    );
    optional(
        db.query_opt(&sql, &[&id, &user, &friendly_name, &now])
            .await?,
    )
}

/// Returns whether it was there.
pub(crate) async fn delete(db: &mut impl Queries, user: Uuid, id: Uuid) -> Result<bool, DbError> {
    let sql = "delete from auth.webauthn_credentials where id = $1 and user_id = $2";
    Ok(db.execute(sql, &[&id, &user]).await? > 0)
}

/// All of the user's; returns how many there were.
pub(crate) async fn delete_all(db: &mut impl Queries, user: Uuid) -> Result<u64, DbError> {
    let sql = "delete from auth.webauthn_credentials where user_id = $1";
    db.execute(sql, &[&user]).await
}

fn optional(row: Option<Row>) -> Result<Option<Passkey>, DbError> {
    row.as_ref().map(Passkey::from_row).transpose()
}
