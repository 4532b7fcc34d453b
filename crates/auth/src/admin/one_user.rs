//! `GET /admin/users/{id}`, and loading the user of a path.

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use plinth_db::Queries;
use uuid::Uuid;

use crate::{
    AuthError,
    caller::Admin,
    model::{User, UserBody, users},
    request::RequestContext,
};

/// `{user_id}` of a path, which may be malformed.
pub(crate) type UserPath = Result<Path<Uuid>, PathRejection>;

/// `GET /admin/users/{id}`
pub(crate) async fn read(
    context: RequestContext,
    _admin: Admin,
    path: UserPath,
) -> Result<Json<UserBody>, AuthError> {
    let id = user_id(path)?;
    let mut db = context.db().await?;
    let user = users::find(&mut db, id)
        .await?
        .ok_or_else(AuthError::user_not_found)?;
    Ok(Json(users::load_body(&mut db, user).await?))
}

pub(super) fn user_id(path: UserPath) -> Result<Uuid, AuthError> {
    let Path(id) = path.map_err(|_| AuthError::invalid_path_id("user_id"))?;
    Ok(id)
}

/// The user of the path, locked until the transaction ends.
pub(super) async fn lock(db: &mut impl Queries, id: Uuid) -> Result<User, AuthError> {
    users::lock(db, id)
        .await?
        .ok_or_else(AuthError::user_not_found)
}
