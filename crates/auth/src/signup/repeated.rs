//! Somebody signs up with an address that has an account: what they may learn of it.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{Applicant, already_exists};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    model::{User, UserBody},
    request::Context,
};

/// Where every sign-up has to be confirmed, the answer looks like that of a new account, so that
/// nobody can find out who is registered. Where one gives a session at once, there is no hiding.
pub(super) async fn answer(
    context: &Context,
    applicant: &Applicant,
    user: Option<&User>,
) -> Result<Response, AuthError> {
    if let Some(user) = user {
        let mut tx = context.begin().await?;
        let traits = json!({ "provider": applicant.contact.provider() });
        audit::write(context, &mut tx, user, Action::UserRepeatedSignUp, traits).await?;
        tx.commit().await?;
    }
    let config = &context.config;
    if config.mail.is_autoconfirmed || config.sms.is_autoconfirmed {
        return Err(already_exists());
    }
    Ok(Json(look_alike(context, applicant)).into_response())
}

/// An account that does not exist.
fn look_alike(context: &Context, applicant: &Applicant) -> UserBody {
    let hash = String::new();
    let new = accounts::new_user(context, &applicant.contact, hash, applicant.data.clone());
    let mut body = accounts::preview(&new, context.now);
    body.role.clear();
    body.confirmation_sent_at = Some(context.now);
    body
}
