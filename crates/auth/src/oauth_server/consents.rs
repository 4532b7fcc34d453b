//! `auth.oauth_consents`: what users let applications do, until they take it back.

use plinth_db::{DbError, Queries, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use super::clients::{self, Client};
use crate::random;

/// A yes that still holds.
pub(super) struct Consent {
    pub(super) client: Client,
    pub(super) scopes: String,
    pub(super) granted_at: OffsetDateTime,
}

/// The scopes that the user lets the application have now.
pub(super) async fn find_scopes(
    db: &mut impl Queries,
    user: Uuid,
    client: Uuid,
) -> Result<Option<String>, DbError> {
    let sql = "select scopes from auth.oauth_consents
               where user_id = $1 and client_id = $2 and revoked_at is null";
    let row = db.query_opt(sql, &[&user, &client]).await?;
    row.map(|row| row.try_get("scopes")).transpose()
}

/// Notes a yes; it takes the place of an earlier one.
pub(super) async fn put(
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

/// Takes a yes back; whether there was one.
pub(super) async fn revoke(
    db: &mut impl Queries,
    user: Uuid,
    client: Uuid,
    now: OffsetDateTime,
) -> Result<bool, DbError> {
    let sql = "update auth.oauth_consents set revoked_at = greatest($3, granted_at)
               where user_id = $1 and client_id = $2 and revoked_at is null";
    Ok(db.execute(sql, &[&user, &client, &now]).await? > 0)
}

/// All of a user's that hold, newest first; those of deleted applications are left out.
pub(super) async fn list(db: &mut impl Queries, user: Uuid) -> Result<Vec<Consent>, DbError> {
    let sql = format!(
        "select {}, s.scopes, s.granted_at from auth.oauth_consents s
         join auth.oauth_clients c on c.id = s.client_id
         where s.user_id = $1 and s.revoked_at is null and c.deleted_at is null
         order by s.granted_at desc",
        clients::COLUMNS
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
