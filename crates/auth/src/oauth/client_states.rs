//! `auth.oauth_client_states`: our own secrets while somebody is at a provider.

use std::time::Duration;

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use plinth_db::{DbError, Queries};
use time::OffsetDateTime;
use uuid::Uuid;

const LIFETIME: Duration = Duration::from_secs(300);

/// A secret that was kept.
pub(super) struct ClientState {
    pub(super) provider_type: String,
    pub(super) secret: String,
    created_at: OffsetDateTime,
}

impl ClientState {
    pub(super) fn is_expired(&self, now: OffsetDateTime) -> bool {
        now >= self.created_at + LIFETIME
    }
}

/// What a verifier is announced by.
pub(super) fn challenge(verifier: &str) -> String {
    BASE64URL_NOPAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()).as_ref())
}

pub(super) async fn insert(
    db: &mut impl Queries,
    provider: &str,
    secret: &str,
    now: OffsetDateTime,
) -> Result<Uuid, DbError> {
    let sql = "insert into auth.oauth_client_states (id, provider_type, code_verifier, created_at)
               values ($1, $2, $3, $4)";
    let id = crate::random::uuid();
    db.execute(sql, &[&id, &provider, &secret, &now]).await?;
    Ok(id)
}

/// Gives it once.
pub(super) async fn take(db: &mut impl Queries, id: Uuid) -> Result<Option<ClientState>, DbError> {
    let sql = "delete from auth.oauth_client_states where id = $1
               returning provider_type, code_verifier, created_at";
    let Some(row) = db.query_opt(sql, &[&id]).await? else {
        return Ok(None);
    };
    let secret: Option<String> = row.try_get("code_verifier")?;
    Ok(Some(ClientState {
        provider_type: row.try_get("provider_type")?,
        secret: secret.unwrap_or_default(),
        created_at: row.try_get("created_at")?,
    }))
}
