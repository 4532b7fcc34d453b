//! Passkeys (auth contract §2.11). A sign-in with one is aal1; security keys as second factors are
//! in `mfa/`.

pub(crate) mod admin;
mod authentication;
mod authenticator_names;
mod challenges;
mod manage;
mod registration;

pub(crate) use authentication::{authentication_options, authentication_verify};
pub(crate) use manage::{delete, list, rename};
pub(crate) use registration::{registration_options, registration_verify};

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{AuthError, caller::SignedIn, mfa, request::RequestContext, webauthn::CeremonyError};

/// Rejects requests while passkeys are disabled.
fn check_enabled(context: &RequestContext) -> Result<(), AuthError> {
    if context.config.webauthn.are_passkeys_enabled {
        Ok(())
    } else {
        Err(AuthError::passkeys_disabled())
    }
}

/// Users with a second factor must have verified it before they change their ways to sign in.
async fn check_assurance(context: &RequestContext, caller: &SignedIn) -> Result<(), AuthError> {
    let mut db = context.db().await?;
    if mfa::lacks_assurance(&mut db, caller).await? {
        Err(AuthError::aal2_required_for_passkeys())
    } else {
        Ok(())
    }
}

/// The body of both `verify` calls.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerifyParams {
    challenge_id: String,
    credential: Value,
}

impl VerifyParams {
    fn challenge_id(&self) -> Result<Uuid, AuthError> {
        match self.challenge_id.as_str() {
            "" => Err(AuthError::field_required("challenge_id")),
            _ if self.credential.is_null() => Err(AuthError::field_required("credential")),
            id => id
                .parse()
                .map_err(|_| AuthError::validation_failed("challenge_id must be a valid UUID")),
        }
    }

    fn credential<T: for<'de> Deserialize<'de>>(&self) -> Result<T, AuthError> {
        T::deserialize(&self.credential).map_err(|_| AuthError::passkey_response_invalid())
    }
}

/// The reason is logged only.
fn verification_error(error: CeremonyError) -> AuthError {
    tracing::info!("passkey rejected: {error}");
    AuthError::passkey_not_verified()
}
