//! Signing in or up with an identity (auth contract §5.1).

use plinth_db::{DbError, Queries};
use serde_json::json;

use super::{
    Entry, Visitor, add_identity, audit_identity, check_banned,
    decision::{Decision, decide},
    email::{self, Arrival},
    merge_metadata,
};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    error::Code,
    model::{Identity, NewUser, User, identities, users},
    request::Context,
    signup,
};

/// Asks the user's own code about an account that would be made. Not inside a transaction.
pub(in crate::oauth) async fn announce(
    context: &Context,
    visitor: &Visitor<'_>,
) -> Result<(), AuthError> {
    if context.config.hooks.before_user_created.is_none() {
        return Ok(());
    }
    let mut db = context.db().await?;
    let decision = decide(context, &mut db, visitor).await?;
    drop(db);
    let Decision::Create { email } = decision else {
        return Ok(());
    };
    signup::check_enabled(context)?;
    accounts::ask_before(context, &new_user(context, visitor, email)).await
}

/// Lets somebody in: to the account that is theirs, else to a new one.
pub(in crate::oauth) async fn enter(
    context: &Context,
    db: &mut impl Queries,
    visitor: &Visitor<'_>,
) -> Result<Entry, AuthError> {
    let decision = decide(context, db, visitor).await?;
    let is_new = matches!(decision, Decision::Create { .. });
    let arrival = match decision {
        Decision::SignIn { .. } => Arrival::Again,
        Decision::Link(_) | Decision::Create { .. } => Arrival::Anew,
    };
    let (user, identity) = match decision {
        Decision::SignIn { identity, user } => (
            renew(context, db, &identity, &user, visitor).await?,
            identity,
        ),
        Decision::Link(user) => join(context, db, &user, visitor).await?,
        Decision::Create { email } => create(context, db, email, visitor).await?,
    };
    check_banned(context, &user)?;
    let needs_email = !(visitor.is_email_optional && user.email.is_empty());
    let mut entry = match needs_email && !user.is_email_confirmed() {
        true => email::settle(context, db, user, &identity, visitor, arrival).await?,
        false => {
            let traits = json!({ "provider": visitor.provider });
            audit::write(context, db, &user, Action::Login, traits).await?;
            Entry::of(user)
        }
    };
    entry.is_new = is_new;
    Ok(entry)
}

/// Back again: what the provider says now replaces what it said.
async fn renew(
    context: &Context,
    db: &mut impl Queries,
    identity: &Identity,
    user: &User,
    visitor: &Visitor<'_>,
) -> Result<User, DbError> {
    let data = visitor.profile.identity_data();
    identities::update_data(db, identity.id, &data, context.now).await?;
    identities::touch(db, identity.id, context.now).await?;
    let user = merge_metadata(context, db, user, visitor.profile).await?;
    identities::recompute_providers(db, &user, context.now).await
}

/// Another way into an account that is there.
async fn join(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    visitor: &Visitor<'_>,
) -> Result<(User, Identity), AuthError> {
    let identity = add_identity(context, db, user, visitor).await;
    let identity = identity.map_err(concurrent)?;
    let user = merge_metadata(context, db, user, visitor.profile).await?;
    let user = identities::recompute_providers(db, &user, context.now).await?;
    audit_identity(context, db, &user, Action::IdentityLinked, &identity).await?;
    Ok((user, identity))
}

async fn create(
    context: &Context,
    db: &mut impl Queries,
    email: String,
    visitor: &Visitor<'_>,
) -> Result<(User, Identity), AuthError> {
    signup::check_enabled(context)?;
    let new = new_user(context, visitor, email);
    let user = users::insert(db, new, context.now).await;
    let user = user.map_err(|error| match accounts::is_taken(&error) {
        true => conflict(),
        false => AuthError::database("Database error saving new user", error),
    })?;
    let identity = add_identity(context, db, &user, visitor).await;
    Ok((user, identity.map_err(concurrent)?))
}

fn new_user(context: &Context, visitor: &Visitor<'_>, email: String) -> NewUser {
    let domain = context.config.external.linking.of(visitor.provider);
    NewUser {
        id: crate::random::uuid(),
        aud: context.new_audience().to_owned(),
        role: context.config.jwt.default_role.clone(),
        email,
        phone: String::new(),
        encrypted_password: String::new(),
        app_metadata: accounts::provider_metadata(visitor.provider),
        user_metadata: visitor.profile.identity_data(),
        is_anonymous: false,
        // Addresses of other linking domains need not be unique.
        is_sso_user: domain != "default",
    }
}

/// The same person came twice at once; the second attempt finds what the first made.
fn concurrent(error: AuthError) -> AuthError {
    match error.code() {
        Code::IdentityAlreadyExists => conflict(),
        _ => error,
    }
}

fn conflict() -> AuthError {
    AuthError::new(
        409,
        Code::Conflict,
        "Another sign-in of the same person is under way, please try again",
    )
}
