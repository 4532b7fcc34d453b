//! Addresses, numbers and ids that another user has.

use plinth_db::{DbError, Queries};
use uuid::Uuid;

use super::params::Changes;
use crate::{
    AuthError,
    model::{Conflict, users},
};

/// Rejects contacts of users other than `except`.
pub(super) async fn check(
    db: &mut impl Queries,
    changes: &Changes,
    aud: &str,
    except: Option<Uuid>,
) -> Result<(), AuthError> {
    if let Some(email) = &changes.email
        && users::is_email_taken(db, email, aud, except).await?
    {
        return Err(AuthError::email_exists());
    }
    if let Some(phone) = &changes.phone
        && users::is_phone_taken(db, phone, aud, except).await?
    {
        return Err(AuthError::phone_exists_for_admin());
    }
    Ok(())
}

/// The error of a failed write: another request may have been faster than [`check`], or a user of
/// another audience may have the contact.
pub(super) fn or_taken(error: DbError, otherwise: fn(DbError) -> AuthError) -> AuthError {
    match Conflict::find(&error) {
        Some(Conflict::UserEmail) => AuthError::email_exists(),
        Some(Conflict::UserPhone) => AuthError::phone_exists_for_admin(),
        Some(Conflict::UserId) => AuthError::user_id_exists(),
        _ => otherwise(error),
    }
}

/// As [`or_taken`], for a new account.
pub(super) fn or_not_saved(error: DbError) -> AuthError {
    or_taken(error, AuthError::saving_user_failed)
}
