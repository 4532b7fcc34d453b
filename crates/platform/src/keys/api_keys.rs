//! Opaque `sb_publishable_…` and `sb_secret_…` keys.

use std::time::Duration;

use plinth_project::{ProjectName, ProjectRef};
use plinth_token::{ApiKey, ApiKeyKind, InstanceKey, Secret};
use time::OffsetDateTime;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use crate::{Platform, PlatformError, sealed::Sealed};

/// Parameters of a new key.
#[derive(Debug, Clone)]
pub struct ApiKeyRequest {
    /// Publishable or secret.
    pub kind: ApiKeyKind,
    /// `^[a-z_][a-z0-9_]+$`, 4 to 64 characters, unique among the live keys of its kind.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
}

/// A stored key, with its value opened.
#[derive(Debug, Clone)]
pub struct StoredApiKey {
    /// Its row.
    pub id: Uuid,
    /// Publishable or secret.
    pub kind: ApiKeyKind,
    /// As operators named it.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// The part that may be shown.
    pub prefix: String,
    /// SHA-256 of its text, in hex.
    pub hash: String,
    /// The text itself.
    pub value: Secret,
    /// When it was created.
    pub created_at: OffsetDateTime,
    /// When it was last changed.
    pub updated_at: OffsetDateTime,
    /// End of a rotated key's grace period.
    pub revoked_at: Option<OffsetDateTime>,
}

const LIVE: &str = "select id, kind, name, description, prefix, hash, sealed_value, created_at,
        updated_at, revoked_at
    from platform.api_keys
    where project = $1 and (revoked_at is null or revoked_at > now())";

const REVOKE: &str = "update platform.api_keys
    set revoked_at = now() + make_interval(secs => $2), updated_at = now()
    where id = $1";

impl StoredApiKey {
    fn from_row(
        row: &Row,
        instance_key: &InstanceKey,
        reference: &ProjectRef,
    ) -> Result<Self, PlatformError> {
        let sealed: &str = row.get("sealed_value");
        let value = Sealed::ApiKey.open(instance_key, reference, sealed);
        Ok(Self {
            id: row.get("id"),
            kind: parse_kind(row.get("kind"))?,
            name: row.get("name"),
            description: row.get("description"),
            prefix: row.get("prefix"),
            hash: row.get("hash"),
            value: value.map_err(PlatformError::caused_by)?,
            created_at: row.get("created_at"),
            updated_at: row.get("updated_at"),
            revoked_at: row.get("revoked_at"),
        })
    }

    /// The text with all but its prefix replaced, for lists.
    pub fn masked(&self) -> String {
        let hidden = self
            .value
            .expose()
            .chars()
            .count()
            .saturating_sub(self.prefix.len());
        format!("{}{}", self.prefix, "·".repeat(hidden))
    }
}

fn parse_kind(text: &str) -> Result<ApiKeyKind, PlatformError> {
    match text {
        "publishable" => Ok(ApiKeyKind::Publishable),
        "secret" => Ok(ApiKeyKind::Secret),
        other => Err(PlatformError::internal(format!(
            "unknown kind of API key {other:?}"
        ))),
    }
}

fn kind_name(kind: ApiKeyKind) -> &'static str {
    match kind {
        ApiKeyKind::Publishable => "publishable",
        ApiKeyKind::Secret => "secret",
    }
}

