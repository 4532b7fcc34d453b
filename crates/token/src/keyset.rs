//! All keys of one project with their status (auth contract §3.2).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::algorithm::Algorithm;
use crate::error::KeyError;
use crate::key_file::KeyFile;
use crate::signing_key::SigningKey;
use crate::verifying_key::VerifyingKey;

/// Status of a signing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyStatus {
    /// Published ahead of its use, so that verifiers know it in time.
    Standby,
    /// Signs new tokens. At most one key does.
    InUse,
    /// Signs no more, but its tokens are still accepted.
    PreviouslyUsed,
    /// Neither signs nor verifies; its tokens are rejected.
    Revoked,
}

impl KeyStatus {
    /// Its name in the management API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standby => "standby",
            Self::InUse => "in_use",
            Self::PreviouslyUsed => "previously_used",
            Self::Revoked => "revoked",
        }
    }

    /// Finds a status by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Standby,
            Self::InUse,
            Self::PreviouslyUsed,
            Self::Revoked,
        ]
        .into_iter()
        .find(|status| status.name() == name)
    }
}

/// The keys of one project. Cheap to clone and never changed: a rotation builds a new set.
#[derive(Clone, Debug)]
pub struct KeySet(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    generation: u64,
    legacy: Option<SigningKey>,
    /// The same secret with longer hashes, where they are accepted.
    longer: Vec<VerifyingKey>,
    keys: Vec<Entry>,
    signer: Option<SigningKey>,
    jwks: Value,
    with_longer: OnceLock<KeySet>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: VerifyingKey,
    is_revoked: bool,
    is_foreign: bool,
}

impl KeySet {
    /// Starts an empty set.
    pub fn builder() -> KeySetBuilder {
        KeySetBuilder::default()
    }

    /// The key that signs new tokens: the one in use, else the legacy secret.
    pub fn signer(&self) -> Option<&SigningKey> {
        self.0.signer.as_ref()
    }

    /// Signs with [`KeySet::signer`].
    pub fn sign(&self, claims: &impl Serialize) -> Result<String, KeyError> {
        self.signer().ok_or(KeyError::NoSigningKey)?.sign(claims)
    }

    /// The legacy shared secret as a key.
    pub fn legacy_key(&self) -> Option<&SigningKey> {
        self.0.legacy.as_ref()
    }

    /// The body of `/.well-known/jwks.json`: all asymmetric keys that are not revoked, standby
    /// ones included. Empty when the project only has shared secrets.
    pub fn jwks(&self) -> &Value {
        &self.0.jwks
    }

    /// A set in which the shared secret also verifies HS384 and HS512. It is a separate set, so that a
    /// token cached for it is not accepted where only HS256 is.
    pub fn with_longer_hashes(&self) -> &KeySet {
        let Some(legacy) = &self.0.legacy else {
            return self;
        };
        self.0.with_longer.get_or_init(|| {
            let parts = &self.0;
            Self(Arc::new(Parts {
                generation: next_generation(),
                legacy: parts.legacy.clone(),
                longer: legacy.with_longer_hashes(),
                keys: parts.keys.clone(),
                signer: parts.signer.clone(),
                jwks: parts.jwks.clone(),
                with_longer: OnceLock::new(),
            }))
        })
    }

    /// A process-wide unique number, part of the cache key.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation
    }

    /// The keys that a token may be checked with: the legacy secret, then all not revoked.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &VerifyingKey> {
        let good = self.0.keys.iter().filter(|entry| !entry.is_revoked);
        self.of_secret().chain(good.map(|entry| &entry.key))
    }

    fn of_secret(&self) -> impl Iterator<Item = &VerifyingKey> {
        let legacy = self.0.legacy.iter().map(SigningKey::verifying_key);
        legacy.chain(&self.0.longer)
    }

    /// The shared secret, if it may check tokens of this algorithm.
    pub(crate) fn secret(&self, algorithm: Algorithm) -> Option<&VerifyingKey> {
        self.of_secret().find(|key| key.algorithm() == algorithm)
    }

    /// Whether tokens name the shared secret by this id.
    pub(crate) fn is_id_of_secret(&self, kid: &str) -> bool {
        self.0.legacy.as_ref().and_then(SigningKey::kid) == Some(kid)
    }

    /// Looks a key up by id, without the shared secret: outer `None` if there is none, inner error if revoked.
    pub(crate) fn by_kid(&self, kid: &str) -> Option<Result<&VerifyingKey, Revoked>> {
        let mut keys = self.0.keys.iter();
        let found = keys.find(|entry| entry.key.kid() == Some(kid))?;
        Some(if found.is_revoked {
            Err(Revoked)
        } else {
            Ok(&found.key)
        })
    }

    pub(crate) fn uses(&self, algorithm: Algorithm) -> bool {
        self.usable().any(|key| key.algorithm() == algorithm)
    }
}

