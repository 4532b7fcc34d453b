//! `auth.identities`: how a user can sign in.

use plinth_db::{DbError, Queries, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::{OffsetDateTime, serde::rfc3339};
use uuid::Uuid;

use super::Object;
use crate::wire_time;

/// An identity: an account at a provider, or an address or number of the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Stored")]
pub(crate) struct Identity {
    pub(crate) id: Uuid,
    /// The user's id at the provider; the user's own id for `email` and `phone`.
    pub(crate) provider_id: String,
    pub(crate) user_id: Uuid,
    pub(crate) provider: String,
    /// The claims of the provider.
    pub(crate) data: Object,
    /// From `data`, in lower case.
    pub(crate) email: String,
    pub(crate) last_sign_in_at: Option<OffsetDateTime>,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) updated_at: OffsetDateTime,
}

/// The columns of an [`Identity`], with the table as `i`.
pub(super) const COLUMNS: &str = "i.id, i.provider_id, i.user_id, i.provider, i.identity_data,
    i.email, i.last_sign_in_at, i.created_at, i.updated_at";

/// Whether the identity `i` proves that its address belongs to the user `u`. The provider must have
/// verified the address, or the user must have it: any user can write any address into a profile.
pub(super) const PROVES_ADDRESS: &str =
    "(i.identity_data ->> 'email_verified' = 'true' or lower(u.email) = i.email)";

/// The columns, from a row or from JSON in the row of the user.
#[derive(Deserialize)]
struct Stored {
    id: Uuid,
    provider_id: String,
    user_id: Uuid,
    provider: String,
    identity_data: Value,
    email: Option<String>,
    #[serde(with = "rfc3339::option")]
    last_sign_in_at: Option<OffsetDateTime>,
    #[serde(with = "rfc3339::option")]
    created_at: Option<OffsetDateTime>,
    #[serde(with = "rfc3339::option")]
    updated_at: Option<OffsetDateTime>,
}

impl From<Stored> for Identity {
    fn from(stored: Stored) -> Self {
        let created_at = stored.created_at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        Self {
            id: stored.id,
            provider_id: stored.provider_id,
            user_id: stored.user_id,
            provider: stored.provider,
            data: match stored.identity_data {
                Value::Object(data) => data,
                _ => Object::new(),
            },
            email: stored.email.unwrap_or_default(),
            last_sign_in_at: stored.last_sign_in_at,
            created_at,
            updated_at: stored.updated_at.unwrap_or(created_at),
        }
    }
}

impl Identity {
    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let stored = Stored {
            id: row.try_get("id")?,
            provider_id: row.try_get("provider_id")?,
            user_id: row.try_get("user_id")?,
            provider: row.try_get("provider")?,
            identity_data: row.try_get("identity_data")?,
            email: row.try_get("email")?,
            last_sign_in_at: row.try_get("last_sign_in_at")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        };
        Ok(stored.into())
    }

    /// Whether the provider has verified the address.
    pub(crate) fn is_email_verified(&self) -> bool {
        matches!(self.data.get("email_verified"), Some(Value::Bool(true)))
    }
}

/// An identity as clients see it (§1.5).
#[derive(Debug, Clone, Serialize)]
pub(crate) struct IdentityBody {
    identity_id: Uuid,
    id: String,
    user_id: Uuid,
    #[serde(skip_serializing_if = "Object::is_empty")]
    identity_data: Object,
    provider: String,
    #[serde(with = "wire_time::option", skip_serializing_if = "Option::is_none")]
    last_sign_in_at: Option<OffsetDateTime>,
    #[serde(serialize_with = "wire_time::serialize")]
    created_at: OffsetDateTime,
    #[serde(serialize_with = "wire_time::serialize")]
    updated_at: OffsetDateTime,
    #[serde(skip_serializing_if = "String::is_empty")]
    email: String,
}

impl From<Identity> for IdentityBody {
    fn from(identity: Identity) -> Self {
        Self {
            identity_id: identity.id,
            id: identity.provider_id,
            user_id: identity.user_id,
            identity_data: identity.data,
            provider: identity.provider,
            last_sign_in_at: identity.last_sign_in_at,
            created_at: identity.created_at,
            updated_at: identity.updated_at,
            email: identity.email,
        }
    }
}

/// All of a user's, oldest first.
pub(crate) async fn list(db: &mut impl Queries, user: Uuid) -> Result<Vec<Identity>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.identities i where i.user_id = $1 order by i.created_at, i.id"
    );
    let rows = db.query(&sql, &[&user]).await?;
    rows.iter().map(Identity::from_row).collect()
}

/// By the user's id at the provider.
pub(crate) async fn find(
    db: &mut impl Queries,
    provider: &str,
    provider_id: &str,
) -> Result<Option<Identity>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.identities i where i.provider_id = $1 and i.provider = $2"
    );
    let row = db.query_opt(&sql, &[&provider_id, &provider]).await?;
    row.as_ref().map(Identity::from_row).transpose()
}

