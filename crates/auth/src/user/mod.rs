//! `/user`: what people see and change of their own account (auth contract §2.7).

mod password;
mod sessions;
mod update;

use axum::{Json, http::StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    AuthError,
    audit::{self, Action},
    config::SelfDelete,
    error::Code,
    model::{User, UserBody, sessions::Aal},
    removal,
    request::{Context, Input, OnBehalf, SignedIn},
    verify,
};

pub(crate) use sessions::{end_session, list_sessions};
pub(crate) use update::update;

/// How young a session must be for its owner to delete themselves without further proof.
const RECENT: std::time::Duration = std::time::Duration::from_secs(5 * 60);

/// `GET /user`
pub(crate) async fn get(
    context: Context,
    OnBehalf(signed_in): OnBehalf,
) -> Result<Json<UserBody>, AuthError> {
    if let Some(asked) = &context.asked_audience
        && *asked != signed_in.user.aud
    {
        return Err(AuthError::invalid(
            "Token audience doesn't match request audience",
        ));
    }
    let SignedIn {
        user, belongings, ..
    } = signed_in;
    Ok(Json(UserBody::whole(user, belongings)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeleteParams {
    nonce: String,
}

/// `DELETE /user`: people delete themselves.
pub(crate) async fn delete(
    context: Context,
    signed_in: SignedIn,
    Input(params): Input<DeleteParams>,
) -> Result<StatusCode, AuthError> {
    let is_soft = match context.config.self_delete {
        SelfDelete::Soft => true,
        SelfDelete::Hard => false,
        SelfDelete::Off => {
            return Err(AuthError::new(
                404,
                Code::FeatureDisabled,
                "Users of this project cannot delete themselves",
            ));
        }
    };
    require_highest_aal(&signed_in, 403)?;
    let user = &signed_in.user;
    let session = signed_in.session.as_ref();
    let is_recent = session.is_some_and(|session| context.now < session.created_at + RECENT);
    if !is_recent {
        check_nonce(&context, user, &params.nonce).await?;
    }
    let mut tx = context.begin().await?;
    audit::write(&context, &mut tx, user, Action::UserDeleted, Value::Null).await?;
    let removed = removal::remove(&context, &mut tx, user, is_soft).await;
    removed.map_err(|error| AuthError::database("Database error deleting user", error))?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses somebody who has a second factor and has not shown it in this session.
pub(crate) fn require_highest_aal(signed_in: &SignedIn, status: u16) -> Result<(), AuthError> {
    let session = signed_in.session.as_ref();
    if session.is_some_and(|session| session.aal == Aal::Aal2) {
        return Ok(());
    }
    match signed_in.belongings.has_verified_factor() {
        false => Ok(()),
        true => Err(AuthError::new(
            status,
            Code::InsufficientAal,
            "AAL2 session is required to update email, phone or password when MFA is enabled.",
        )),
    }
}

/// Whether the digits of a reauthentication came along (§7.6). Not inside a transaction; what
/// follows makes the token void.
async fn check_nonce(context: &Context, user: &User, nonce: &str) -> Result<(), AuthError> {
    if nonce.is_empty() {
        return Err(AuthError::new(
            400,
            Code::ReauthenticationNeeded,
            "This action requires reauthentication",
        ));
    }
    match verify::is_nonce_right(context, user, nonce).await? {
        true => Ok(()),
        false => Err(AuthError::new(
            422,
            Code::ReauthenticationNotValid,
            "Nonce has expired or is invalid",
        )),
    }
}