impl Platform {
    /// The live keys, oldest first.
    pub async fn list_api_keys(
        &self,
        project: &ProjectName,
    ) -> Result<Vec<StoredApiKey>, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let tables = self.tables().await?;
        list(&*tables, &self.0.instance_key, &reference).await
    }

    /// Creates a key.
    pub async fn create_api_key(
        &self,
        project: &ProjectName,
        request: &ApiKeyRequest,
    ) -> Result<StoredApiKey, PlatformError> {
        check_name(&request.name)?;
        let reference = self.load_project(project).await?.reference;
        let tables = self.tables().await?;
        insert(&self.0.instance_key, &*tables, &reference, request).await
    }

    /// Changes name or description.
    pub async fn update_api_key(
        &self,
        project: &ProjectName,
        id: Uuid,
        name: Option<&str>,
        description: Option<&str>,
    ) -> Result<StoredApiKey, PlatformError> {
        if let Some(name) = name {
            check_name(name)?;
        }
        let reference = self.load_project(project).await?.reference;
        let sql = "update platform.api_keys
                   set name = coalesce($3, name), description = coalesce($4, description),
                       updated_at = now()
                   where project = $1 and id = $2 and revoked_at is null";
        let tables = self.tables().await?;
        tables
            .execute(sql, &[&reference.as_str(), &id, &name, &description])
            .await?;
        self.load_api_key(project, &id.to_string()).await
    }

    /// Revokes a key after `grace`, which may be zero.
    pub async fn revoke_api_key(
        &self,
        project: &ProjectName,
        id_or_name: &str,
        grace: Duration,
    ) -> Result<StoredApiKey, PlatformError> {
        let key = self.load_api_key(project, id_or_name).await?;
        self.tables()
            .await?
            .execute(REVOKE, &[&key.id, &grace.as_secs_f64()])
            .await?;
        Ok(key)
    }

    /// Creates a key of the same kind and name; the old one stays valid for `grace`.
    pub async fn rotate_api_key(
        &self,
        project: &ProjectName,
        id_or_name: &str,
        grace: Duration,
    ) -> Result<StoredApiKey, PlatformError> {
        let old = self.load_api_key(project, id_or_name).await?;
        let reference = self.load_project(project).await?.reference;
        let request = ApiKeyRequest {
            kind: old.kind,
            name: old.name,
            description: old.description,
        };
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        transaction
            .execute(REVOKE, &[&old.id, &grace.as_secs_f64()])
            .await?;
        let new = insert(&self.0.instance_key, &transaction, &reference, &request).await?;
        transaction.commit().await?;
        Ok(new)
    }

    /// One live key by its id or, when only one kind has it, by its name.
    pub async fn load_api_key(
        &self,
        project: &ProjectName,
        id_or_name: &str,
    ) -> Result<StoredApiKey, PlatformError> {
        let keys = self.list_api_keys(project).await?;
        let mut found = keys.into_iter().filter(|key| {
            key.id.to_string() == id_or_name
                || (key.revoked_at.is_none()
                    && (key.name == id_or_name
                        || format!("{}/{}", kind_name(key.kind), key.name) == id_or_name))
        });
        match (found.next(), found.next()) {
            (Some(key), None) => Ok(key),
            (None, _) => Err(PlatformError::NotFound(format!(
                "There is no API key {id_or_name}"
            ))),
            (Some(_), Some(_)) => Err(PlatformError::Invalid(format!(
                "There is a publishable and a secret key named {id_or_name}; say \
                 publishable/{id_or_name} or secret/{id_or_name}"
            ))),
        }
    }
}

pub(super) async fn list(
    client: &impl GenericClient,
    instance_key: &InstanceKey,
    reference: &ProjectRef,
) -> Result<Vec<StoredApiKey>, PlatformError> {
    let sql = format!("{LIVE} order by created_at, kind");
    let rows = client.query(&sql, &[&reference.as_str()]).await?;
    rows.iter()
        .map(|row| StoredApiKey::from_row(row, instance_key, reference))
        .collect()
}

pub(super) async fn insert(
    instance_key: &InstanceKey,
    client: &impl GenericClient,
    reference: &ProjectRef,
    request: &ApiKeyRequest,
) -> Result<StoredApiKey, PlatformError> {
    let key = ApiKey::generate(request.kind);
    let sealed = Sealed::ApiKey.seal(instance_key, reference, key.text());
    let sql = "insert into platform.api_keys
                   (project, kind, name, description, prefix, hash, sealed_value)
               values ($1, $2, $3, $4, $5, $6, $7)
               on conflict (project, kind, name) where revoked_at is null do nothing
               returning id, kind, name, description, prefix, hash, sealed_value, created_at,
                         updated_at, revoked_at";
    let row = client
        .query_opt(
            sql,
            &[
                &reference.as_str(),
                &kind_name(request.kind),
                &request.name,
                &request.description,
                &key.prefix(),
                &key.hash(),
                &sealed,
            ],
        )
        .await?;
    match row {
        Some(row) => StoredApiKey::from_row(&row, instance_key, reference),
        None => Err(PlatformError::Conflict(format!(
            "There is already a {} key named {}",
            kind_name(request.kind),
            request.name
        ))),
    }
}

fn check_name(name: &str) -> Result<(), PlatformError> {
    let mut bytes = name.bytes();
    let has_valid_start = bytes
        .next()
        .is_some_and(|b| b.is_ascii_lowercase() || b == b'_');
    let has_valid_rest = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if (4..=64).contains(&name.len()) && has_valid_start && has_valid_rest {
        Ok(())
    } else {
        Err(PlatformError::Invalid(
            "A key's name has 4 to 64 lower-case letters, digits and underscores and does not \
             start with a digit"
                .to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_follow_the_contract() {
        for good in ["default", "_key", "mobile_app_2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "abc", "2fast", "Upper", "with-dash", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
