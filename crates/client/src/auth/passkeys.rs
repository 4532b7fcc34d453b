//! Sign-in with passkeys (client contract S75). Calling the authenticator is up to the caller: options and
//! responses are JSON with base64url texts.

use serde_json::Value;

use super::body::Body;
use super::engine::AuthEvent;
use super::sign_in::SignedIn;
use super::{Auth, AuthError, Passkey, PasskeyOptions};
use crate::call_options::{CallOptions, with_handle_options};

/// The passkeys module; see [`Auth::passkeys`].
#[derive(Clone, Debug)]
pub struct Passkeys {
    auth: Auth,
}

impl Auth {
    /// Passkeys.
    pub fn passkeys(&self) -> Passkeys {
        Passkeys { auth: self.clone() }
    }
}

with_handle_options!(Passkeys);

impl Passkeys {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            auth: self.auth.with_options(options),
        }
    }

    /// Options for registering a passkey of the signed-in user.
    pub async fn start_registration(&self) -> Result<PasskeyOptions, AuthError> {
        let session = self.auth.signed_in().await?;
        self.auth
            .api()
            .passkey_registration(session.access_token())
            .await
    }

    /// Completes the registration with the authenticator's response.
    pub async fn verify_registration(
        &self,
        challenge_id: &str,
        credential: Value,
    ) -> Result<Passkey, AuthError> {
        let session = self.auth.signed_in().await?;
        let token = session.access_token();
        self.auth
            .api()
            .verify_passkey_registration(token, challenge_id, credential)
            .await
    }

    /// Options for signing in with a passkey.
    pub async fn start_authentication(
        &self,
        captcha: Option<&str>,
    ) -> Result<PasskeyOptions, AuthError> {
        self.auth.ready().await;
        let body = Body::default().captcha(captcha).finish();
        self.auth.api().passkey_authentication(body).await
    }

    /// Signs in with the authenticator's response.
    pub async fn verify_authentication(
        &self,
        challenge_id: &str,
        credential: Value,
    ) -> Result<SignedIn, AuthError> {
        self.auth.ready().await;
        let api = self.auth.api();
        let tokens = api
            .verify_passkey_authentication(challenge_id, credential)
            .await?;
        self.auth.adopt(tokens, AuthEvent::SignedIn).await
    }

    /// The signed-in user's passkeys.
    pub async fn list(&self) -> Result<Vec<Passkey>, AuthError> {
        let session = self.auth.signed_in().await?;
        self.auth.api().passkeys(session.access_token()).await
    }

    /// Renames a passkey.
    pub async fn rename(&self, id: &str, friendly_name: &str) -> Result<Passkey, AuthError> {
        let session = self.auth.signed_in().await?;
        self.auth
            .api()
            .rename_passkey(session.access_token(), id, friendly_name)
            .await
    }

    /// Removes a passkey.
    pub async fn delete(&self, id: &str) -> Result<(), AuthError> {
        let session = self.auth.signed_in().await?;
        self.auth
            .api()
            .delete_passkey(session.access_token(), id)
            .await
    }
}
