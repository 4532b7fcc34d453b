//! Loads all keys of a project in the form in which requests are verified.

use std::{collections::HashMap, sync::Arc};

use plinth_project::{ApiKey, ProjectKeys, ProjectKind, ProjectRef, S3Keys, url_signing_keys};
use plinth_token::{ApiKeyKind, InstanceKey, KeySet, KeyStatus, Secret, credential_hash};
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::{ConfiguredKeys, LegacyKeys, api_keys, legacy, s3_credentials, signing_keys};
use crate::PlatformError;

pub(crate) async fn load_keys(
    client: &impl GenericClient,
    instance_key: &InstanceKey,
    reference: &ProjectRef,
    kind: ProjectKind,
    configured: &ConfiguredKeys,
) -> Result<ProjectKeys, PlatformError> {
    let configured = legacy::configured_for(configured, kind);
    let legacy = legacy::load(client, instance_key, reference, configured).await?;
    let signing = signing_keys::open_all(client, instance_key, reference).await?;
    let keyset = build_keyset(&legacy, signing, configured)?;

    let mut by_hash = HashMap::new();
    let mut s3 = S3Keys::default();
    if legacy.enabled {
        s3.session_secrets.push(legacy.anon.clone());
    }
    s3.session_secrets
        .extend(configured.and_then(|configured| configured.publishable_key.clone()));
    for key in api_keys::list(client, instance_key, reference).await? {
        if key.kind == ApiKeyKind::Publishable && key.revoked_at.is_none() {
            s3.session_secrets.push(key.value.clone());
        }
        let mut entry = ApiKey::new(key.id, &key.name, key.kind);
        entry.valid_until = key.revoked_at.map(|at| at.unix_timestamp());
        by_hash.insert(key.hash, Arc::new(entry));
    }
    for credential in s3_credentials::list(client, instance_key, reference).await? {
        let (access_key, pair) = credential.into_pair();
        s3.pairs.insert(access_key, Arc::new(pair));
    }
    if let Some(configured) = configured {
        accept_configured(&mut by_hash, configured, legacy.enabled);
    }
    let disabled_legacy = if legacy.enabled {
        Vec::new()
    } else {
        [&legacy.anon, &legacy.service_role]
            .map(|key| credential_hash(key.expose()))
            .to_vec()
    };
    Ok(ProjectKeys {
        keyset,
        api_keys: by_hash,
        disabled_legacy,
        url_signing: url_signing_keys(&instance_key.derive(&format!("storage_url:{reference}"))),
        s3,
    })
}

fn build_keyset(
    legacy: &LegacyKeys,
    signing: Vec<(plinth_token::SigningKey, KeyStatus)>,
    configured: Option<&ConfiguredKeys>,
) -> Result<KeySet, PlatformError> {
    let mut builder = KeySet::builder().legacy_secret(legacy.jwt_secret.expose());
    let key_file = configured.and_then(|configured| configured.signing_keys.as_ref());
    if let Some(file) = key_file {
        builder = builder.key_file(file.clone());
    }
    for (key, status) in signing {
        let status = match status {
            // A configured key signs instead; tokens of the stored one stay valid.
            KeyStatus::InUse if key_file.is_some() => KeyStatus::PreviouslyUsed,
            status => status,
        };
        builder = builder.signing_key(key, status);
    }
    builder.build().map_err(PlatformError::caused_by)
}

/// Configured keys are compared by their text, whatever form they have.
fn accept_configured(
    by_hash: &mut HashMap<String, Arc<ApiKey>>,
    configured: &ConfiguredKeys,
    legacy_enabled: bool,
) {
    let mut accept = |key: &Option<Secret>, name: &str, kind: ApiKeyKind| {
        if let Some(key) = key {
            let entry = ApiKey::new(Uuid::nil(), name, kind);
            by_hash.insert(credential_hash(key.expose()), Arc::new(entry));
        }
    };
    accept(
        &configured.publishable_key,
        "auth.publishable_key",
        ApiKeyKind::Publishable,
    );
    accept(
        &configured.secret_key,
        "auth.secret_key",
        ApiKeyKind::Secret,
    );
    if legacy_enabled {
        accept(
            &configured.anon_key,
            "auth.anon_key",
            ApiKeyKind::Publishable,
        );
        accept(
            &configured.service_role_key,
            "auth.service_role_key",
            ApiKeyKind::Secret,
        );
    }
}