/// The key exists but is revoked.
#[derive(Debug)]
pub(crate) struct Revoked;

/// Builder of a [`KeySet`].
#[derive(Default)]
pub struct KeySetBuilder {
    legacy_secret: Option<Zeroizing<Vec<u8>>>,
    legacy_key_id: Option<String>,
    signing: Vec<(SigningKey, KeyStatus)>,
    verifying: Vec<VerifyingKey>,
    foreign: Vec<VerifyingKey>,
}

impl KeySetBuilder {
    /// The shared secret (HS256). It checks every HS256 token that names no other key.
    pub fn legacy_secret(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.legacy_secret = Some(Zeroizing::new(secret.as_ref().to_vec()));
        self
    }

    /// The id that tokens signed with the shared secret carry (`JWT_KEY_ID`). Usually none.
    pub fn legacy_key_id(mut self, kid: impl Into<String>) -> Self {
        self.legacy_key_id = Some(kid.into());
        self
    }

    /// A key of the project with its status.
    pub fn signing_key(mut self, key: SigningKey, status: KeyStatus) -> Self {
        self.signing.push((key, status));
        self
    }

    /// The keys of a file: its signing key in use, the others as previously used.
    pub fn key_file(mut self, file: KeyFile) -> Self {
        self.signing.push((file.signing, KeyStatus::InUse));
        self.verifying.extend(file.verifying);
        self
    }

    /// A key of the project of which only the public half is available.
    pub fn verifying_key(mut self, key: VerifyingKey) -> Self {
        self.verifying.push(key);
        self
    }

    /// A key of another issuer whose tokens are accepted. It is not published.
    pub fn foreign_key(mut self, key: VerifyingKey) -> Self {
        self.foreign.push(key);
        self
    }

    /// Checks that the keys fit together.
    pub fn build(self) -> Result<KeySet, KeyError> {
        let legacy = self
            .legacy_secret
            .map(|secret| SigningKey::from_shared_secret(&secret, self.legacy_key_id))
            .transpose()?;

        let in_use: Vec<&SigningKey> = self
            .signing
            .iter()
            .filter(|(_, status)| *status == KeyStatus::InUse)
            .map(|(key, _)| key)
            .collect();
        if in_use.len() > 1 {
            return Err(KeyError::SeveralKeysInUse);
        }
        let signer = in_use.first().copied().or(legacy.as_ref()).cloned();

        let own = self.signing.iter().map(|(key, status)| Entry {
            key: key.verifying_key().clone(),
            is_revoked: *status == KeyStatus::Revoked,
            is_foreign: false,
        });
        let good = |is_foreign| {
            move |key| Entry {
                key,
                is_revoked: false,
                is_foreign,
            }
        };
        let verifying = self.verifying.into_iter().map(good(false));
        let foreign = self.foreign.into_iter().map(good(true));
        let keys: Vec<Entry> = own.chain(verifying).chain(foreign).collect();
        reject_equal_ids(legacy.as_ref(), &keys)?;

        let published: Vec<&Value> = keys
            .iter()
            .filter(|entry| !entry.is_revoked && !entry.is_foreign)
            .filter_map(|entry| entry.key.public_jwk())
            .collect();
        let jwks = json!({ "keys": published });
        Ok(KeySet(Arc::new(Parts {
            generation: next_generation(),
            legacy,
            longer: Vec::new(),
            keys,
            signer,
            jwks,
            with_longer: OnceLock::new(),
        })))
    }
}

fn reject_equal_ids(legacy: Option<&SigningKey>, keys: &[Entry]) -> Result<(), KeyError> {
    let ids = keys.iter().filter_map(|entry| entry.key.kid());
    let ids: Vec<&str> = ids.chain(legacy.and_then(SigningKey::kid)).collect();
    let repeated = ids
        .iter()
        .enumerate()
        .find(|(index, kid)| ids[..*index].contains(*kid));
    match repeated {
        Some((_, kid)) => Err(KeyError::DuplicateKeyId((*kid).to_owned())),
        None => Ok(()),
    }
}

