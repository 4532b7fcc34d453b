//! What a project accepts as proof of who calls: its key set and its API keys.

use std::{collections::HashMap, sync::Arc};

use plinth_token::{ApiKeyKind, InstanceKey, KeySet, Secret};
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
}

impl ProjectKeys {
    /// A key set and no API keys. Links are signed with a key that no other process knows.
    pub fn new(keyset: KeySet) -> Self {
        Self {
            keyset,
            api_keys: HashMap::new(),
            disabled_legacy: Vec::new(),
            url_signing: url_signing_keys(&InstanceKey::generate().to_text()),
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

impl std::fmt::Debug for ProjectKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProjectKeys({} API keys)", self.api_keys.len())
    }
}
