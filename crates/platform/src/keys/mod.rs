//! A project's keys: opaque API keys, signing keys, S3 credentials, and the legacy keys that are
//! derived from the project's shared secret (console contract §2.4.2).

mod api_keys;
mod configured;
mod legacy;
mod load;
mod s3_credentials;
mod signing_keys;

use plinth_project::ProjectRef;
use plinth_token::{ApiKeyKind, InstanceKey, KeyStatus};
use tokio_postgres::Transaction;

use crate::PlatformError;

pub use api_keys::{ApiKeyRequest, StoredApiKey};
pub use configured::ConfiguredKeys;
pub use legacy::LegacyKeys;
pub use s3_credentials::{S3CredentialRequest, StoredS3Credential};
pub use signing_keys::StoredSigningKey;

pub(crate) use load::load_keys;

/// The name of the keys that every project starts with.
pub(crate) const FIRST_KEY_NAME: &str = "default";

/// Inserts the keys of a new project: a publishable and a secret key, an S3 credential, a signing key
/// in use and one on standby, which clients have cached by the time a rotation puts it to use.
pub(crate) async fn insert_first_keys(
    instance_key: &InstanceKey,
    transaction: &Transaction<'_>,
    reference: &ProjectRef,
) -> Result<(), PlatformError> {
    for kind in [ApiKeyKind::Publishable, ApiKeyKind::Secret] {
        let request = ApiKeyRequest {
            kind,
            name: FIRST_KEY_NAME.to_owned(),
            description: None,
        };
        api_keys::insert(instance_key, transaction, reference, &request).await?;
    }
    for status in [KeyStatus::InUse, KeyStatus::Standby] {
        signing_keys::insert_generated(instance_key, transaction, reference, status).await?;
    }
    s3_credentials::insert_first(instance_key, transaction, reference).await
}