/// Inserts an identity that is signed in with now.
pub(crate) async fn insert(
    db: &mut impl Queries,
    user: Uuid,
    provider: &str,
    provider_id: &str,
    data: Object,
    now: OffsetDateTime,
) -> Result<Identity, DbError> {
    let sql = format!(
        "insert into auth.identities as i
           (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $5, $5)
         returning {COLUMNS}"
    );
    let data = Value::Object(data);
    let params: plinth_db::Params<'_> = &[&provider_id, &user, &data, &provider, &now];
    let row = db.query_opt(&sql, params).await?;
    let row = row.ok_or_else(|| DbError::Misuse("an insert gave no row".to_owned()))?;
    Identity::from_row(&row)
}

/// Replaces the claims.
pub(crate) async fn update_data(
    db: &mut impl Queries,
    identity: Uuid,
    data: &Object,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.identities set identity_data = $2, updated_at = $3 where id = $1";
    let data = Value::Object(data.clone());
    db.execute(sql, &[&identity, &data, &now]).await?;
    Ok(())
}

/// Merges `changes` into the claims.
pub(crate) async fn merge_data(
    db: &mut impl Queries,
    identity: &Identity,
    changes: &Object,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let mut data = identity.data.clone();
    super::users::merge(&mut data, changes);
    update_data(db, identity.id, &data, now).await
}

/// Sets the time of the last sign-in.
pub(crate) async fn touch(
    db: &mut impl Queries,
    identity: Uuid,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.identities set last_sign_in_at = $2, updated_at = $2 where id = $1";
    db.execute(sql, &[&identity, &now]).await?;
    Ok(())
}

pub(crate) async fn delete(db: &mut impl Queries, identity: Uuid) -> Result<(), DbError> {
    let sql = "delete from auth.identities where id = $1";
    db.execute(sql, &[&identity]).await?;
    Ok(())
}

/// All of a user's but this one; returns how many there were.
pub(crate) async fn delete_all_but(
    db: &mut impl Queries,
    user: Uuid,
    but: Uuid,
) -> Result<u64, DbError> {
    let sql = "delete from auth.identities where user_id = $1 and id <> $2";
    db.execute(sql, &[&user, &but]).await
}

/// Marks the address of a user's identities as verified.
pub(crate) async fn verify_email(
    db: &mut impl Queries,
    user: Uuid,
    email: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.identities
               set identity_data = identity_data || '{\"email_verified\": true}', updated_at = $3
               where user_id = $1 and email = $2";
    db.execute(sql, &[&user, &email, &now]).await?;
    Ok(())
}

/// Marks the number of a user's `phone` identity as verified.
pub(crate) async fn verify_phone(
    db: &mut impl Queries,
    user: Uuid,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.identities
               set identity_data = identity_data || '{\"phone_verified\": true}', updated_at = $2
               where user_id = $1 and provider = 'phone'";
    db.execute(sql, &[&user, &now]).await?;
    Ok(())
}

/// Provider and user of every identity that proves one of these addresses.
pub(crate) async fn list_owners(
    db: &mut impl Queries,
    emails: &[&str],
) -> Result<Vec<(String, Uuid)>, DbError> {
    let sql = format!(
        "select distinct i.provider, i.user_id
         from auth.identities i
         join auth.users u on u.id = i.user_id
         where i.email = any ($1) and {PROVES_ADDRESS}"
    );
    let rows = db.query(&sql, &[&emails]).await?;
    let owner = |row: &Row| Ok((row.try_get("provider")?, row.try_get("user_id")?));
    rows.iter().map(owner).collect()
}

/// Empties an identity and gives it another id at its provider.
pub(crate) async fn anonymize(
    db: &mut impl Queries,
    identity: Uuid,
    provider_id: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.identities
               set provider_id = $2, identity_data = '{}', updated_at = $3
               where id = $1";
    db.execute(sql, &[&identity, &provider_id, &now]).await?;
    Ok(())
}

/// Updates `provider` and `providers` of the user's `app_metadata`, by age of the identities.
pub(crate) async fn recompute_providers(
    db: &mut impl Queries,
    user: &super::User,
    now: OffsetDateTime,
) -> Result<super::User, DbError> {
    let identities = list(db, user.id).await?;
    let mut providers: Vec<&str> = Vec::new();
    for identity in &identities {
        if !providers.contains(&identity.provider.as_str()) {
            providers.push(&identity.provider);
        }
    }
    let mut metadata = user.app_metadata.clone();
    if let Some(first) = providers.first() {
        metadata.insert("provider".to_owned(), (*first).into());
    }
    metadata.insert("providers".to_owned(), providers.into());
    super::users::set_app_metadata(db, user.id, metadata, now).await
}
