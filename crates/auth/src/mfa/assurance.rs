//! Who may do what about factors.

use axum::extract::{Path, rejection::PathRejection};
use plinth_db::{DbError, Queries};
use uuid::Uuid;

use super::store;
use crate::{
    AuthError,
    config::{MfaConfig, Switches},
    error::Code,
    model::{Factor, FactorKind, Session, factors, sessions::Aal},
    request::SignedIn,
};

/// `{id}` of a path, whatever it is.
pub(super) type FactorPath = Result<Path<Uuid>, PathRejection>;

/// What the path says, if it is an id.
pub(super) fn factor_id(path: FactorPath) -> Result<Uuid, AuthError> {
    let Path(id) = path.map_err(|_| AuthError::bad_path_id("factor_id"))?;
    Ok(id)
}

/// The caller's own factor of that id.
pub(super) async fn find_own(
    db: &mut impl Queries,
    caller: &SignedIn,
    id: Uuid,
) -> Result<Factor, AuthError> {
    let factor = store::find(db, caller.user.id, id).await?;
    factor.ok_or_else(not_found)
}

pub(super) fn not_found() -> AuthError {
    AuthError::new(404, Code::MfaFactorNotFound, "Factor not found")
}

/// Refuses those who have no account to protect.
pub(crate) fn check_not_anonymous(caller: &SignedIn) -> Result<(), AuthError> {
    match caller.user.is_anonymous {
        false => Ok(()),
        true => Err(AuthError::new(
            403,
            Code::NoAuthorization,
            "Anonymous user not allowed to perform these actions",
        )),
    }
}

/// The session that a factor is to be proven in. Tokens that tools made may have none.
pub(super) fn session(caller: &SignedIn) -> Result<&Session, AuthError> {
    caller.session.as_ref().ok_or_else(|| {
        AuthError::internal(
            "A valid session and a registered user are required to enroll a factor",
            "the token has no session",
        )
    })
}

pub(super) fn has_aal2(session: Option<&Session>) -> bool {
    session.is_some_and(|session| session.aal >= Aal::Aal2)
}

/// Whether the user has a second factor and did not prove it in this session.
pub(crate) async fn has_verified_but_lacks_it(
    db: &mut impl Queries,
    caller: &SignedIn,
) -> Result<bool, DbError> {
    match has_aal2(caller.session.as_ref()) {
        true => Ok(false),
        false => factors::has_verified(db, caller.user.id).await,
    }
}

/// A factor that was never confirmed must not become a way round those that were: whoever knows
/// only the password may have left it there.
pub(super) async fn check_may_confirm(
    db: &mut impl Queries,
    caller: &SignedIn,
    factor: &Factor,
) -> Result<(), AuthError> {
    match !factor.is_verified && has_verified_but_lacks_it(db, caller).await? {
        false => Ok(()),
        true => Err(needs_aal2("AAL2 required to enroll a new factor")),
    }
}

pub(crate) fn needs_aal2(message: &'static str) -> AuthError {
    AuthError::new(403, Code::InsufficientAal, message)
}

pub(super) fn check_may_enrol(config: &MfaConfig, kind: FactorKind) -> Result<(), AuthError> {
    let (switches, code, message) = match kind {
        FactorKind::Totp => (
            config.totp,
            Code::MfaTotpEnrollNotEnabled,
            "MFA enroll is disabled for TOTP",
        ),
        FactorKind::Phone => (
            config.phone,
            Code::MfaPhoneEnrollNotEnabled,
            "MFA enroll is disabled for Phone",
        ),
        FactorKind::WebAuthn => (
            config.webauthn,
            Code::MfaWebauthnEnrollNotEnabled,
            "MFA enroll is disabled for WebAuthn",
        ),
    };
    let Switches {
        is_enrol_enabled, ..
    } = switches;
    allow(is_enrol_enabled, code, message)
}

pub(super) fn check_may_verify(config: &MfaConfig, kind: FactorKind) -> Result<(), AuthError> {
    let (switches, code, message) = match kind {
        FactorKind::Totp => (
            config.totp,
            Code::MfaTotpVerifyNotEnabled,
            "MFA verification is disabled for TOTP",
        ),
        FactorKind::Phone => (
            config.phone,
            Code::MfaPhoneVerifyNotEnabled,
            "MFA verification is disabled for Phone",
        ),
        FactorKind::WebAuthn => (
            config.webauthn,
            Code::MfaWebauthnVerifyNotEnabled,
            "MFA verification is disabled for WebAuthn",
        ),
    };
    allow(switches.is_verify_enabled, code, message)
}

fn allow(is_enabled: bool, code: Code, message: &'static str) -> Result<(), AuthError> {
    match is_enabled {
        true => Ok(()),
        false => Err(AuthError::new(422, code, message)),
    }
}
