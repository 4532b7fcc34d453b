//! Accepting an invitation through a provider (auth contract §2.8).

use plinth_db::{DbError, Queries};
use serde_json::json;

use super::{
    ProviderUser, SignInOutcome, add_identity, check_banned,
    email::{self, IdentityAge},
};
use crate::{
    AuthError,
    audit::{self, Action},
    model::{TokenKind, User, one_time},
    request::RequestContext,
};

/// The invited user of a token, locked.
pub(in crate::oauth) async fn find_invited(
    context: &RequestContext,
    db: &mut impl Queries,
    token: &str,
) -> Result<Option<User>, DbError> {
    if token.contains('\0') {
        return Ok(None);
    }
    let kinds = &[TokenKind::Confirmation];
    let Some((user, _)) = one_time::lock_by_link(db, token, kinds).await? else {
        return Ok(None);
    };
    let lifetime = context.config.mail.otp_lifetime;
    let sent = user.confirmation_sent_at;
    let is_young = sent.is_some_and(|sent| context.now < sent + lifetime);
    Ok((user.invited_at.is_some() && is_young).then_some(user))
}

/// Signs the invited user in, if the provider names the invited address.
pub(in crate::oauth) async fn accept(
    context: &RequestContext,
    db: &mut impl Queries,
    token: &str,
    provider_user: &ProviderUser<'_>,
) -> Result<SignInOutcome, AuthError> {
    let user = find_invited(context, db, token).await?;
    let user = user.ok_or_else(AuthError::invite_not_found)?;
    check_banned(context, &user)?;
    let mut emails = provider_user.profile.emails.iter();
    if !emails.any(|email| email.address == user.email.to_lowercase()) {
        return Err(AuthError::validation_failed(
            "Invited email does not match emails from external provider",
        ));
    }
    let identity = add_identity(context, db, &user, provider_user).await?;
    let traits = json!({ "provider": provider_user.provider });
    audit::write(context, db, &user, Action::InviteAccepted, traits).await?;
    let user = email::remove_unproven(
        context,
        db,
        &user,
        &identity,
        provider_user,
        IdentityAge::New,
    )
    .await?;
    // The token was sent to the address, so it is confirmed.
    Ok(SignInOutcome::for_user(
        email::confirm(context, db, &user).await?,
    ))
}
