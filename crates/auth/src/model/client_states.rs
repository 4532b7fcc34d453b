//! `auth.oauth_client_states`: PKCE verifiers and OAuth 1.0a secrets while a user is at a provider.

use std::time::Duration;

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;
use uuid::Uuid;

const LIFETIME: Duration = Duration::from_secs(300);

/// A secret that was stored. Without `Debug`.
pub(crate) struct ClientState {
    pub(crate) provider_type: String,
    pub(crate) secret: String,
    created_at: OffsetDateTime,
}

impl ClientState {
    pub(crate) fn is_expired(&self, now: OffsetDateTime) -> bool {
        now >= self.created_at + LIFETIME
    }
}

pub(crate) async fn insert(
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

/// Deletes and returns it.
pub(crate) async fn take_state(
    db: &mut impl Queries,
    id: Uuid,
) -> Result<Option<ClientState>, DbError> {
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
