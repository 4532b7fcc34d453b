//! Calls to the user's own code (auth contract §9).

use plinth_db::Queries;
use uuid::Uuid;

use crate::{
    AuthError,
    model::{Object, UserBody},
    request::Context,
};

/// The claims that the token shall have.
pub(crate) async fn custom_access_token(
    _context: &Context,
    _db: &mut impl Queries,
    _user: Uuid,
    claims: Object,
    _method: &str,
) -> Result<Object, AuthError> {
    Ok(claims)
}

/// May refuse a user who is about to be made. Called outside of any transaction.
pub(crate) async fn before_user_created(
    _context: &Context,
    _user: &UserBody,
) -> Result<(), AuthError> {
    Ok(())
}

/// Told of a user who was made.
pub(crate) async fn after_user_created(
    _context: &Context,
    _user: &UserBody,
) -> Result<(), AuthError> {
    Ok(())
}

/// What the hook says to an attempt.
#[derive(Debug, Clone)]
pub(crate) enum Decision {
    Continue,
    Reject {
        message: String,
        /// Of the password hook only.
        signs_out: bool,
    },
}

/// Somebody showed a password that is right or wrong.
pub(crate) async fn password_verification_attempt(
    _context: &Context,
    _user: Uuid,
    _is_valid: bool,
) -> Result<Decision, AuthError> {
    Ok(Decision::Continue)
}

/// Somebody showed a code of a factor that is right or wrong.
pub(crate) async fn mfa_verification_attempt(
    _context: &Context,
    _user: Uuid,
    _factor: &crate::model::Factor,
    _is_valid: bool,
) -> Result<Decision, AuthError> {
    Ok(Decision::Continue)
}
