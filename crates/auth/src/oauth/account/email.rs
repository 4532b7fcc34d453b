//! Which address an account has, and who vouches for it (auth contract §5.1, §5.3).

use plinth_db::{DbError, Queries};
use serde_json::Value;

use super::{Entry, Visitor};
use crate::{
    AuthError, accounts,
    error::Code,
    mail::LetterKind,
    messages,
    model::{Identity, TokenKind, User, identities, one_time, sessions, users},
    request::Context,
};

/// How somebody came to an account whose address nobody has proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// With an identity that was the account's before: its second factors are their own.
    Again,
    /// With one that it did not have. Whoever made the account may be somebody else.
    Anew,
}

/// Somebody came to an account whose address nobody has proved. Whoever made it may not be the
/// address's owner, so no way in but the present identity stays of it.
pub(super) async fn settle(
    context: &Context,
    db: &mut impl Queries,
    user: User,
    identity: &Identity,
    visitor: &Visitor<'_>,
    arrival: Arrival,
) -> Result<Entry, AuthError> {
    let user = remove_unproven(context, db, &user, identity, visitor, arrival).await?;
    let user = take_vouched(context, db, user, visitor).await?;
    if is_vouched(context, &user, visitor) {
        accounts::audit_sign_up(context, db, &user, visitor.provider).await?;
        return Ok(Entry::of(confirm(context, db, &user).await?));
    }
    let has_address = !user.email.is_empty();
    let user = match has_address {
        true => messages::send_letter(context, db, &user, LetterKind::Confirmation, None).await?,
        false => user,
    };
    let mut entry = Entry::of(user);
    if !context.config.mail.allows_unverified_sign_ins {
        entry.refusal = Some(needs_verification(visitor.provider, has_address));
    }
    Ok(entry)
}

fn needs_verification(provider: &str, is_sent: bool) -> AuthError {
    let advice = match is_sent {
        true => format!("A confirmation email has been sent to your {provider} email"),
        false => format!("Verify the email with {provider} in order to sign in"),
    };
    AuthError::new(
        422,
        Code::ProviderEmailNeedsVerification,
        format!("Unverified email with {provider}. {advice}"),
    )
}

/// Takes away every door that somebody else may have put in.
pub(super) async fn remove_unproven(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    identity: &Identity,
    visitor: &Visitor<'_>,
    arrival: Arrival,
) -> Result<User, DbError> {
    let mut doors = u64::from(user.has_password()) + u64::from(!user.phone.is_empty());
    let sql = "delete from auth.identities where user_id = $1 and id <> $2";
    doors += db.execute(sql, &[&user.id, &identity.id]).await?;
    if arrival == Arrival::Anew {
        doors += remove_factors(db, user).await?;
    }
    // Sessions of who has no other way in are the visitor's own.
    if doors > 0 {
        sessions::delete_all_but(db, user.id, None).await?;
    }
    // What is under way may end in another's address or number.
    one_time::clear_all(db, user.id, context.now).await?;
    let metadata = Value::Object(visitor.profile.identity_data());
    let columns = "encrypted_password = null, raw_user_meta_data = $1, phone = null,
                   phone_confirmed_at = null, phone_change = '', email_change = '',
                   email_change_confirm_status = 0";
    let user = users::update(db, user.id, context.now, columns, &[&metadata]).await?;
    identities::recompute_providers(db, &user, context.now).await
}

/// Passkeys and second factors; how many there were.
async fn remove_factors(db: &mut impl Queries, user: &User) -> Result<u64, DbError> {
    let mut removed = 0;
    for sql in [
        "delete from auth.webauthn_credentials where user_id = $1",
        "delete from auth.mfa_factors where user_id = $1",
    ] {
        removed += db.execute(sql, &[&user.id]).await?;
    }
    Ok(removed)
}

/// An address that the provider vouches for is better than one that nobody does.
async fn take_vouched(
    context: &Context,
    db: &mut impl Queries,
    user: User,
    visitor: &Visitor<'_>,
) -> Result<User, DbError> {
    let email = visitor.profile.email().filter(|email| email.is_verified);
    let Some(email) = email.filter(|_| !is_vouched(context, &user, visitor)) else {
        return Ok(user);
    };
    if is_others(db, &user, &email.address).await? {
        return Ok(user);
    }
    one_time::clear_all(db, user.id, context.now).await?;
    let columns = "email = $1, confirmation_sent_at = null";
    users::update(db, user.id, context.now, columns, &[&email.address]).await
}

fn is_vouched(context: &Context, user: &User, visitor: &Visitor<'_>) -> bool {
    !user.email.is_empty()
        && (context.config.mail.is_autoconfirmed || visitor.profile.vouches_for(&user.email))
}

/// Whether another account of the kind has this address.
pub(super) async fn is_others(
    db: &mut impl Queries,
    user: &User,
    email: &str,
) -> Result<bool, DbError> {
    if user.is_sso_user {
        return Ok(false);
    }
    let found = users::find_by_email(db, email, &user.aud).await?;
    Ok(found.is_some_and(|found| found.id != user.id))
}

/// The address is proved; a letter that asks for it is void.
pub(super) async fn confirm(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, DbError> {
    one_time::void(db, user.id, TokenKind::Confirmation, context.now).await?;
    accounts::confirm_email(context, db, user).await
}

/// Why an account cannot get an address from its identities.
pub(super) enum NoAddress {
    /// All of them belong to other accounts.
    Taken,
    Failed(DbError),
}

impl From<DbError> for NoAddress {
    fn from(error: DbError) -> Self {
        match accounts::is_taken(&error) {
            true => Self::Taken,
            false => Self::Failed(error),
        }
    }
}

/// Gives the account an address that one of its identities stands for, unless it has one: the
/// oldest of those that are verified, else of those that are not, else none.
pub(super) async fn promote(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, NoAddress> {
    let mut candidates = identities::list(db, user.id).await?;
    let own = user.email.to_lowercase();
    if candidates.iter().any(|identity| identity.email == own) {
        return Ok(user.clone());
    }
    candidates.sort_by_key(rank);
    let mut chosen = None;
    for candidate in candidates {
        if candidate.email.is_empty() || !is_others(db, user, &candidate.email).await? {
            chosen = Some(candidate);
            break;
        }
    }
    let chosen = chosen.ok_or(NoAddress::Taken)?;
    // What is under way was begun with another address.
    one_time::clear_all(db, user.id, context.now).await?;
    let columns = "email = nullif($1, ''), email_change = '', phone_change = '',
                   email_change_confirm_status = 0, confirmation_sent_at = null";
    let changed = users::update(db, user.id, context.now, columns, &[&chosen.email]).await?;
    let is_proved = !chosen.email.is_empty()
        && (chosen.is_email_verified() || context.config.mail.is_autoconfirmed);
    match is_proved {
        true => Ok(changed),
        false => Ok(unconfirm(context, db, changed).await?),
    }
}

/// Sorting keeps the order of age within a rank.
fn rank(identity: &Identity) -> u8 {
    match (identity.email.is_empty(), identity.is_email_verified()) {
        (false, true) => 0,
        (false, false) => 1,
        (true, _) => 2,
    }
}

async fn unconfirm(context: &Context, db: &mut impl Queries, user: User) -> Result<User, DbError> {
    let mut metadata = user.user_metadata;
    metadata.insert("email_verified".to_owned(), false.into());
    let metadata = Value::Object(metadata);
    let columns = "email_confirmed_at = null, raw_user_meta_data = $1";
    users::update(db, user.id, context.now, columns, &[&metadata]).await
}
