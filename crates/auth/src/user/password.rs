//! A new password: who may set one, and what follows from it.

use std::time::Duration;

use plinth_project::ServiceTransaction;
use serde_json::Value;

use super::check_nonce;
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    error::Code,
    mail::{self, Notice},
    model::{User, identities, one_time, sessions, users},
    request::{Context, SignedIn, contact::Contact},
};

/// Sessions that are younger need no reauthentication.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// Ways in that prove more than a password would.
const PROOF_BY_MESSAGE: [&str; 3] = ["otp", "magiclink", "recovery"];

/// A password that may be set, already hashed.
pub(super) struct NewPassword(String);

/// Compares and hashes, which is slow: before the transaction.
pub(super) async fn prepare(
    context: &Context,
    signed_in: &SignedIn,
    new: &str,
    current: &str,
) -> Result<NewPassword, AuthError> {
    let user = &signed_in.user;
    let rules = &context.config.password;
    let hasher = context.service.hasher();
    if user.has_password() {
        let stored = &user.encrypted_password;
        if rules.change_needs_current && !is_proven_by_message(context, signed_in).await? {
            if current.is_empty() {
                return Err(AuthError::new(
                    400,
                    Code::CurrentPasswordRequired,
                    "Current password required when setting new password.",
                ));
            }
            if !hasher.verify(stored, current, rules.cost).await?.is_match {
                return Err(AuthError::new(
                    400,
                    Code::CurrentPasswordInvalid,
                    "Current password is not correct.",
                ));
            }
        }
        if hasher.verify(stored, new, rules.cost).await?.is_match {
            return Err(AuthError::new(
                422,
                Code::SamePassword,
                "New password should be different from the old password.",
            ));
        }
    }
    Ok(NewPassword(hasher.hash(new, rules.cost).await?))
}

async fn is_proven_by_message(context: &Context, signed_in: &SignedIn) -> Result<bool, AuthError> {
    let Some(session) = &signed_in.session else {
        return Ok(false);
    };
    let amr = sessions::list_amr(&mut context.db().await?, session.id).await?;
    Ok(amr
        .iter()
        .any(|claim| PROOF_BY_MESSAGE.contains(&claim.method.as_str())))
}

/// Asks for the digits of a reauthentication where the project wants them.
pub(super) async fn check_reauthenticated(
    context: &Context,
    signed_in: &SignedIn,
    nonce: &str,
) -> Result<(), AuthError> {
    let session = signed_in.session.as_ref();
    let is_fresh = session.is_some_and(|session| context.now < session.created_at + FRESH);
    if is_fresh || !context.config.password.change_needs_reauthentication {
        return Ok(());
    }
    check_nonce(context, &signed_in.user, nonce).await
}

/// Stores it. Pending links are void, and every other device has to sign in again.
pub(super) async fn set(
    context: &Context,
    tx: &mut ServiceTransaction,
    signed_in: &SignedIn,
    NewPassword(hash): NewPassword,
) -> Result<User, AuthError> {
    let id = signed_in.user.id;
    let now = context.now;
    let is_first = !signed_in.user.has_password();
    users::update(tx, id, now, "encrypted_password = $1", &[&hash]).await?;
    let user = one_time::clear_all(tx, id, now).await?;
    let current = signed_in.session.as_ref().map(|session| session.id);
    sessions::delete_all_but(tx, id, current).await?;
    let action = Action::UserUpdatedPassword;
    audit::write(context, tx, &user, action, Value::Null).await?;
    if !user.email.is_empty() {
        mail::notify(context, tx, &user, &user.email, Notice::PasswordChanged).await;
    }
    let makes_identity =
        is_first && context.config.password.makes_email_identity && user.is_email_confirmed();
    if !makes_identity {
        return Ok(user);
    }
    let contact = Contact::Email(user.email.clone());
    accounts::put_identity(tx, &user, &contact, true, now).await?;
    Ok(identities::recompute_providers(tx, &user, now).await?)
}
