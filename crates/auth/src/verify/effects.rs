//! Effects of a verified token (auth contract §2.5, §7.4).

use plinth_project::ServiceTransaction;
use serde_json::Value;

use super::{VerifiedToken, proof::Purpose};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    contact::Contact,
    mail::{self, Notification},
    model::{TokenKind, User, identities, one_time, users},
    random,
    request::RequestContext,
};

/// The result for the client.
pub(super) enum Effect {
    /// A session.
    Session(Box<User>),
    /// The other address must confirm the change too.
    FirstOfTwoConfirmed,
}

/// Applies the token's purpose and clears all tokens of the user.
pub(super) async fn apply(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    verified: VerifiedToken,
) -> Result<Effect, AuthError> {
    let VerifiedToken {
        user,
        kind,
        purpose,
    } = verified;
    let user = match kind {
        TokenKind::Confirmation if purpose == Purpose::Sms => sms(context, tx, user).await?,
        TokenKind::Confirmation => confirmation(context, tx, user).await?,
        TokenKind::Recovery | TokenKind::Reauthentication => recovery(context, tx, user).await?,
        TokenKind::PhoneChange => phone_change(context, tx, user).await?,
        TokenKind::EmailChangeNew | TokenKind::EmailChangeCurrent => {
            match email_change(context, tx, user, kind).await? {
                Some(user) => user,
                None => return Ok(Effect::FirstOfTwoConfirmed),
            }
        }
    };
    one_time::clear_all(tx, user.id, context.now).await?;
    let user = identities::recompute_providers(tx, &user, context.now).await?;
    Ok(Effect::Session(Box::new(user)))
}

/// Confirms the address of a sign-up or invitation.
async fn confirmation(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let now = context.now;
    let mut user = user;
    if user.invited_at.is_some() && !user.has_password() {
        // A random password, which is never shown.
        let cost = context.config.password.cost;
        let hasher = context.service.hasher();
        let hash = hasher.hash(&random::url_text::<32>(), cost).await?;
        user = users::set_password_hash(tx, user.id, &hash, now).await?;
    }
    confirm_email(context, tx, user).await
}

async fn confirm_email(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let user = accounts::confirm_email(context, tx, &user).await?;
    accounts::audit_sign_up(context, tx, &user, "email").await?;
    Ok(user)
}

/// Signs in by a recovery or magic link.
async fn recovery(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    if !user.is_email_confirmed() {
        return confirm_email(context, tx, user).await;
    }
    audit::write(context, tx, &user, Action::Login, Value::Null).await?;
    Ok(user)
}

async fn sms(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let user = accounts::confirm_phone(context, tx, &user).await?;
    accounts::audit_sign_up(context, tx, &user, "phone").await?;
    clear_anonymous(context, tx, user).await
}

async fn phone_change(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let changed = set_phone(context, tx, &user, &user.phone_change).await?;
    audit::write(context, tx, &changed, Action::UserModified, Value::Null).await?;
    clear_anonymous(context, tx, changed).await
}

/// Sets the phone number; notifies the user if they had another.
pub(crate) async fn set_phone(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: &User,
    phone: &str,
) -> Result<User, AuthError> {
    let changed = users::set_confirmed_phone(tx, user.id, phone, context.now).await;
    let changed = changed.map_err(or_link_expired)?;
    let contact = Contact::Phone(phone.to_owned());
    accounts::upsert_identity(tx, &changed, &contact, true, context.now).await?;
    let old_phone = user.phone.as_str();
    if !changed.email.is_empty() && !old_phone.is_empty() {
        let notice = Notification::PhoneChanged { old_phone };
        mail::notify(context, tx, &changed, &changed.email, notice).await;
    }
    Ok(changed)
}

/// Confirms a change of address; `None` if the other address must confirm too.
async fn email_change(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
    kind: TokenKind,
) -> Result<Option<User>, AuthError> {
    let needs_both = context.config.mail.is_change_confirmed_twice
        && !context.config.mail.is_autoconfirmed
        && !user.email.is_empty();
    if needs_both && user.email_change_confirm_status == 0 {
        one_time::revoke(tx, user.id, kind, context.now).await?;
        users::confirm_half_of_email_change(tx, user.id, context.now).await?;
        return Ok(None);
    }
    let (old, new) = (user.email.clone(), user.email_change.clone());
    let changed = set_email(context, tx, &user, &new).await?;
    audit::write(context, tx, &changed, Action::UserModified, Value::Null).await?;
    if !old.is_empty() {
        let notice = Notification::EmailChanged { old_email: &old };
        mail::notify(context, tx, &changed, &old, notice).await;
    }
    clear_anonymous(context, tx, changed).await.map(Some)
}

/// Sets the email address.
pub(crate) async fn set_email(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: &User,
    email: &str,
) -> Result<User, AuthError> {
    let changed = users::set_confirmed_email(tx, user.id, email, context.now).await;
    let changed = changed.map_err(or_link_expired)?;
    let contact = Contact::Email(email.to_owned());
    accounts::upsert_identity(tx, &changed, &contact, true, context.now).await?;
    let changed = accounts::confirm_email(context, tx, &changed).await?;
    Ok(changed)
}

/// A user with a verified contact is not anonymous any more.
pub(crate) async fn clear_anonymous(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    if user.is_anonymous {
        Ok(users::clear_anonymous(tx, user.id, context.now).await?)
    } else {
        Ok(user)
    }
}

fn or_link_expired(error: plinth_db::DbError) -> AuthError {
    if accounts::is_taken(&error) {
        AuthError::email_link_expired()
    } else {
        AuthError::storing_user_failed(error)
    }
}
