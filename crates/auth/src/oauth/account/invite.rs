//! An invitation that is accepted through a provider (auth contract §2.8).

use plinth_db::{DbError, Queries};
use serde_json::json;

use super::{
    Entry, Visitor, add_identity, check_banned,
    email::{self, Arrival},
};
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    model::{TokenKind, User, one_time},
    request::Context,
};

/// Whom the token of a letter invites, locked.
pub(in crate::oauth) async fn find_invited(
    context: &Context,
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

/// Lets in who was invited, if the provider knows them by the invited address.
pub(in crate::oauth) async fn accept(
    context: &Context,
    db: &mut impl Queries,
    token: &str,
    visitor: &Visitor<'_>,
) -> Result<Entry, AuthError> {
    let user = find_invited(context, db, token).await?;
    let user = user.ok_or_else(|| AuthError::new(404, Code::InviteNotFound, "Invite not found"))?;
    check_banned(context, &user)?;
    let mut emails = visitor.profile.emails.iter();
    if !emails.any(|email| email.address == user.email.to_lowercase()) {
        return Err(AuthError::invalid(
            "Invited email does not match emails from external provider",
        ));
    }
    let identity = add_identity(context, db, &user, visitor).await?;
    let traits = json!({ "provider": visitor.provider });
    audit::write(context, db, &user, Action::InviteAccepted, traits).await?;
    let user =
        email::remove_unproven(context, db, &user, &identity, visitor, Arrival::Anew).await?;
    // Whoever has the letter's token reads at the address.
    Ok(Entry::of(email::confirm(context, db, &user).await?))
}
