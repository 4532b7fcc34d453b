//! Anonymous sign-up.

use axum::response::{IntoResponse, Response};

use crate::{
    AuthError, accounts,
    model::{NewUser, Object, users},
    rate_limit::{self, Bucket},
    request::RequestContext,
    sessions::{self, SignIn},
};

/// Creates an anonymous user and a session.
pub(super) async fn sign_up(context: &RequestContext, data: Object) -> Result<Response, AuthError> {
    if !context.config.external.is_anonymous_enabled {
        return Err(AuthError::anonymous_sign_ins_disabled());
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
    accounts::run_before_created_hook(context, &new).await?;
    let mut tx = context.begin().await?;
    let user = users::insert(&mut tx, new, context.now)
        .await
        .map_err(AuthError::creating_anonymous_user_failed)?;
    let body = sessions::sign_in(context, &mut tx, user, SignIn::by("anonymous")).await?;
    tx.commit().await?;
    accounts::run_after_created_hook(context, &body.user).await?;
    Ok(body.into_response())
}
