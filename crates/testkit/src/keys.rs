//! The keys of every test's project, and tokens that they sign.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use plinth_project::{ApiKey, ProjectKeys};
use plinth_token::{ApiKeyKind, KeySet, credential_hash};
use serde_json::{Value, json};

use crate::now;

/// Signs tokens.
pub const SECRET: &str = "a secret that is long enough for HMAC";
pub const PUBLISHABLE_KEY: &str = "sb_publishable_of_this_project";
pub const SECRET_KEY: &str = "sb_secret_of_this_project";
/// The id of a user.
pub const ANN: &str = "00000000-0000-0000-0000-00000000000a";
/// The id of another user.
pub const BOB: &str = "00000000-0000-0000-0000-00000000000b";

/// Signs and verifies with this secret only.
pub fn keyset(secret: &str) -> KeySet {
    let keys = KeySet::builder().legacy_secret(secret);
    keys.build().expect("a good secret")
}

/// These signing keys, and both API keys.
pub fn project_keys(keyset: KeySet) -> ProjectKeys {
    let key = |text: &str, kind| {
        let key = ApiKey::new(Default::default(), "default", kind);
        (credential_hash(text), key.into())
    };
    ProjectKeys {
        api_keys: [
            key(PUBLISHABLE_KEY, ApiKeyKind::Publishable),
            key(SECRET_KEY, ApiKeyKind::Secret),
        ]
        .into(),
        ..ProjectKeys::new(keyset)
    }
}

/// A token with these claims, signed with [`SECRET`].
pub fn sign(claims: &Value) -> String {
    keyset(SECRET).sign(claims).expect("signed")
}

/// A token of a signed-in user that expires in an hour.
pub fn user_token(id: &str) -> String {
    sign(&json!({ "role": "authenticated", "sub": id, "exp": now() + 3600 }))
}

/// The claims of a token, unverified.
pub fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).expect("a token of three parts");
    let payload = URL_SAFE_NO_PAD.decode(payload).expect("base64url");
    serde_json::from_slice(&payload).expect("JSON")
}
