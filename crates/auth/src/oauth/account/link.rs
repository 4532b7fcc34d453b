//! Another way in, for somebody who is signed in (auth contract §5.2).

use plinth_db::Queries;
use uuid::Uuid;

use super::{Entry, Visitor, add_identity, already_linked, audit_identity, check_banned, email};
use crate::{
    AuthError, accounts,
    audit::Action,
    error::Code,
    mail::{self, LetterKind, Notice},
    messages,
    model::{User, identities, users},
    request::Context,
};

/// Links who came to the account of `target`, whatever addresses they have.
pub(in crate::oauth) async fn link(
    context: &Context,
    db: &mut impl Queries,
    target: Uuid,
    visitor: &Visitor<'_>,
) -> Result<Entry, AuthError> {
    let user = users::lock(db, target).await?;
    let user = user
        .ok_or_else(|| AuthError::new(422, Code::UserNotFound, "Linking target user not found"))?;
    check_banned(context, &user)?;
    let known = identities::find(db, visitor.provider, &visitor.profile.subject).await?;
    match known {
        Some(identity) if identity.user_id == user.id => {
            return Err(already_linked("Identity is already linked"));
        }
        Some(_) => {
            return Err(already_linked("Identity is already linked to another user"));
        }
        None => {}
    }
    let identity = add_identity(context, db, &user, visitor).await?;
    audit_identity(context, db, &user, Action::IdentityLinked, &identity).await?;
    let user = identities::recompute_providers(db, &user, context.now).await?;
    if !user.email.is_empty() {
        notify(context, db, &user, visitor.provider).await;
        return Ok(Entry::of(user));
    }
    take_email(context, db, user, visitor).await
}

/// An account without an address takes the identity's. With that it stops being anonymous, once
/// the address is proved.
async fn take_email(
    context: &Context,
    db: &mut impl Queries,
    user: User,
    visitor: &Visitor<'_>,
) -> Result<Entry, AuthError> {
    let Some(email) = visitor.profile.email() else {
        return Ok(Entry::of(name(context, db, user).await?));
    };
    if email::is_others(db, &user, &email.address).await? {
        return Err(email_exists());
    }
    let columns = "email = $1, email_confirmed_at = null, confirmation_sent_at = null";
    let changed = users::update(db, user.id, context.now, columns, &[&email.address]).await;
    let user = changed.map_err(|error| match accounts::is_taken(&error) {
        true => email_exists(),
        false => AuthError::database("Database error updating user", error),
    })?;
    if email.is_verified || context.config.mail.is_autoconfirmed {
        let user = email::confirm(context, db, &user).await?;
        let user = name(context, db, user).await?;
        notify(context, db, &user, visitor.provider).await;
        return Ok(Entry::of(user));
    }
    let user = messages::send_letter(context, db, &user, LetterKind::Confirmation, None).await?;
    let provider = visitor.provider;
    let text = format!(
        "Unverified email with {provider}. A confirmation email has been sent to your \
         {provider} email"
    );
    Ok(Entry {
        refusal: Some(AuthError::new(422, Code::EmailNotConfirmed, text)),
        ..Entry::of(user)
    })
}

fn email_exists() -> AuthError {
    AuthError::new(
        400,
        Code::EmailExists,
        "A user with this email address has already been registered",
    )
}

async fn name(context: &Context, db: &mut impl Queries, user: User) -> Result<User, AuthError> {
    match user.is_anonymous {
        true => Ok(users::update(db, user.id, context.now, "is_anonymous = false", &[]).await?),
        false => Ok(user),
    }
}

async fn notify(context: &Context, db: &mut impl Queries, user: &User, provider: &str) {
    let notice = Notice::IdentityLinked { provider };
    mail::notify(context, db, user, &user.email, notice).await;
}
