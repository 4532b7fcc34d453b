//! `/admin/users/{id}/passkeys`, also while passkeys are disabled.

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use http::StatusCode;
use plinth_db::Queries;
use serde_json::json;
use uuid::Uuid;

use crate::{
    AuthError,
    audit::{self, Action},
    caller::Admin,
    model::{
        passkeys::{self, PasskeyBody},
        users,
    },
    request::RequestContext,
};

/// `GET /admin/users/{id}/passkeys`
pub(crate) async fn list(
    context: RequestContext,
    _admin: Admin,
    path: Result<Path<Uuid>, PathRejection>,
) -> Result<Json<Vec<PasskeyBody>>, AuthError> {
    let Path(user) = path.map_err(|_| AuthError::invalid_path_id("user_id"))?;
    let mut db = context.db().await?;
    check_user(&mut db, user).await?;
    let passkeys = passkeys::list(&mut db, user).await?;
    Ok(Json(passkeys.into_iter().map(Into::into).collect()))
}

/// `DELETE /admin/users/{id}/passkeys/{pid}`
pub(crate) async fn delete(
    context: RequestContext,
    admin: Admin,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<StatusCode, AuthError> {
    let bad_user = || AuthError::invalid_path_id("user_id");
    let Path((user, passkey)) = path.map_err(|_| bad_user())?;
    let user = user.parse().map_err(|_| bad_user())?;

    let mut tx = context.begin().await?;
    check_user(&mut tx, user).await?;
    let passkey = passkey
        .parse()
        .map_err(|_| AuthError::passkey_not_found())?;
    if !passkeys::delete(&mut tx, user, passkey).await? {
        return Err(AuthError::passkey_not_found());
    }
    let traits = json!({ "user_id": user, "passkey_id": passkey });
    audit::write(&context, &mut tx, &admin, Action::PasskeyDeleted, traits).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn check_user(db: &mut impl Queries, id: Uuid) -> Result<(), AuthError> {
    match users::find(db, id).await? {
        Some(_) => Ok(()),
        None => Err(AuthError::user_not_found()),
    }
}
