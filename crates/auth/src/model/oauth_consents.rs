//! `auth.oauth_consents`: the scopes that users granted applications, until they revoke them.

use plinth_db::{DbError, Queries, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use super::oauth_clients::{self, Client};
use crate::random;

/// A consent that is not revoked.
pub(crate) struct Consent {
    pub(crate) client: Client,
    pub(crate) scopes: String,
    pub(crate) granted_at: OffsetDateTime,
}

/// The scopes that the user grants the application at present.
pub(crate) async fn find_scopes(
    db: &mut impl Queries,
    user: Uuid,
    client: Uuid,
) -> Result<Option<String>, DbError> {
    let sql = "select scopes from auth.oauth_consents
               where user_id = $1 and client_id = $2 and revoked_at is null";
    let row = db.query_opt(sql, &[&user, &client]).await?;
    row.map(|row| row.try_get("scopes")).transpose()
}

/// Stores a consent in place of an earlier one.
pub(crate) async fn upsert(
    db: &mut impl Queries,
    user: Uuid,
    client: Uuid,
    scopes: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "insert into auth.oauth_consents (id, user_id, client_id, scopes, granted_at)
               values ($1, $2, $3, $4, $5)
               on conflict (user_id, client_id) do update
                 set scopes = excluded.scopes, granted_at = excluded.granted_at,
                   revoked_at = null";
    let id = random::uuid();
    db.execute(sql, &[&id, &user, &client, &scopes, &now])
        .await?;
    Ok(())
}

/// Revokes a consent; returns whether there was one.
pub(crate) async fn revoke(
    db: &mut impl Queries,
    user: Uuid,
    client: Uuid,
    now: OffsetDateTime,
) -> Result<bool, DbError> {
    let sql = "update auth.oauth_consents set revoked_at = greatest($3, granted_at)
               where user_id = $1 and client_id = $2 and revoked_at is null";
    Ok(db.execute(sql, &[&user, &client, &now]).await? > 0)
}

/// All of a user's that are not revoked, newest first, without those of deleted applications.
pub(crate) async fn list(db: &mut impl Queries, user: Uuid) -> Result<Vec<Consent>, DbError> {
    let sql = format!(
        "select {}, s.scopes, s.granted_at from auth.oauth_consents s
         join auth.oauth_clients c on c.id = s.client_id
         where s.user_id = $1 and s.revoked_at is null and c.deleted_at is null
         order by s.granted_at desc",
        oauth_clients::COLUMNS
    );
    let rows = db.query(&sql, &[&user]).await?;
    let consent = |row: &Row| -> Result<Consent, DbError> {
        Ok(Consent {
            client: Client::from_row(row)?,
            scopes: row.try_get("scopes")?,
            granted_at: row.try_get("granted_at")?,
        })
    };
    rows.iter().map(consent).collect()
}
