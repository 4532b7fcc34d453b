//! What a caller may do with factors.

use axum::extract::{Path, rejection::PathRejection};
use plinth_db::{DbError, Queries};
use plinth_project::ProjectKind;
use time::Duration;
use uuid::Uuid;

use crate::{
    AuthError,
    caller::SignedIn,
    config::{MfaConfig, Switches},
    model::{
        Factor, FactorKind, Session, factors,
        sessions::{self, Aal},
    },
    request::RequestContext,
};

/// `{id}` of a path, which may be malformed.
pub(super) type FactorPath = Result<Path<Uuid>, PathRejection>;

pub(super) fn factor_id(path: FactorPath) -> Result<Uuid, AuthError> {
    let Path(id) = path.map_err(|_| AuthError::invalid_path_id("factor_id"))?;
    Ok(id)
}

/// The caller's own factor of that id.
pub(super) async fn find_own(
    db: &mut impl Queries,
    caller: &SignedIn,
    id: Uuid,
) -> Result<Factor, AuthError> {
    let factor = factors::find(db, caller.user.id, id).await?;
    factor.ok_or_else(AuthError::factor_not_found)
}

/// Rejects anonymous users.
pub(crate) fn check_not_anonymous(caller: &SignedIn) -> Result<(), AuthError> {
    if caller.user.is_anonymous {
        Err(AuthError::anonymous_user_not_allowed())
    } else {
        Ok(())
    }
}

/// The session of the caller. Tokens that tools made may have none.
pub(super) fn session(caller: &SignedIn) -> Result<&Session, AuthError> {
    caller
        .session
        .as_ref()
        .ok_or_else(AuthError::no_session_for_factor)
}

pub(super) fn has_aal2(session: Option<&Session>) -> bool {
    session.is_some_and(|session| session.aal >= Aal::Aal2)
}

/// How long ago an operator must have given a second factor to change the factors.
const OPERATOR_PROOF_AGE: Duration = Duration::minutes(10);

/// In project zero, a fresh second factor protects what reveals or destroys. So a stolen session must not be
/// able to replace the factors; elsewhere aal2 is enough, as in GoTrue.
pub(super) async fn lacks_fresh_proof(
    context: &RequestContext,
    db: &mut impl Queries,
    caller: &SignedIn,
) -> Result<bool, DbError> {
    if context.project.kind() != ProjectKind::Platform {
        return Ok(false);
    }
    let Some(session) = &caller.session else {
        return Ok(true);
    };
    let since = context.now - OPERATOR_PROOF_AGE;
    let methods = sessions::list_amr(db, session.id).await?;
    let is_fresh = methods.iter().any(|claim| {
        let mut kinds = [FactorKind::Totp, FactorKind::Phone, FactorKind::WebAuthn].into_iter();
        claim.at > since && kinds.any(|kind| kind.amr() == claim.method)
    });
    Ok(!is_fresh)
}

/// Whether the user has a verified factor and this session is below aal2.
pub(crate) async fn lacks_assurance(
    db: &mut impl Queries,
    caller: &SignedIn,
) -> Result<bool, DbError> {
    if has_aal2(caller.session.as_ref()) {
        Ok(false)
    } else {
        factors::has_verified(db, caller.user.id).await
    }
}

/// Verifying an unverified factor of a user who has a verified one takes aal2: an attacker who
/// knows only the password may have enrolled it.
pub(super) async fn check_may_confirm(
    db: &mut impl Queries,
    caller: &SignedIn,
    factor: &Factor,
) -> Result<(), AuthError> {
    if !factor.is_verified && lacks_assurance(db, caller).await? {
        Err(AuthError::aal2_required_to_enroll())
    } else {
        Ok(())
    }
}

pub(super) fn check_may_enrol(config: &MfaConfig, kind: FactorKind) -> Result<(), AuthError> {
    if switches(config, kind).is_enrol_enabled {
        return Ok(());
    }
    Err(match kind {
        FactorKind::Totp => AuthError::totp_enroll_disabled(),
        FactorKind::Phone => AuthError::phone_enroll_disabled(),
        FactorKind::WebAuthn => AuthError::webauthn_enroll_disabled(),
    })
}

pub(super) fn check_may_verify(config: &MfaConfig, kind: FactorKind) -> Result<(), AuthError> {
    if switches(config, kind).is_verify_enabled {
        return Ok(());
    }
    Err(match kind {
        FactorKind::Totp => AuthError::totp_verify_disabled(),
        FactorKind::Phone => AuthError::phone_verify_disabled(),
        FactorKind::WebAuthn => AuthError::webauthn_verify_disabled(),
    })
}

fn switches(config: &MfaConfig, kind: FactorKind) -> Switches {
    match kind {
        FactorKind::Totp => config.totp,
        FactorKind::Phone => config.phone,
        FactorKind::WebAuthn => config.webauthn,
    }
}
