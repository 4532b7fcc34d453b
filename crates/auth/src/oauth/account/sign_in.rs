//! Signing in or up with an identity (auth contract §5.1).

use plinth_db::{DbError, Queries};
use serde_json::json;

use super::{
    ProviderUser, SignInOutcome, add_identity, audit_identity, check_banned,
    decision::{Decision, decide},
    email::{self, IdentityAge},
    merge_metadata,
};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    error::Code,
    model::{Identity, NewUser, User, identities, users},
    request::RequestContext,
    signup,
};

/// Calls the before-user-created hook if the sign-in would create a user. Not inside a transaction.
pub(in crate::oauth) async fn run_before_created_hook(
    context: &RequestContext,
    provider_user: &ProviderUser<'_>,
) -> Result<(), AuthError> {
    if context.config.hooks.before_user_created.is_none() {
        return Ok(());
    }
    let mut db = context.db().await?;
    let decision = decide(context, &mut db, provider_user).await?;
    drop(db);
    let Decision::Create { email } = decision else {
        return Ok(());
    };
    signup::check_enabled(context)?;
    accounts::run_before_created_hook(context, &new_user(context, provider_user, email)).await
}

/// Signs a provider's user in: as the user they are, else as a new one.
pub(in crate::oauth) async fn sign_in_or_up(
    context: &RequestContext,
    db: &mut impl Queries,
    provider_user: &ProviderUser<'_>,
) -> Result<SignInOutcome, AuthError> {
    let decision = decide(context, db, provider_user).await?;
    let is_new = matches!(decision, Decision::Create { .. });
    let identity_age = match decision {
        Decision::SignIn { .. } => IdentityAge::Known,
        Decision::Link(_) | Decision::Create { .. } => IdentityAge::New,
    };
    let (user, identity) = match decision {
        Decision::SignIn { identity, user } => (
            update_identity(context, db, &identity, &user, provider_user).await?,
            identity,
        ),
        Decision::Link(user) => link_identity(context, db, &user, provider_user).await?,
        Decision::Create { email } => create(context, db, email, provider_user).await?,
    };
    check_banned(context, &user)?;
    let needs_email = !(provider_user.is_email_optional && user.email.is_empty());
    let mut outcome = if needs_email && !user.is_email_confirmed() {
        email::settle_unconfirmed(context, db, user, &identity, provider_user, identity_age).await?
    } else {
        let traits = json!({ "provider": provider_user.provider });
        audit::write(context, db, &user, Action::Login, traits).await?;
        SignInOutcome::for_user(user)
    };
    outcome.is_new = is_new;
    Ok(outcome)
}

/// Replaces the claims of a known identity.
async fn update_identity(
    context: &RequestContext,
    db: &mut impl Queries,
    identity: &Identity,
    user: &User,
    provider_user: &ProviderUser<'_>,
) -> Result<User, DbError> {
    let data = provider_user.profile.identity_data();
    identities::update_data(db, identity.id, &data, context.now).await?;
    identities::touch(db, identity.id, context.now).await?;
    let user = merge_metadata(context, db, user, provider_user.profile).await?;
    identities::recompute_providers(db, &user, context.now).await
}

/// Adds the identity to an existing user.
async fn link_identity(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    provider_user: &ProviderUser<'_>,
) -> Result<(User, Identity), AuthError> {
    let identity = add_identity(context, db, user, provider_user).await;
    let identity = identity.map_err(as_concurrent_sign_in)?;
    let user = merge_metadata(context, db, user, provider_user.profile).await?;
    let user = identities::recompute_providers(db, &user, context.now).await?;
    audit_identity(context, db, &user, Action::IdentityLinked, &identity).await?;
    Ok((user, identity))
}

async fn create(
    context: &RequestContext,
    db: &mut impl Queries,
    email: String,
    provider_user: &ProviderUser<'_>,
) -> Result<(User, Identity), AuthError> {
    signup::check_enabled(context)?;
    let new = new_user(context, provider_user, email);
    let user = users::insert(db, new, context.now).await;
    let user = user.map_err(|error| {
        if accounts::is_taken(&error) {
            AuthError::concurrent_sign_in()
        } else {
            AuthError::saving_user_failed(error)
        }
    })?;
    let identity = add_identity(context, db, &user, provider_user).await;
    Ok((user, identity.map_err(as_concurrent_sign_in)?))
}

fn new_user(context: &RequestContext, provider_user: &ProviderUser<'_>, email: String) -> NewUser {
    let domain = context
        .config
        .external
        .linking
        .domain_of(provider_user.provider);
    NewUser {
        id: crate::random::uuid(),
        aud: context.new_audience().to_owned(),
        role: context.config.jwt.default_role.clone(),
        email,
        phone: String::new(),
        encrypted_password: String::new(),
        app_metadata: accounts::provider_metadata(provider_user.provider),
        user_metadata: provider_user.profile.identity_data(),
        is_anonymous: false,
        // Addresses of other linking domains need not be unique.
        is_sso_user: domain != "default",
    }
}

/// Two as_concurrent_sign_in sign-ins of the same user: the retry finds the identity.
fn as_concurrent_sign_in(error: AuthError) -> AuthError {
    match error.code() {
        Code::IdentityAlreadyExists => AuthError::concurrent_sign_in(),
        _ => error,
    }
}
