//! Signing keys: standby → in use → previously used → revoked.
//!
//! Rotation promotes the standby key and keeps verifying tokens of the old one, so no session ends.
//! Revoking a key invalidates its tokens.

use plinth_project::{ProjectName, ProjectRef};
use plinth_token::{Algorithm, InstanceKey, KeyStatus, Secret, SigningKey};
use serde_json::Value;
use time::OffsetDateTime;
use tokio_postgres::{GenericClient, Row, Transaction};
use uuid::Uuid;

use crate::{Platform, PlatformError, sealed::Sealed};

/// A key without its private part.
#[derive(Debug, Clone)]
pub struct StoredSigningKey {
    /// Its row; also the `kid` of tokens.
    pub id: Uuid,
    /// Such as `ES256`.
    pub algorithm: String,
    /// Its state.
    pub status: KeyStatus,
    /// None for shared secrets.
    pub public_jwk: Option<Value>,
    /// When it was created.
    pub created_at: OffsetDateTime,
    /// When its status last changed.
    pub updated_at: OffsetDateTime,
}

const COLUMNS: &str = "id, algorithm, status, public_jwk, created_at, updated_at";

impl StoredSigningKey {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        let status: &str = row.get("status");
        Ok(Self {
            id: row.get("id"),
            algorithm: row.get("algorithm"),
            status: KeyStatus::from_name(status)
                .ok_or_else(|| PlatformError::internal(format!("unknown key status {status:?}")))?,
            public_jwk: row.get("public_jwk"),
            created_at: row.get("created_at"),
            updated_at: row.get("updated_at"),
        })
    }
}

impl Platform {
    /// All keys, newest first.
    pub async fn list_signing_keys(
        &self,
        project: &ProjectName,
    ) -> Result<Vec<StoredSigningKey>, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let sql = format!(
            "select {COLUMNS} from platform.signing_keys where project = $1
             order by created_at desc, id"
        );
        let rows = self
            .tables()
            .await?
            .query(&sql, &[&reference.as_str()])
            .await?;
        rows.iter().map(StoredSigningKey::from_row).collect()
    }

    /// Adds a key on standby: generated, or imported from a private JWK.
    pub async fn create_signing_key(
        &self,
        project: &ProjectName,
        algorithm: Algorithm,
        private_jwk: Option<&Value>,
    ) -> Result<StoredSigningKey, PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let (id, key) = match private_jwk {
            None => generate(algorithm)?,
            Some(jwk) => {
                let id = Uuid::new_v4();
                let mut jwk = jwk.clone();
                jwk["kid"] = id.to_string().into();
                let key = SigningKey::from_private_jwk(&jwk.to_string())
                    .map_err(|error| PlatformError::Invalid(error.to_string()))?;
                (id, key)
            }
        };
        let tables = self.tables().await?;
        insert(
            &self.0.instance_key,
            &*tables,
            &reference,
            id,
            &key,
            KeyStatus::Standby,
        )
        .await?;
        self.load_signing_key(project, id).await
    }

    /// Promotes the standby key; the one in use keeps verifying. Adds a new key on standby.
    pub async fn rotate_signing_key(
        &self,
        project: &ProjectName,
    ) -> Result<StoredSigningKey, PlatformError> {
        let keys = self.list_signing_keys(project).await?;
        let next = match keys.iter().rfind(|key| key.status == KeyStatus::Standby) {
            Some(key) => key.id,
            None => {
                self.create_signing_key(project, Algorithm::Es256, None)
                    .await?
                    .id
            }
        };
        let promoted = self
            .set_signing_key_status(project, next, KeyStatus::InUse)
            .await?;
        self.create_signing_key(project, Algorithm::Es256, None)
            .await?;
        Ok(promoted)
    }

    /// Changes a key's state. The key in use can only be replaced.
    pub async fn set_signing_key_status(
        &self,
        project: &ProjectName,
        id: Uuid,
        status: KeyStatus,
    ) -> Result<StoredSigningKey, PlatformError> {
        let key = self.load_signing_key(project, id).await?;
        let reference = self.reference_of(project);
        if key.status == status {
            return Ok(key);
        }
        let mut admin = self.admin().await?;
        let transaction = admin.transaction().await?;
        match (key.status, status) {
            (KeyStatus::InUse, _) => {
                return Err(PlatformError::Conflict(
                    "This key signs tokens; put another one to use first: plinth keys rotate \
                     --signing"
                        .to_owned(),
                ));
            }
            (KeyStatus::Revoked, KeyStatus::InUse) => {
                return Err(PlatformError::Conflict(
                    "A revoked key cannot be used again".to_owned(),
                ));
            }
            (_, KeyStatus::InUse) => {
                let sql = "update platform.signing_keys
                           set status = 'previously_used', updated_at = now()
                           where project = $1 and status = 'in_use'";
                transaction.execute(sql, &[&reference.as_str()]).await?;
            }
            (_, KeyStatus::Standby | KeyStatus::PreviouslyUsed | KeyStatus::Revoked) => {}
        }
        let sql = "update platform.signing_keys set status = $2, updated_at = now() where id = $1";
        transaction.execute(sql, &[&id, &status.name()]).await?;
        transaction.commit().await?;
        self.load_signing_key(project, id).await
    }

    /// One key.
    pub async fn load_signing_key(
        &self,
        project: &ProjectName,
        id: Uuid,
    ) -> Result<StoredSigningKey, PlatformError> {
        let keys = self.list_signing_keys(project).await?;
        keys.into_iter()
            .find(|key| key.id == id)
            .ok_or_else(|| PlatformError::NotFound(format!("There is no signing key {id}")))
    }
}

