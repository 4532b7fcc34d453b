//! The legacy `anon` and `service_role` keys: JWTs derived from the project's shared secret.

use plinth_project::{ProjectKind, ProjectName, ProjectRef};
use plinth_token::{
    ANON_ROLE, LEGACY_KEY_LIFETIME, SERVICE_ROLE, Secret, generate_jwt_secret, issue_legacy_key,
};
use time::OffsetDateTime;
use tokio_postgres::GenericClient;

use super::ConfiguredKeys;
use crate::{Platform, PlatformError, sealed::Sealed};

/// The shared secret and the two keys that follow from it.
#[derive(Debug, Clone)]
pub struct LegacyKeys {
    /// Signs and verifies HS256 tokens.
    pub jwt_secret: Secret,
    /// Role `anon`.
    pub anon: Secret,
    /// Role `service_role`.
    pub service_role: Secret,
    /// Whether they are accepted.
    pub enabled: bool,
}

impl Platform {
    /// The legacy keys of a project.
    pub async fn legacy_keys(&self, project: &ProjectName) -> Result<LegacyKeys, PlatformError> {
        let row = self.load_project(project).await?;
        let configured = configured_for(&self.0.configured_keys, row.kind);
        let tables = self.tables().await?;
        load(&*tables, &self.0.instance_key, &row.reference, configured).await
    }

    /// Enables or disables the legacy keys.
    pub async fn set_legacy_enabled(
        &self,
        project: &ProjectName,
        enabled: bool,
    ) -> Result<(), PlatformError> {
        let reference = self.load_project(project).await?.reference;
        let sql = "update platform.projects set legacy_keys_enabled = $2 where ref = $1";
        self.tables()
            .await?
            .execute(sql, &[&reference.as_str(), &enabled])
            .await?;
        Ok(())
    }

    /// Generates a new shared secret, which invalidates both legacy keys and all tokens signed with
    /// the old one.
    pub async fn rotate_legacy(&self, project: &ProjectName) -> Result<LegacyKeys, PlatformError> {
        let row = self.load_project(project).await?;
        if row.kind == ProjectKind::Default && self.0.configured_keys.jwt_secret.is_some() {
            return Err(PlatformError::Conflict(
                "The JWT secret is fixed by the configuration (auth.jwt_secret); change it there"
                    .to_owned(),
            ));
        }
        let reference = &row.reference;
        let sealed =
            Sealed::JwtSecret.seal(&self.0.instance_key, reference, &generate_jwt_secret());
        let sql = "update platform.projects set sealed_jwt_secret = $2 where ref = $1";
        self.tables()
            .await?
            .execute(sql, &[&reference.as_str(), &sealed])
            .await?;
        self.legacy_keys(project).await
    }
}

/// Configured keys belong to the default project only.
pub(super) fn configured_for(
    configured: &ConfiguredKeys,
    kind: ProjectKind,
) -> Option<&ConfiguredKeys> {
    (kind == ProjectKind::Default).then_some(configured)
}

pub(super) async fn load(
    client: &impl GenericClient,
    instance_key: &plinth_token::InstanceKey,
    reference: &ProjectRef,
    configured: Option<&ConfiguredKeys>,
) -> Result<LegacyKeys, PlatformError> {
    let sql = "select sealed_jwt_secret, legacy_keys_enabled, created_at
               from platform.projects where ref = $1";
    let row = client.query_one(sql, &[&reference.as_str()]).await?;
    let stored = || {
        Sealed::JwtSecret
            .open(instance_key, reference, row.get("sealed_jwt_secret"))
            .map_err(PlatformError::caused_by)
    };
    let jwt_secret = match configured.and_then(|configured| configured.jwt_secret.clone()) {
        Some(secret) => secret,
        None => stored()?,
    };
    // Deterministic, so the keys need not be stored.
    let issued_at = row.get::<_, OffsetDateTime>("created_at").unix_timestamp();
    let issue = |role| {
        let expires_at = issued_at + LEGACY_KEY_LIFETIME;
        issue_legacy_key(
            &jwt_secret,
            role,
            Some(reference.as_str()),
            issued_at,
            expires_at,
        )
        .map_err(PlatformError::caused_by)
    };
    let anon = match configured.and_then(|configured| configured.anon_key.clone()) {
        Some(key) => key,
        None => issue(ANON_ROLE)?,
    };
    let service_role = match configured.and_then(|configured| configured.service_role_key.clone()) {
        Some(key) => key,
        None => issue(SERVICE_ROLE)?,
    };
    Ok(LegacyKeys {
        jwt_secret,
        anon,
        service_role,
        enabled: row.get("legacy_keys_enabled"),
    })
}
