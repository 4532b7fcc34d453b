//! All keys of a project in the form in which requests are checked.

use std::{collections::HashMap, sync::Arc};

use plinth_project::{ApiKey, ProjectKeys, ProjectKind, ProjectRef, S3Keys, url_signing_keys};
use plinth_token::{ApiKeyKind, InstanceKey, KeySet, KeyStatus, Secret, credential_hash};
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::{GivenKeys, LegacyKeys, api_keys, legacy, s3_credentials, signing_keys};
use crate::PlatformError;

pub(crate) async fn load_keys(
    client: &impl GenericClient,
    instance_key: &InstanceKey,
    reference: &ProjectRef,
    kind: ProjectKind,
    given: &GivenKeys,
) -> Result<ProjectKeys, PlatformError> {
    let given = legacy::given_for(given, kind);
    let legacy = legacy::load(client, instance_key, reference, given).await?;
    let signing = signing_keys::open_all(client, instance_key, reference).await?;
    let keyset = build_keyset(&legacy, signing, given)?;

    let mut by_hash = HashMap::new();
    let mut s3 = S3Keys::default();
    if legacy.enabled {
        s3.session_secrets.push(legacy.anon.clone());
    }
    s3.session_secrets
        .extend(given.and_then(|given| given.publishable_key.clone()));
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
    if let Some(given) = given {
        accept_given(&mut by_hash, given, legacy.enabled);
    }
    let disabled_legacy = match legacy.enabled {
        true => Vec::new(),
        false => [&legacy.anon, &legacy.service_role]
            .map(|key| credential_hash(key.expose()))
            .to_vec(),
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
    given: Option<&GivenKeys>,
) -> Result<KeySet, PlatformError> {
    let mut builder = KeySet::builder().legacy_secret(legacy.jwt_secret.expose());
    let key_file = given.and_then(|given| given.signing_keys.as_ref());
    if let Some(file) = key_file {
        builder = builder.key_file(file.clone());
    }
    for (key, status) in signing {
        let status = match status {
            // A given key signs; what the stored one signed before stays good.
            KeyStatus::InUse if key_file.is_some() => KeyStatus::PreviouslyUsed,
            status => status,
        };
        builder = builder.signing_key(key, status);
    }
    builder.build().map_err(PlatformError::caused_by)
}

/// Given keys are taken by their text, whatever form they have.
fn accept_given(
    by_hash: &mut HashMap<String, Arc<ApiKey>>,
    given: &GivenKeys,
    legacy_enabled: bool,
) {
    let mut accept = |key: &Option<Secret>, name: &str, kind: ApiKeyKind| {
        if let Some(key) = key {
            let entry = ApiKey::new(Uuid::nil(), name, kind);
            by_hash.insert(credential_hash(key.expose()), Arc::new(entry));
        }
    };
    accept(
        &given.publishable_key,
        "auth.publishable_key",
        ApiKeyKind::Publishable,
    );
    accept(&given.secret_key, "auth.secret_key", ApiKeyKind::Secret);
    if legacy_enabled {
        accept(&given.anon_key, "auth.anon_key", ApiKeyKind::Publishable);
        accept(
            &given.service_role_key,
            "auth.service_role_key",
            ApiKeyKind::Secret,
        );
    }
}
