//! Passkeys: signing in with a key that a device or a password manager keeps (auth contract §2.11).
//! Such a session is aal1; as second factors, security keys are in `mfa/`.

pub(crate) mod admin;
mod authentication;
mod challenges;
mod makers;
mod manage;
mod registration;
mod store;

pub(crate) use authentication::{authentication_options, authentication_verify};
pub(crate) use manage::{delete, list, rename};
pub(crate) use registration::{registration_options, registration_verify};

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    AuthError,
    error::Code,
    mfa,
    request::{Context, SignedIn},
    webauthn::Refusal,
};

/// Refuses everything while the feature is off.
fn check_enabled(context: &Context) -> Result<(), AuthError> {
    match context.config.webauthn.are_passkeys_enabled {
        true => Ok(()),
        false => Err(AuthError::new(
            404,
            Code::PasskeyDisabled,
            "Passkeys are disabled",
        )),
    }
}

/// Those who have a second factor must have proven it before they change how one signs in.
async fn check_assurance(context: &Context, caller: &SignedIn) -> Result<(), AuthError> {
    let mut db = context.db().await?;
    match mfa::has_verified_but_lacks_it(&mut db, caller).await? {
        false => Ok(()),
        true => Err(mfa::needs_aal2(
            "AAL2 session is required to manage passkeys when MFA is enabled",
        )),
    }
}

/// The body of both `verify` calls.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerifyParams {
    challenge_id: String,
    credential: Value,
}

impl VerifyParams {
    fn challenge_id(&self) -> Result<Uuid, AuthError> {
        match self.challenge_id.as_str() {
            "" => Err(AuthError::invalid("challenge_id is required")),
            _ if self.credential.is_null() => Err(AuthError::invalid("credential is required")),
            id => id
                .parse()
                .map_err(|_| AuthError::invalid("challenge_id must be a valid UUID")),
        }
    }

    fn credential<T: for<'de> Deserialize<'de>>(&self) -> Result<T, AuthError> {
        T::deserialize(&self.credential).map_err(|_| failed("Invalid credential response"))
    }
}

fn failed(message: &'static str) -> AuthError {
    AuthError::new(400, Code::WebauthnVerificationFailed, message)
}

/// Why is for the log alone.
fn refused(refusal: Refusal) -> AuthError {
    tracing::info!("a passkey was refused: {refusal}");
    failed("Credential verification failed")
}
