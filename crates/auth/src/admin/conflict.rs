//! Addresses, numbers and ids that somebody else has.

use plinth_db::{DbError, Queries};
use uuid::Uuid;

use super::params::Changes;
use crate::{AuthError, error::Code, model::users};

pub(super) fn email_exists() -> AuthError {
    AuthError::new(
        422,
        Code::EmailExists,
        "A user with this email address has already been registered",
    )
}

fn phone_exists() -> AuthError {
    AuthError::new(
        422,
        Code::PhoneExists,
        "Phone number already registered by another user",
    )
}

/// Refuses contacts of others than `except`.
pub(super) async fn check(
    db: &mut impl Queries,
    changes: &Changes,
    aud: &str,
    except: Option<Uuid>,
) -> Result<(), AuthError> {
    if let Some(email) = &changes.email
        && users::is_email_taken(db, email, aud, except).await?
    {
        return Err(email_exists());
    }
    if let Some(phone) = &changes.phone
        && users::is_phone_taken(db, phone, aud, except).await?
    {
        return Err(phone_exists());
    }
    Ok(())
}

/// A failed write: somebody may have been faster than [`check`], or have the contact in another
/// audience.
pub(super) fn or_taken(what: &'static str, error: DbError) -> AuthError {
    let constraint = match &error {
        DbError::Postgres(refusal) => refusal.constraint.as_deref().unwrap_or_default(),
        _ => "",
    };
    match constraint {
        "users_email_partial_key" => email_exists(),
        "users_phone_key" => phone_exists(),
        "users_pkey" => AuthError::new(
            422,
            Code::UserAlreadyExists,
            "A user with this id already exists",
        ),
        _ => AuthError::database(what, error),
    }
}

/// The same for accounts that are made elsewhere.
pub(super) fn or_not_saved(error: DbError) -> AuthError {
    or_taken("Database error saving new user", error)
}
