//! `/admin/users/{id}/factors`

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use plinth_db::{DbError, Queries};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::enrol::check_name;
use crate::{
    AuthError,
    audit::{self, Action},
    caller::Admin,
    contact,
    mail::{self, Notification},
    model::{Conflict, Factor, FactorBody, FactorKind, User, factors, users},
    request::{Input, RequestContext},
    sessions,
};

type FactorPath = Result<Path<(String, String)>, PathRejection>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UpdateParams {
    friendly_name: String,
    phone: String,
}

/// `GET /admin/users/{id}/factors`
pub(crate) async fn list(
    context: RequestContext,
    _admin: Admin,
    path: Result<Path<Uuid>, PathRejection>,
) -> Result<Json<Vec<FactorBody>>, AuthError> {
    let Path(user) = path.map_err(|_| AuthError::invalid_path_id("user_id"))?;
    let mut db = context.db().await?;
    let user = find_user(&mut db, user).await?;
    let factors = factors::list(&mut db, user.id).await?;
    Ok(Json(factors.into_iter().map(Into::into).collect()))
}

/// `PUT /admin/users/{id}/factors/{fid}`
pub(crate) async fn update(
    context: RequestContext,
    admin: Admin,
    path: FactorPath,
    Input(params): Input<UpdateParams>,
) -> Result<Json<FactorBody>, AuthError> {
    let mut tx = context.begin().await?;
    let (user, factor) = lock(&mut tx, path).await?;
    check_name(&params.friendly_name)?;
    let name = Some(params.friendly_name.as_str()).filter(|name| !name.is_empty());
    let phone = match factor.kind {
        FactorKind::Phone if !params.phone.is_empty() => Some(contact::phone(&params.phone)?),
        _ => None,
    };
    let changed = factors::update(&mut tx, factor.id, name, phone.as_deref(), context.now).await;
    let changed = changed.map_err(|error| conflict(error, &params.friendly_name))?;
    let changed = changed.ok_or_else(AuthError::factor_not_found)?;
    let traits = json!({
        "user_id": user.id, "factor_id": factor.id, "factor_type": factor.kind.as_str(),
    });
    audit::write(&context, &mut tx, &admin, Action::FactorUpdated, traits).await?;
    tx.commit().await?;
    Ok(Json(changed.into()))
}

/// `DELETE /admin/users/{id}/factors/{fid}`
pub(crate) async fn delete(
    context: RequestContext,
    admin: Admin,
    path: FactorPath,
) -> Result<Json<FactorBody>, AuthError> {
    let mut tx = context.begin().await?;
    let (user, factor) = lock(&mut tx, path).await?;
    factors::delete(&mut tx, factor.id).await?;
    sessions::lower_aal(&context, &mut tx, &factor).await?;
    let traits = json!({ "user_id": user.id, "factor_id": factor.id });
    audit::write(&context, &mut tx, &admin, Action::FactorDeleted, traits).await?;
    tx.commit().await?;

    if !user.email.is_empty() {
        let factor_type = factor.kind.as_str();
        let notice = Notification::FactorUnenrolled { factor_type };
        let mut db = context.db().await?;
        mail::notify(&context, &mut db, &user, &user.email, notice).await;
    }
    Ok(Json(factor.into()))
}

async fn find_user(db: &mut impl Queries, id: Uuid) -> Result<User, AuthError> {
    let user = users::find(db, id).await?;
    user.ok_or_else(AuthError::user_not_found)
}

/// User and factor of the path; the factor is locked until the transaction ends.
async fn lock(db: &mut impl Queries, path: FactorPath) -> Result<(User, Factor), AuthError> {
    let Path((user, factor)) = path.map_err(|_| AuthError::invalid_path_id("user_id"))?;
    let user = user
        .parse()
        .map_err(|_| AuthError::invalid_path_id("user_id"))?;
    let user = find_user(db, user).await?;
    let factor = factor
        .parse()
        .map_err(|_| AuthError::invalid_path_id("factor_id"))?;
    let factor = factors::lock(db, user.id, factor).await?;
    Ok((user, factor.ok_or_else(AuthError::factor_not_found)?))
}

fn conflict(error: DbError, name: &str) -> AuthError {
    match Conflict::find(&error) {
        Some(Conflict::FactorName) => AuthError::factor_name_conflict(name),
        Some(Conflict::FactorPhone) => AuthError::phone_factor_exists_for_admin(),
        _ => error.into(),
    }
}
