//! `DELETE /admin/users/{id}`: deletes the row, or anonymizes it.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::one_user::{self, UserPath};
use crate::{
    AuthError,
    audit::{self, Action},
    caller::Admin,
    removal,
    request::{Input, RequestContext},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeleteParams {
    should_soft_delete: bool,
}

/// `DELETE /admin/users/{id}`
pub(crate) async fn delete(
    context: RequestContext,
    admin: Admin,
    path: UserPath,
    Input(params): Input<DeleteParams>,
) -> Result<Json<Value>, AuthError> {
    let id = one_user::user_id(path)?;
    let mut db = context.begin().await?;
    let user = one_user::lock(&mut db, id).await?;
    let traits = json!({
        "user_id": id, "user_email": user.email, "user_phone": user.phone,
    });
    audit::write(&context, &mut db, &admin, Action::UserDeleted, traits).await?;
    let removed = removal::remove(&context, &mut db, &user, params.should_soft_delete).await;
    removed.map_err(AuthError::deleting_user_failed)?;
    db.commit().await?;
    Ok(Json(json!({})))
}
