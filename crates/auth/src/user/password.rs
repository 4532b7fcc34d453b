//! Changing the password.

use std::time::Duration;

use plinth_project::ServiceTransaction;
use serde_json::Value;

use super::check_nonce;
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    caller::SignedIn,
    contact::Contact,
    mail::{self, Notification},
    model::{User, identities, one_time, sessions, users},
    request::RequestContext,
};

/// Younger sessions need no reauthentication.
const REAUTHENTICATION_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Methods that need no current password.
const MESSAGE_METHODS: [&str; 3] = ["otp", "magiclink", "recovery"];

/// A checked and hashed password.
pub(super) struct NewPassword(String);

/// Checks and hashes. Slow, so before the transaction.
pub(super) async fn prepare(
    context: &RequestContext,
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
                return Err(AuthError::current_password_required());
            }
            if !hasher.verify(stored, current, rules.cost).await?.is_match {
                return Err(AuthError::current_password_invalid());
            }
        }
        if hasher.verify(stored, new, rules.cost).await?.is_match {
            return Err(AuthError::same_password());
        }
    }
    Ok(NewPassword(hasher.hash(new, rules.cost).await?))
}

async fn is_proven_by_message(
    context: &RequestContext,
    signed_in: &SignedIn,
) -> Result<bool, AuthError> {
    let Some(session) = &signed_in.session else {
        return Ok(false);
    };
    let amr = sessions::list_amr(&mut context.db().await?, session.id).await?;
    Ok(amr
        .iter()
        .any(|claim| MESSAGE_METHODS.contains(&claim.method.as_str())))
}

/// Requires the nonce of a reauthentication, if the project does.
pub(super) async fn check_reauthenticated(
    context: &RequestContext,
    signed_in: &SignedIn,
    nonce: &str,
) -> Result<(), AuthError> {
    let session = signed_in.session.as_ref();
    let is_fresh =
        session.is_some_and(|session| context.now < session.created_at + REAUTHENTICATION_AGE);
    if is_fresh || !context.config.password.change_needs_reauthentication {
        return Ok(());
    }
    check_nonce(context, &signed_in.user, nonce).await
}

/// Stores it, clears pending tokens and ends all other sessions.
pub(super) async fn set(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    signed_in: &SignedIn,
    NewPassword(hash): NewPassword,
) -> Result<User, AuthError> {
    let id = signed_in.user.id;
    let now = context.now;
    let is_first = !signed_in.user.has_password();
    users::set_password_hash(tx, id, &hash, now).await?;
    let user = one_time::clear_all(tx, id, now).await?;
    let current = signed_in.session.as_ref().map(|session| session.id);
    sessions::delete_all_but(tx, id, current).await?;
    let action = Action::UserUpdatedPassword;
    audit::write(context, tx, &user, action, Value::Null).await?;
    if !user.email.is_empty() {
        mail::notify(
            context,
            tx,
            &user,
            &user.email,
            Notification::PasswordChanged,
        )
        .await;
    }
    let makes_identity =
        is_first && context.config.password.makes_email_identity && user.is_email_confirmed();
    if !makes_identity {
        return Ok(user);
    }
    let contact = Contact::Email(user.email.clone());
    accounts::upsert_identity(tx, &user, &contact, true, now).await?;
    Ok(identities::recompute_providers(tx, &user, now).await?)
}
