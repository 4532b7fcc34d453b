//! Calls about passkeys (client contract S75). Calling the authenticator is up to the caller; options and credentials
//! pass through as JSON.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::segment;
use super::{AuthApi, Call, TokenResponse};
use crate::auth::AuthError;

/// Options for the authenticator.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct PasskeyOptions {
    /// Sent back with the authenticator's response.
    pub challenge_id: String,
    /// The `publicKey` options, binary members as base64url text.
    pub options: Value,
    /// When they expire, in seconds since 1970.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

/// A passkey of the user.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Passkey {
    /// A UUID.
    pub id: String,
    /// What the user calls it.
    pub friendly_name: Option<String>,
    /// As RFC 3339.
    pub created_at: Option<String>,
    /// As RFC 3339.
    pub last_used_at: Option<String>,
}

impl AuthApi {
    /// `POST /passkeys/registration/options`.
    pub async fn passkey_registration(&self, token: &str) -> Result<PasskeyOptions, AuthError> {
        let call = Call::post("/passkeys/registration/options", json!({}));
        self.json(call.token(token)).await
    }

    /// `POST /passkeys/registration/verify`.
    pub async fn verify_passkey_registration(
        &self,
        token: &str,
        challenge_id: &str,
        credential: Value,
    ) -> Result<Passkey, AuthError> {
        let body = json!({ "challenge_id": challenge_id, "credential": credential });
        let call = Call::post("/passkeys/registration/verify", body);
        self.json(call.token(token)).await
    }

    /// `POST /passkeys/authentication/options`.
    pub async fn passkey_authentication(&self, body: Value) -> Result<PasskeyOptions, AuthError> {
        self.json(Call::post("/passkeys/authentication/options", body))
            .await
    }

    /// `POST /passkeys/authentication/verify`.
    pub async fn verify_passkey_authentication(
        &self,
        challenge_id: &str,
        credential: Value,
    ) -> Result<TokenResponse, AuthError> {
        let body = json!({ "challenge_id": challenge_id, "credential": credential });
        self.session(Call::post("/passkeys/authentication/verify", body))
            .await
    }

    /// `GET /passkeys`.
    pub async fn passkeys(&self, token: &str) -> Result<Vec<Passkey>, AuthError> {
        self.json(Call::get("/passkeys").token(token)).await
    }

    /// `PATCH /passkeys/{id}`.
    pub async fn rename_passkey(
        &self,
        token: &str,
        id: &str,
        friendly_name: &str,
    ) -> Result<Passkey, AuthError> {
        let call = Call::new(Method::PATCH, format!("/passkeys/{}", segment(id)));
        let body = json!({ "friendly_name": friendly_name });
        self.json(call.body(body).token(token)).await
    }

    /// `DELETE /passkeys/{id}`.
    pub async fn delete_passkey(&self, token: &str, id: &str) -> Result<(), AuthError> {
        let call = Call::delete(format!("/passkeys/{}", segment(id)));
        self.done(call.token(token)).await
    }
}
