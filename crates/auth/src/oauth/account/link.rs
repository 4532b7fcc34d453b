//! Linking an identity to a signed-in user (auth contract §5.2).

use plinth_db::Queries;
use uuid::Uuid;

use super::{ProviderUser, SignInOutcome, add_identity, audit_identity, check_banned, email};
use crate::{
    AuthError, accounts,
    audit::Action,
    mail::{self, Notification, TokenMailKind},
    messages,
    model::{User, identities, users},
    request::RequestContext,
};

/// Links the identity to the user `target`, whatever its addresses.
pub(in crate::oauth) async fn link(
    context: &RequestContext,
    db: &mut impl Queries,
    target: Uuid,
    provider_user: &ProviderUser<'_>,
) -> Result<SignInOutcome, AuthError> {
    let user = users::lock(db, target).await?;
    let user = user.ok_or_else(AuthError::linking_target_not_found)?;
    check_banned(context, &user)?;
    let known =
        identities::find(db, provider_user.provider, &provider_user.profile.subject).await?;
    match known {
        Some(identity) if identity.user_id == user.id => {
            return Err(AuthError::identity_already_linked());
        }
        Some(_) => {
            return Err(AuthError::identity_linked_to_another_user());
        }
        None => {}
    }
    let identity = add_identity(context, db, &user, provider_user).await?;
    audit_identity(context, db, &user, Action::IdentityLinked, &identity).await?;
    let user = identities::recompute_providers(db, &user, context.now).await?;
    if !user.email.is_empty() {
        notify(context, db, &user, provider_user.provider).await;
        return Ok(SignInOutcome::for_user(user));
    }
    adopt_email(context, db, user, provider_user).await
}

/// A user without an address takes the identity's. An anonymous user becomes permanent once the
/// address is verified.
async fn adopt_email(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
    provider_user: &ProviderUser<'_>,
) -> Result<SignInOutcome, AuthError> {
    let Some(email) = provider_user.profile.email() else {
        return Ok(SignInOutcome::for_user(
            clear_anonymous(context, db, user).await?,
        ));
    };
    if email::belongs_to_another_user(db, &user, &email.address).await? {
        return Err(AuthError::email_exists_on_linking());
    }
    let now = context.now;
    let changed = users::set_unconfirmed_email(db, user.id, &email.address, now).await;
    let user = changed.map_err(|error| {
        if accounts::is_taken(&error) {
            AuthError::email_exists_on_linking()
        } else {
            AuthError::storing_user_failed(error)
        }
    })?;
    if email.is_verified || context.config.mail.is_autoconfirmed {
        let user = email::confirm(context, db, &user).await?;
        let user = clear_anonymous(context, db, user).await?;
        notify(context, db, &user, provider_user.provider).await;
        return Ok(SignInOutcome::for_user(user));
    }
    let user =
        messages::send_token_mail(context, db, &user, TokenMailKind::Confirmation, None).await?;
    Ok(SignInOutcome {
        rejection: Some(AuthError::linked_email_not_confirmed(
            provider_user.provider,
        )),
        ..SignInOutcome::for_user(user)
    })
}

async fn clear_anonymous(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
) -> Result<User, AuthError> {
    if user.is_anonymous {
        Ok(users::clear_anonymous(db, user.id, context.now).await?)
    } else {
        Ok(user)
    }
}

async fn notify(context: &RequestContext, db: &mut impl Queries, user: &User, provider: &str) {
    let notice = Notification::IdentityLinked { provider };
    mail::notify(context, db, user, &user.email, notice).await;
}
