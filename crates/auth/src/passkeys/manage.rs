//! `/passkeys`: lists, renames and deletes the user's passkeys.

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use http::StatusCode;
use serde::Deserialize;
use uuid::Uuid;

use super::{check_assurance, check_enabled, registration::write_audit};
use crate::{
    AuthError,
    audit::Action,
    caller::SignedIn,
    model::passkeys::{self, PasskeyBody},
    request::{Input, RequestContext},
};

const MAX_NAME_BYTES: usize = 120;

type PasskeyPath = Result<Path<Uuid>, PathRejection>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RenameParams {
    friendly_name: String,
}

/// `GET /passkeys`
pub(crate) async fn list(
    context: RequestContext,
    caller: SignedIn,
) -> Result<Json<Vec<PasskeyBody>>, AuthError> {
    check_enabled(&context)?;
    let mut db = context.db().await?;
    let passkeys = passkeys::list(&mut db, caller.user.id).await?;
    Ok(Json(passkeys.into_iter().map(Into::into).collect()))
}

/// `PATCH /passkeys/{id}`
pub(crate) async fn rename(
    context: RequestContext,
    caller: SignedIn,
    path: PasskeyPath,
    Input(params): Input<RenameParams>,
) -> Result<Json<PasskeyBody>, AuthError> {
    check_enabled(&context)?;
    let Path(id) = path.map_err(|_| AuthError::passkey_not_found())?;
    let name = params.friendly_name.as_str();
    match name.len() {
        0 => return Err(AuthError::field_required("friendly_name")),
        1..=MAX_NAME_BYTES => {}
        _ => {
            return Err(AuthError::validation_failed(
                "friendly_name must be 120 characters or less",
            ));
        }
    }
    let user = &caller.user;

    let mut tx = context.begin().await?;
    let passkey = passkeys::rename(&mut tx, user.id, id, name, context.now).await?;
    let passkey = passkey.ok_or_else(AuthError::passkey_not_found)?;
    write_audit(&context, &mut tx, user, Action::PasskeyUpdated, id).await?;
    tx.commit().await?;
    Ok(Json(passkey.into()))
}

/// `DELETE /passkeys/{id}`
pub(crate) async fn delete(
    context: RequestContext,
    caller: SignedIn,
    path: PasskeyPath,
) -> Result<StatusCode, AuthError> {
    check_enabled(&context)?;
    check_assurance(&context, &caller).await?;
    let Path(id) = path.map_err(|_| AuthError::passkey_not_found())?;
    let user = &caller.user;

    let mut tx = context.begin().await?;
    if !passkeys::delete(&mut tx, user.id, id).await? {
        return Err(AuthError::passkey_not_found());
    }
    write_audit(&context, &mut tx, user, Action::PasskeyDeleted, id).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
