//! Accounts of people who have not said who they are.

use axum::response::{IntoResponse, Response};

use crate::{
    AuthError, accounts,
    error::Code,
    model::{NewUser, Object, users},
    rate_limit::{self, Bucket},
    request::Context,
    sessions::{self, SignIn},
};

/// A session without a name.
pub(super) async fn sign_up(context: &Context, data: Object) -> Result<Response, AuthError> {
    if !context.config.external.is_anonymous_enabled {
        return Err(AuthError::new(
            422,
            Code::AnonymousProviderDisabled,
            "Anonymous sign-ins are disabled",
        ));
    }
    rate_limit::check(context, Bucket::AnonymousSignUp)?;
    super::check_enabled(context)?;
    let new = NewUser {
        id: crate::random::uuid(),
        aud: context.new_audience().to_owned(),
        role: context.config.jwt.default_role.clone(),
        email: String::new(),
        phone: String::new(),
        encrypted_password: String::new(),
        app_metadata: Object::new(),
        user_metadata: data,
        is_anonymous: true,
        is_sso_user: false,
    };
    accounts::ask_before(context, &new).await?;
    let mut tx = context.begin().await?;
    let user = users::insert(&mut tx, new, context.now)
        .await
        .map_err(|error| AuthError::database("Database error creating anonymous user", error))?;
    let body = sessions::sign_in(context, &mut tx, user, SignIn::by("anonymous")).await?;
    tx.commit().await?;
    accounts::tell_after(context, &body.user).await?;
    Ok(body.into_response())
}
