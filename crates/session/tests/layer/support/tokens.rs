//! Tokens and sessions as the auth service makes them.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use plinth_token::{Algorithm, SigningKey};
use serde_json::{Value, json};

use super::{NOW_S, USER};

pub(crate) const PROJECT_URL: &str = "http://auth.test";
/// The cookie's name that follows from the project's URL.
pub(crate) const KEY: &str = "sb-auth-auth-token";

/// Signs tokens.
#[derive(Clone)]
pub(crate) struct Tokens(pub(crate) SigningKey);

impl Tokens {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        Self(SigningKey::generate(algorithm).unwrap())
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.0.sign(claims).unwrap()
    }

    /// A token with any header, signed over it. Only for ES256.
    pub(crate) fn sign_with_header(&self, header: &Value, claims: &Value) -> String {
        let key: Value = serde_json::from_str(self.0.to_private_jwk().expose()).unwrap();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
        let public = [vec![4], bytes("x"), bytes("y")].concat();
        let pair = EcdsaKeyPair::from_private_key_and_public_key(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &bytes("d"),
            &public,
        );
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = pair
            .unwrap()
            .sign(&SystemRandom::new(), message.as_bytes())
            .unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// A token that is good for so many seconds.
    pub(crate) fn token(&self, seconds: i64) -> String {
        self.sign(&claims(seconds))
    }

    /// A session whose token is good for so many seconds.
    pub(crate) fn session(&self, seconds: i64, refresh_token: &str) -> String {
        session_json(&self.token(seconds), refresh_token, NOW_S + seconds)
    }
}

/// The claims of an ordinary user, good for so many seconds.
pub(crate) fn claims(seconds: i64) -> Value {
    json!({
        "iss": format!("{PROJECT_URL}/auth/v1"),
        "aud": "authenticated",
        "sub": USER,
        "role": "authenticated",
        "aal": "aal1",
        "session_id": "3f6f3c52-5d0c-4f3e-8a51-55f9a6a0a001",
        "email": "ann@mail.dev",
        "iat": NOW_S - 60,
        "exp": NOW_S + seconds,
    })
}

pub(crate) fn session_json(access_token: &str, refresh_token: &str, expires_at: i64) -> String {
    json!({
        "access_token": access_token,
        "token_type": "bearer",
        "expires_in": 3600,
        "expires_at": expires_at,
        "refresh_token": refresh_token,
        "user": { "id": USER, "email": "ann@mail.dev", "user_metadata": { "name": "Ann" } },
    })
    .to_string()
}