/// The keys with their private parts, for signing and verifying.
pub(super) async fn open_all(
    client: &impl GenericClient,
    instance_key: &InstanceKey,
    reference: &ProjectRef,
) -> Result<Vec<(SigningKey, KeyStatus)>, PlatformError> {
    let sql = "select status, sealed_jwk from platform.signing_keys
               where project = $1 and status <> 'revoked' order by created_at desc, id";
    let rows = client.query(sql, &[&reference.as_str()]).await?;
    rows.iter()
        .map(|row| open(row, instance_key, reference))
        .collect()
}

fn open(
    row: &Row,
    instance_key: &InstanceKey,
    reference: &ProjectRef,
) -> Result<(SigningKey, KeyStatus), PlatformError> {
    let jwk: Secret = Sealed::SigningKey
        .open(instance_key, reference, row.get("sealed_jwk"))
        .map_err(PlatformError::caused_by)?;
    let key = SigningKey::from_private_jwk(jwk.expose()).map_err(PlatformError::caused_by)?;
    let status = KeyStatus::from_name(row.get("status"))
        .ok_or_else(|| PlatformError::internal("unknown key status"))?;
    Ok((key, status))
}

pub(super) async fn insert_generated(
    instance_key: &InstanceKey,
    transaction: &Transaction<'_>,
    reference: &ProjectRef,
    status: KeyStatus,
) -> Result<(), PlatformError> {
    let (id, key) = generate(Algorithm::Es256)?;
    insert(instance_key, transaction, reference, id, &key, status).await
}

fn generate(algorithm: Algorithm) -> Result<(Uuid, SigningKey), PlatformError> {
    let key = SigningKey::generate(algorithm)
        .map_err(|error| PlatformError::Invalid(error.to_string()))?;
    let id = key.kid().and_then(|kid| kid.parse().ok());
    let id = id.ok_or_else(|| PlatformError::internal("a generated key has no UUID as its kid"))?;
    Ok((id, key))
}

async fn insert(
    instance_key: &InstanceKey,
    client: &impl GenericClient,
    reference: &ProjectRef,
    id: Uuid,
    key: &SigningKey,
    status: KeyStatus,
) -> Result<(), PlatformError> {
    let sealed = Sealed::SigningKey.seal(instance_key, reference, &key.to_private_jwk());
    let sql = "insert into platform.signing_keys
                   (id, project, algorithm, status, public_jwk, sealed_jwk)
               values ($1, $2, $3, $4, $5, $6)";
    client
        .execute(
            sql,
            &[
                &id,
                &reference.as_str(),
                &key.algorithm().name(),
                &status.name(),
                &key.public_jwk(),
                &sealed,
            ],
        )
        .await?;
    Ok(())
}
