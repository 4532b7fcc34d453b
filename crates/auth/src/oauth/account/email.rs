//! The address of a user who signs in through a provider, and whether it is verified (auth contract
//! §5.1, §5.3).

use plinth_db::{DbError, Queries};

use super::{ProviderUser, SignInOutcome};
use crate::{
    AuthError, accounts,
    mail::TokenMailKind,
    messages,
    model::{Identity, TokenKind, User, factors, identities, one_time, passkeys, sessions, users},
    request::RequestContext,
};

/// The identity that is signed in with, where the user's address is unconfirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdentityAge {
    /// The user had it before: the second factors are theirs.
    Known,
    /// The user did not have it, so the account may have been created by another user.
    New,
}

/// Settles the unconfirmed address of a user. The account may have been created by another user who
/// does not own the address, so nothing but the present identity stays.
pub(super) async fn settle_unconfirmed(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
    identity: &Identity,
    provider_user: &ProviderUser<'_>,
    identity_age: IdentityAge,
) -> Result<SignInOutcome, AuthError> {
    let user = remove_unproven(context, db, &user, identity, provider_user, identity_age).await?;
    let user = take_verified_email(context, db, user, provider_user).await?;
    if has_verified_email(context, &user, provider_user) {
        accounts::audit_sign_up(context, db, &user, provider_user.provider).await?;
        return Ok(SignInOutcome::for_user(confirm(context, db, &user).await?));
    }
    let has_address = !user.email.is_empty();
    let user = if has_address {
        messages::send_token_mail(context, db, &user, TokenMailKind::Confirmation, None).await?
    } else {
        user
    };
    let mut outcome = SignInOutcome::for_user(user);
    if !context.config.mail.allows_unverified_sign_ins {
        outcome.rejection = Some(if has_address {
            AuthError::provider_email_needs_confirmation(provider_user.provider)
        } else {
            AuthError::provider_email_unverified(provider_user.provider)
        });
    }
    Ok(outcome)
}

/// Removes every way to sign in that another user may have prepared.
pub(super) async fn remove_unproven(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    identity: &Identity,
    provider_user: &ProviderUser<'_>,
    identity_age: IdentityAge,
) -> Result<User, DbError> {
    let mut removed_methods = u64::from(user.has_password()) + u64::from(!user.phone.is_empty());
    removed_methods += identities::delete_all_but(db, user.id, identity.id).await?;
    if identity_age == IdentityAge::New {
        removed_methods += passkeys::delete_all(db, user.id).await?;
        removed_methods += factors::delete_all(db, user.id).await?;
    }
    // If there were no other ways to sign in, the sessions belong to this user.
    if removed_methods > 0 {
        sessions::delete_all_but(db, user.id, None).await?;
    }
    // Pending tokens may lead to another address or number.
    one_time::clear_all(db, user.id, context.now).await?;
    let metadata = provider_user.profile.identity_data();
    let user = users::remove_unproven(db, user.id, metadata, context.now).await?;
    identities::recompute_providers(db, &user, context.now).await
}

/// Takes the provider's verified address in place of an unverified one.
async fn take_verified_email(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
    provider_user: &ProviderUser<'_>,
) -> Result<User, DbError> {
    let email = provider_user
        .profile
        .email()
        .filter(|email| email.is_verified);
    let Some(email) = email.filter(|_| !has_verified_email(context, &user, provider_user)) else {
        return Ok(user);
    };
    if belongs_to_another_user(db, &user, &email.address).await? {
        return Ok(user);
    }
    one_time::clear_all(db, user.id, context.now).await?;
    users::replace_email(db, user.id, &email.address, context.now).await
}

fn has_verified_email(
    context: &RequestContext,
    user: &User,
    provider_user: &ProviderUser<'_>,
) -> bool {
    !user.email.is_empty()
        && (context.config.mail.is_autoconfirmed || provider_user.profile.has_verified(&user.email))
}

/// Whether another user has this address.
pub(super) async fn belongs_to_another_user(
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

/// Confirms the address, and revokes the token that was sent for it.
pub(super) async fn confirm(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, DbError> {
    one_time::revoke(db, user.id, TokenKind::Confirmation, context.now).await?;
    accounts::confirm_email(context, db, user).await
}

/// Why a user gets no address from the identities.
pub(super) enum PromotionError {
    /// All of them belong to other users.
    AllTaken,
    Failed(DbError),
}

impl From<DbError> for PromotionError {
    fn from(error: DbError) -> Self {
        if accounts::is_taken(&error) {
            Self::AllTaken
        } else {
            Self::Failed(error)
        }
    }
}

/// Gives the user the address of one of the identities, unless the current one is among them: the
/// oldest verified one, else the oldest unverified one, else none.
pub(super) async fn promote_identity_email(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, PromotionError> {
    let mut candidates = identities::list(db, user.id).await?;
    let own = user.email.to_lowercase();
    if candidates.iter().any(|identity| identity.email == own) {
        return Ok(user.clone());
    }
    candidates.sort_by_key(rank);
    let mut chosen = None;
    for candidate in candidates {
        if candidate.email.is_empty()
            || !belongs_to_another_user(db, user, &candidate.email).await?
        {
            chosen = Some(candidate);
            break;
        }
    }
    let chosen = chosen.ok_or(PromotionError::AllTaken)?;
    // Pending tokens were sent to another address.
    one_time::clear_all(db, user.id, context.now).await?;
    let now = context.now;
    let changed = users::replace_email_and_pending(db, user.id, &chosen.email, now).await?;
    let is_verified = !chosen.email.is_empty()
        && (chosen.is_email_verified() || context.config.mail.is_autoconfirmed);
    if is_verified {
        Ok(changed)
    } else {
        Ok(unconfirm(context, db, changed).await?)
    }
}

/// Sorting is stable, so age decides within a rank.
fn rank(identity: &Identity) -> u8 {
    match (identity.email.is_empty(), identity.is_email_verified()) {
        (false, true) => 0,
        (false, false) => 1,
        (true, _) => 2,
    }
}

async fn unconfirm(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
) -> Result<User, DbError> {
    let mut metadata = user.user_metadata;
    metadata.insert("email_verified".to_owned(), false.into());
    users::unconfirm_email(db, user.id, metadata, context.now).await
}
