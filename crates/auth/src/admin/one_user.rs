//! `GET /admin/users/{id}`, and finding the user that a path names.

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use plinth_db::Queries;
use uuid::Uuid;

use crate::{
    AuthError,
    error::Code,
    model::{User, UserBody, users},
    request::{Admin, Context},
};

/// `{user_id}` of a path, whatever it is.
pub(crate) type UserPath = Result<Path<Uuid>, PathRejection>;

/// `GET /admin/users/{id}`
pub(crate) async fn read(
    context: Context,
    _admin: Admin,
    path: UserPath,
) -> Result<Json<UserBody>, AuthError> {
    let id = user_id(path)?;
    let mut db = context.db().await?;
    let user = users::find(&mut db, id).await?.ok_or_else(not_found)?;
    Ok(Json(users::load_body(&mut db, user).await?))
}

/// What the path says, if it is an id.
pub(super) fn user_id(path: UserPath) -> Result<Uuid, AuthError> {
    let Path(id) = path.map_err(|_| AuthError::bad_path_id("user_id"))?;
    Ok(id)
}

/// The user of the path; nobody else may change the row until the transaction ends.
pub(super) async fn lock(db: &mut impl Queries, id: Uuid) -> Result<User, AuthError> {
    users::lock(db, id).await?.ok_or_else(not_found)
}

fn not_found() -> AuthError {
    AuthError::new(404, Code::UserNotFound, "User not found")
}
