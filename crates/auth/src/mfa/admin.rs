//! `/admin/users/{id}/factors`

use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use plinth_db::{DbError, Queries};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{
    assurance::not_found,
    enrol::{check_name, name_conflict},
    store,
};
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    mail::{self, Notice},
    model::{Factor, FactorBody, FactorKind, User, factors, users},
    request::{Admin, Context, Input, contact},
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
    context: Context,
    _admin: Admin,
    path: Result<Path<Uuid>, PathRejection>,
) -> Result<Json<Vec<FactorBody>>, AuthError> {
    let Path(user) = path.map_err(|_| AuthError::bad_path_id("user_id"))?;
    let mut db = context.db().await?;
    let user = find_user(&mut db, user).await?;
    let factors = factors::list(&mut db, user.id).await?;
    Ok(Json(factors.into_iter().map(Into::into).collect()))
}

/// `PUT /admin/users/{id}/factors/{fid}`
pub(crate) async fn update(
    context: Context,
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
    let changed = store::update(&mut tx, factor.id, name, phone.as_deref(), context.now).await;
    let changed = changed.map_err(|error| conflict(error, &params.friendly_name))?;
    let changed = changed.ok_or_else(not_found)?;
    let traits = json!({
        "user_id": user.id, "factor_id": factor.id, "factor_type": factor.kind.as_str(),
    });
    audit::write(&context, &mut tx, &admin, Action::FactorUpdated, traits).await?;
    tx.commit().await?;
    Ok(Json(changed.into()))
}

/// `DELETE /admin/users/{id}/factors/{fid}`
pub(crate) async fn delete(
    context: Context,
    admin: Admin,
    path: FactorPath,
) -> Result<Json<FactorBody>, AuthError> {
    let mut tx = context.begin().await?;
    let (user, factor) = lock(&mut tx, path).await?;
    store::delete(&mut tx, factor.id).await?;
    sessions::lower(&context, &mut tx, &factor).await?;
    let traits = json!({ "user_id": user.id, "factor_id": factor.id });
    audit::write(&context, &mut tx, &admin, Action::FactorDeleted, traits).await?;
    tx.commit().await?;

    if !user.email.is_empty() {
        let factor_type = factor.kind.as_str();
        let notice = Notice::FactorUnenrolled { factor_type };
        let mut db = context.db().await?;
        mail::notify(&context, &mut db, &user, &user.email, notice).await;
    }
    Ok(Json(factor.into()))
}

async fn find_user(db: &mut impl Queries, id: Uuid) -> Result<User, AuthError> {
    let user = users::find(db, id).await?;
    user.ok_or_else(|| AuthError::new(404, Code::UserNotFound, "User not found"))
}

/// User and factor of the path; nobody else may change the factor until the transaction ends.
async fn lock(db: &mut impl Queries, path: FactorPath) -> Result<(User, Factor), AuthError> {
    let Path((user, factor)) = path.map_err(|_| AuthError::bad_path_id("user_id"))?;
    let user = user
        .parse()
        .map_err(|_| AuthError::bad_path_id("user_id"))?;
    let user = find_user(db, user).await?;
    let factor = factor
        .parse()
        .map_err(|_| AuthError::bad_path_id("factor_id"))?;
    let factor = store::lock(db, user.id, factor).await?;
    Ok((user, factor.ok_or_else(not_found)?))
}

fn conflict(error: DbError, name: &str) -> AuthError {
    let constraint = error.refusal().and_then(|it| it.constraint.as_deref());
    match constraint {
        Some("mfa_factors_user_friendly_name_unique") => name_conflict(name),
        Some("unique_phone_factor_per_user") => AuthError::new(
            422,
            Code::MfaVerifiedFactorExists,
            "The user has another factor with this phone number",
        ),
        _ => error.into(),
    }
}
