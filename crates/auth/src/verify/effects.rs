//! What happens when a token was right (auth contract §2.5, §7.4).

use plinth_db::Params;
use plinth_project::ServiceTransaction;
use serde_json::Value;

use super::{Proven, proof::Purpose};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    mail::{self, Notice},
    model::{TokenKind, User, identities, one_time, users},
    random,
    request::{Context, contact::Contact},
};

/// What the person gets.
pub(super) enum Effect {
    /// They are let in.
    Session(Box<User>),
    /// A change of address waits for the other half.
    OneOfTwo,
}

/// Does what the token stands for, and takes all tokens of the user back.
pub(super) async fn apply(
    context: &Context,
    tx: &mut ServiceTransaction,
    proven: Proven,
) -> Result<Effect, AuthError> {
    let Proven {
        user,
        kind,
        purpose,
    } = proven;
    let user = match kind {
        TokenKind::Confirmation if purpose == Purpose::Sms => sms(context, tx, user).await?,
        TokenKind::Confirmation => confirmation(context, tx, user).await?,
        TokenKind::Recovery | TokenKind::Reauthentication => recovery(context, tx, user).await?,
        TokenKind::PhoneChange => phone_change(context, tx, user).await?,
        TokenKind::EmailChangeNew | TokenKind::EmailChangeCurrent => {
            match email_change(context, tx, user, kind).await? {
                Some(user) => user,
                None => return Ok(Effect::OneOfTwo),
            }
        }
    };
    one_time::clear_all(tx, user.id, context.now).await?;
    let user = identities::recompute_providers(tx, &user, context.now).await?;
    Ok(Effect::Session(Box::new(user)))
}

/// Somebody signed up or was invited, and reads at the address.
async fn confirmation(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let now = context.now;
    let mut user = user;
    if user.invited_at.is_some() && !user.has_password() {
        // So that the account is like any other; nobody knows it.
        let cost = context.config.password.cost;
        let hasher = context.service.hasher();
        let hash = hasher.hash(&random::url_text::<32>(), cost).await?;
        user = users::update(tx, user.id, now, "encrypted_password = $1", &[&hash]).await?;
    }
    confirm_email(context, tx, user).await
}

async fn confirm_email(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let user = accounts::confirm_email(context, tx, &user).await?;
    accounts::audit_sign_up(context, tx, &user, "email").await?;
    Ok(user)
}

/// Somebody follows a link of a recovery or a magic link.
async fn recovery(
    context: &Context,
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
    context: &Context,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let user = accounts::confirm_phone(context, tx, &user).await?;
    accounts::audit_sign_up(context, tx, &user, "phone").await?;
    named(context, tx, user).await
}

async fn phone_change(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let changed = set_phone(context, tx, &user, &user.phone_change).await?;
    audit::write(context, tx, &changed, Action::UserModified, Value::Null).await?;
    named(context, tx, changed).await
}

/// The number is theirs from now on; they are told if they had another.
pub(crate) async fn set_phone(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: &User,
    phone: &str,
) -> Result<User, AuthError> {
    let columns = "phone = $1, phone_confirmed_at = $2, phone_change = '', phone_change_token = ''";
    let values: Params<'_> = &[&phone, &context.now];
    let changed = users::update(tx, user.id, context.now, columns, values).await;
    let changed = changed.map_err(taken_meanwhile)?;
    let contact = Contact::Phone(phone.to_owned());
    accounts::put_identity(tx, &changed, &contact, true, context.now).await?;
    let old_phone = user.phone.as_str();
    if !changed.email.is_empty() && !old_phone.is_empty() {
        let notice = Notice::PhoneChanged { old_phone };
        mail::notify(context, tx, &changed, &changed.email, notice).await;
    }
    Ok(changed)
}

/// One half of a change of address, or the whole; `None`: the other half is missing.
async fn email_change(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: User,
    kind: TokenKind,
) -> Result<Option<User>, AuthError> {
    let needs_both = context.config.mail.is_change_confirmed_twice
        && !context.config.mail.is_autoconfirmed
        && !user.email.is_empty();
    if needs_both && user.email_change_confirm_status == 0 {
        one_time::void(tx, user.id, kind, context.now).await?;
        let columns = "email_change_confirm_status = 1";
        users::update(tx, user.id, context.now, columns, &[]).await?;
        return Ok(None);
    }
    let (old, new) = (user.email.clone(), user.email_change.clone());
    let changed = set_email(context, tx, &user, &new).await?;
    audit::write(context, tx, &changed, Action::UserModified, Value::Null).await?;
    if !old.is_empty() {
        let notice = Notice::EmailChanged { old_email: &old };
        mail::notify(context, tx, &changed, &old, notice).await;
    }
    named(context, tx, changed).await.map(Some)
}

/// The address is theirs from now on.
pub(crate) async fn set_email(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: &User,
    email: &str,
) -> Result<User, AuthError> {
    let columns = "email = $1, email_confirmed_at = $2, email_change = '',
                   email_change_token_new = '', email_change_token_current = '',
                   email_change_confirm_status = 0";
    let values: Params<'_> = &[&email, &context.now];
    let changed = users::update(tx, user.id, context.now, columns, values).await;
    let changed = changed.map_err(taken_meanwhile)?;
    let contact = Contact::Email(email.to_owned());
    accounts::put_identity(tx, &changed, &contact, true, context.now).await?;
    let changed = accounts::confirm_email(context, tx, &changed).await?;
    Ok(changed)
}

/// Whoever has proved an address or number is not anonymous any more.
pub(crate) async fn named(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    match user.is_anonymous {
        true => Ok(users::update(tx, user.id, context.now, "is_anonymous = false", &[]).await?),
        false => Ok(user),
    }
}

fn taken_meanwhile(error: plinth_db::DbError) -> AuthError {
    match accounts::is_taken(&error) {
        true => super::expired_link(),
        false => AuthError::database("Database error updating user", error),
    }
}
