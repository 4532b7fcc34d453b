//! Sign-up with a contact that has a confirmed user.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::SignUpRequest;
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    model::{User, UserBody},
    request::RequestContext,
};

/// If sign-ups must be confirmed, the response looks like that for a new user, so that it does not
/// reveal who is registered. If sign-ups start a session, hiding is impossible.
pub(super) async fn respond(
    context: &RequestContext,
    request: &SignUpRequest,
    user: Option<&User>,
) -> Result<Response, AuthError> {
    if let Some(user) = user {
        let mut tx = context.begin().await?;
        let traits = json!({ "provider": request.contact.provider() });
        audit::write(context, &mut tx, user, Action::UserRepeatedSignUp, traits).await?;
        tx.commit().await?;
    }
    let config = &context.config;
    if config.mail.is_autoconfirmed || config.sms.is_autoconfirmed {
        return Err(AuthError::user_already_exists());
    }
    Ok(Json(fake_user_body(context, request)).into_response())
}

/// The body of a user who does not exist.
fn fake_user_body(context: &RequestContext, request: &SignUpRequest) -> UserBody {
    let hash = String::new();
    let new = accounts::new_user(context, &request.contact, hash, request.data.clone());
    let mut body = accounts::preview(&new, context.now);
    body.role.clear();
    body.confirmation_sent_at = Some(context.now);
    body
}