fn next_generation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a secret of 32 bytes, at least..";

    fn es256() -> SigningKey {
        SigningKey::generate(Algorithm::Es256).unwrap()
    }

    fn published_ids(keys: &KeySet) -> Vec<&str> {
        keys.jwks()["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(|k| k["kid"].as_str().unwrap())
            .collect()
    }

    #[test]
    fn every_key_but_revoked_ones_and_shared_secrets_is_published() {
        let [standby, used, old, revoked] = [es256(), es256(), es256(), es256()];
        let shared = SigningKey::generate(Algorithm::Hs256).unwrap();

        let keys = KeySet::builder()
            .legacy_secret(SECRET)
            .signing_key(standby.clone(), KeyStatus::Standby)
            .signing_key(used.clone(), KeyStatus::InUse)
            .signing_key(old.clone(), KeyStatus::PreviouslyUsed)
            .signing_key(revoked, KeyStatus::Revoked)
            .signing_key(shared, KeyStatus::PreviouslyUsed)
            .build()
            .unwrap();

        let expected = [&standby, &used, &old].map(|key| key.kid().unwrap());
        assert_eq!(published_ids(&keys), expected);
        assert!(!keys.jwks().to_string().contains("\"d\":"));
    }

    #[test]
    fn a_project_with_only_a_secret_publishes_an_empty_list() {
        let keys = KeySet::builder().legacy_secret(SECRET).build().unwrap();

        assert_eq!(*keys.jwks(), json!({ "keys": [] }));
    }

    #[test]
    fn the_key_in_use_signs_else_the_legacy_secret() {
        let (used, old) = (es256(), es256());
        let with_key = KeySet::builder()
            .legacy_secret(SECRET)
            .signing_key(old.clone(), KeyStatus::PreviouslyUsed)
            .signing_key(used.clone(), KeyStatus::InUse)
            .build()
            .unwrap();
        let without = KeySet::builder()
            .legacy_secret(SECRET)
            .legacy_key_id("legacy")
            .signing_key(old.clone(), KeyStatus::Standby)
            .build()
            .unwrap();
        let cannot = KeySet::builder()
            .signing_key(old, KeyStatus::PreviouslyUsed)
            .build()
            .unwrap();

        assert_eq!(with_key.signer().unwrap().kid(), used.kid());
        assert_eq!(without.signer().unwrap().kid(), Some("legacy"));
        assert!(cannot.signer().is_none());
        assert_eq!(cannot.sign(&json!({})), Err(KeyError::NoSigningKey));
    }

    #[test]
    fn keys_that_do_not_fit_together_are_rejected() {
        let key = es256();
        let kid = key.kid().unwrap().to_owned();
        let rejected = |builder: KeySetBuilder| builder.build().unwrap_err();

        let two_in_use = KeySet::builder()
            .signing_key(key.clone(), KeyStatus::InUse)
            .signing_key(es256(), KeyStatus::InUse);
        let twice = KeySet::builder()
            .signing_key(key.clone(), KeyStatus::InUse)
            .verifying_key(key.verifying_key().clone());
        let like_legacy = KeySet::builder()
            .legacy_secret(SECRET)
            .legacy_key_id(kid.clone())
            .signing_key(key, KeyStatus::InUse);

        assert_eq!(rejected(two_in_use), KeyError::SeveralKeysInUse);
        assert_eq!(rejected(twice), KeyError::DuplicateKeyId(kid.clone()));
        assert_eq!(rejected(like_legacy), KeyError::DuplicateKeyId(kid));
        assert_eq!(
            rejected(KeySet::builder().legacy_secret("")),
            KeyError::EmptySecret
        );
    }

    #[test]
    fn keys_without_a_private_half_check_and_are_published() {
        let (signing, verifying) = (es256(), es256());
        let file = KeyFile {
            signing: signing.clone(),
            verifying: vec![verifying.verifying_key().clone()],
        };

        let keys = KeySet::builder().key_file(file).build().unwrap();

        assert_eq!(keys.signer().unwrap().kid(), signing.kid());
        assert!(keys.verify(&verifying.sign(&json!({})).unwrap()).is_ok());
        assert_eq!(
            published_ids(&keys),
            [signing.kid().unwrap(), verifying.kid().unwrap()]
        );
    }

    #[test]
    fn another_issuers_key_checks_but_is_not_published_as_ours() {
        let theirs = es256();

        let keys = KeySet::builder()
            .foreign_key(theirs.verifying_key().clone())
            .build()
            .unwrap();

        assert!(keys.verify(&theirs.sign(&json!({})).unwrap()).is_ok());
        assert_eq!(*keys.jwks(), json!({ "keys": [] }));
    }

    #[test]
    fn a_status_is_found_by_its_word() {
        for word in ["standby", "in_use", "previously_used", "revoked"] {
            assert_eq!(KeyStatus::from_name(word).unwrap().name(), word);
        }
        assert_eq!(KeyStatus::from_name("InUse"), None);
    }

    #[test]
    fn printing_a_key_set_shows_no_secret() {
        let keys = KeySet::builder()
            .legacy_secret(SECRET)
            .signing_key(es256(), KeyStatus::InUse)
            .build()
            .unwrap();

        let printed = format!("{keys:?}");

        assert!(!printed.contains("a secret"));
        assert!(!printed.contains("\"d\""));
    }
}
