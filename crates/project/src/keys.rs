//! What a project accepts as proof of who calls: its key set and its API keys.

use std::{collections::HashMap, sync::Arc};

use plinth_token::{ApiKeyKind, InstanceKey, KeySet, SERVICE_ROLE, Secret};
use serde_json::{Map, Value};
use uuid::Uuid;

/// All keys of one project. Immutable; replaced as a whole when one of them changes.
#[derive(Clone)]
pub struct ProjectKeys {
    /// Signs and verifies access tokens and the legacy JWT keys.
    pub keyset: KeySet,
    /// Opaque keys, and those that the configuration gives, by [`plinth_token::credential_hash`].
    pub api_keys: HashMap<String, Arc<ApiKey>>,
    /// Hashes of the two legacy keys when an operator switched them off.
    pub disabled_legacy: Vec<String>,
    /// Signs links to files, and nothing else: a link must never pass for a token.
    pub url_signing: KeySet,
    /// What S3 clients sign their requests with.
    pub s3: S3Keys,
}

impl ProjectKeys {
    /// A key set and no API keys. Links are signed with a key that no other process knows.
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

/// The set that signs links to files, made of a secret.
pub fn url_signing_keys(secret: &Secret) -> KeySet {
    let keys = KeySet::builder()
        .legacy_secret(secret.expose())
        .legacy_key_id("storage-url-signing-key");
    keys.build().expect("a secret is a key")
}

/// An opaque `sb_publishable_…` or `sb_secret_…` key, or one that the configuration gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its row in the platform's tables.
    pub id: Uuid,
    /// As operators named it.
    pub name: String,
    /// Publishable or secret.
    pub kind: ApiKeyKind,
    /// The Postgres role of who presents it.
    pub role: Arc<str>,
    /// The claims of who presents it, as JSON text.
    pub claims: Arc<str>,
    /// A rotated key may live on for a while: Unix seconds after which it is refused.
    pub valid_until: Option<i64>,
}

impl ApiKey {
    /// A key of the given kind, with the role that goes with the kind.
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

/// What S3 clients sign their requests with.
#[derive(Debug, Clone, Default)]
pub struct S3Keys {
    /// Pairs that operators made, by their access key.
    pub pairs: HashMap<String, Arc<S3Pair>>,
    /// The project's public keys: requests signed with one of them come with a user's token.
    pub session_secrets: Vec<Secret>,
}

/// A pair of an access key and a secret key, with what Postgres is told of who uses it.
#[derive(Debug, Clone)]
pub struct S3Pair {
    /// Its row in the platform's tables.
    pub id: Uuid,
    /// Signs; never sent.
    pub secret_key: Secret,
    /// The Postgres role.
    pub role: Arc<str>,
    /// Whose name it acts in, if in anybody's.
    pub sub: Option<String>,
    /// The claims, as JSON text.
    pub claims: Arc<str>,
}

impl S3Pair {
    /// A pair that acts with these claims. Without a role among them it may do everything.
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
