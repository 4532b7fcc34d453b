//! Keys of a project, by which credentials are verified: key set, API keys, S3 credentials.

use std::{collections::HashMap, sync::Arc};

use plinth_token::{ApiKeyKind, InstanceKey, KeySet, SERVICE_ROLE, Secret};
use serde_json::{Map, Value};
use uuid::Uuid;

/// All keys of one project. Immutable; replaced as a whole when one of them changes.
#[derive(Clone)]
pub struct ProjectKeys {
    /// Signs and verifies access tokens and the legacy JWT keys.
    pub keyset: KeySet,
    /// Opaque keys and configured keys, by [`plinth_token::credential_hash`].
    pub api_keys: HashMap<String, Arc<ApiKey>>,
    /// Hashes of the two legacy keys if an operator disabled them.
    pub disabled_legacy: Vec<String>,
    /// Signs URLs of files only: a signed URL must never be accepted as a token.
    pub url_signing: KeySet,
    /// Credentials of S3 clients.
    pub s3: S3Keys,
}

impl ProjectKeys {
    /// A key set without API keys. URLs are signed with a random key of this process.
    pub fn new(keyset: KeySet) -> Self {
        Self {
            keyset,
            api_keys: HashMap::new(),
            disabled_legacy: Vec::new(),
            url_signing: url_signing_keys(&InstanceKey::generate().to_text()),
            s3: S3Keys::default(),
        }
    }
}

/// The key set that signs URLs of files, derived from a secret.
pub fn url_signing_keys(secret: &Secret) -> KeySet {
    let keys = KeySet::builder()
        .legacy_secret(secret.expose())
        .legacy_key_id("storage-url-signing-key");
    keys.build().expect("a secret is a key")
}

/// An opaque `sb_publishable_…` or `sb_secret_…` key, or a configured one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its row in the platform's tables.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Publishable or secret.
    pub kind: ApiKeyKind,
    /// The PostgreSQL role of its callers.
    pub role: Arc<str>,
    /// The claims of its callers, as JSON text.
    pub claims: Arc<str>,
    /// End of a rotated key's grace period, in Unix seconds.
    pub valid_until: Option<i64>,
}

impl ApiKey {
    /// A key with the role of its kind.
    pub fn new(id: Uuid, name: &str, kind: ApiKeyKind) -> Self {
        let role = kind.role();
        Self {
            id,
            name: name.to_owned(),
            kind,
            role: role.into(),
            claims: plinth_token::claims_of_role(role).into(),
            valid_until: None,
        }
    }
}

/// Credentials of S3 clients.
#[derive(Debug, Clone, Default)]
pub struct S3Keys {
    /// Credentials created by operators, by access key.
    pub pairs: HashMap<String, Arc<S3Pair>>,
    /// The project's publishable keys: requests signed with one of them carry a user's token.
    pub session_secrets: Vec<Secret>,
}

/// An S3 credential, with role and claims of its callers.
#[derive(Debug, Clone)]
pub struct S3Pair {
    /// Its row in the platform's tables.
    pub id: Uuid,
    /// Signs; never sent.
    pub secret_key: Secret,
    /// The Postgres role.
    pub role: Arc<str>,
    /// The user it acts for, if any.
    pub sub: Option<String>,
    /// The claims, as JSON text.
    pub claims: Arc<str>,
}

impl S3Pair {
    /// A credential with these claims; without a role among them it is `service_role`.
    pub fn new(id: Uuid, secret_key: Secret, mut claims: Map<String, Value>) -> Self {
        let text = |claims: &Map<String, Value>, name: &str| {
            let text = claims.get(name)?.as_str()?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        let role = text(&claims, "role").unwrap_or_else(|| SERVICE_ROLE.to_owned());
        claims.insert("role".to_owned(), role.as_str().into());
        Self {
            id,
            secret_key,
            sub: text(&claims, "sub"),
            role: role.into(),
            claims: Value::Object(claims).to_string().into(),
        }
    }
}

impl std::fmt::Debug for ProjectKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProjectKeys({} API keys)", self.api_keys.len())
    }
}
