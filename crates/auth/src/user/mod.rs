//! `/user`: reads, updates and deletes the caller (auth contract §2.7).

mod password;
mod sessions;
mod update;

use axum::{Json, http::StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    AuthError,
    audit::{self, Action},
    caller::{SignedIn, UserOrApplication},
    config::SelfDelete,
    model::{User, UserBody},
    removal,
    request::{Input, RequestContext},
    verify,
};

pub(crate) use sessions::{end_session, list_sessions};
pub(crate) use update::update;

/// The maximum age of a session for deletion without reauthentication.
const MAX_AGE_FOR_DELETION: std::time::Duration = std::time::Duration::from_secs(5 * 60);

/// `GET /user`
pub(crate) async fn get(
    context: RequestContext,
    UserOrApplication(signed_in): UserOrApplication,
) -> Result<Json<UserBody>, AuthError> {
    if let Some(requested) = &context.requested_audience
        && *requested != signed_in.user.aud
    {
        return Err(AuthError::audience_mismatch());
    }
    let SignedIn {
        user, relations, ..
    } = signed_in;
    Ok(Json(UserBody::with_relations(user, relations)))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeleteParams {
    nonce: String,
}

/// `DELETE /user`: deletes the caller.
pub(crate) async fn delete(
    context: RequestContext,
    signed_in: SignedIn,
    Input(params): Input<DeleteParams>,
) -> Result<StatusCode, AuthError> {
    let is_soft = match context.config.self_delete {
        SelfDelete::Soft => true,
        SelfDelete::Hard => false,
        SelfDelete::Off => {
            return Err(AuthError::self_delete_disabled());
        }
    };
    if signed_in.lacks_second_factor() {
        return Err(AuthError::aal2_required());
    }
    let user = &signed_in.user;
    let session = signed_in.session.as_ref();
    let is_recent =
        session.is_some_and(|session| context.now < session.created_at + MAX_AGE_FOR_DELETION);
    if !is_recent {
        check_nonce(&context, user, &params.nonce).await?;
    }
    let mut tx = context.begin().await?;
    audit::write(&context, &mut tx, user, Action::UserDeleted, Value::Null).await?;
    let removed = removal::remove(&context, &mut tx, user, is_soft).await;
    removed.map_err(AuthError::deleting_user_failed)?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks the nonce of a reauthentication (§7.6). Not inside a transaction; the caller clears the
/// token.
async fn check_nonce(context: &RequestContext, user: &User, nonce: &str) -> Result<(), AuthError> {
    if nonce.is_empty() {
        return Err(AuthError::reauthentication_needed());
    }
    if verify::is_nonce_correct(context, user, nonce).await? {
        Ok(())
    } else {
        Err(AuthError::reauthentication_not_valid())
    }
}
