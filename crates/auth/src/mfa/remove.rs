//! `DELETE /factors/{id}`

use axum::Json;
use serde_json::{Value, json};

use super::assurance::{FactorPath, check_not_anonymous, factor_id, has_aal2, lacks_fresh_proof};
use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    mail::{self, Notification},
    model::factors,
    request::RequestContext,
    sessions,
};

/// `DELETE /factors/{id}`: removing a verified factor takes aal2.
pub(crate) async fn remove(
    context: RequestContext,
    caller: SignedIn,
    path: FactorPath,
) -> Result<Json<Value>, AuthError> {
    check_not_anonymous(&caller)?;
    let id = factor_id(path)?;
    let user = &caller.user;

    let mut tx = context.begin().await?;
    let factor = factors::lock(&mut tx, user.id, id).await?;
    let factor = factor.ok_or_else(AuthError::factor_not_found)?;
    if factor.is_verified && !has_aal2(caller.session.as_ref()) {
        return Err(AuthError::aal2_required_to_unenroll());
    }
    if factor.is_verified && lacks_fresh_proof(&context, &mut tx, &caller).await? {
        return Err(AuthError::aal2_required_to_unenroll());
    }
    factors::delete(&mut tx, factor.id).await?;
    sessions::lower_aal(&context, &mut tx, &factor).await?;
    let traits = json!({
        "factor_id": factor.id,
        "factor_status": factor.status(),
        "session_id": caller.session.as_ref().map(|session| session.id),
    });
    audit::write(&context, &mut tx, user, Action::FactorUnenrolled, traits).await?;
    tx.commit().await?;

    if !user.email.is_empty() {
        let factor_type = factor.kind.as_str();
        let notice = Notification::FactorUnenrolled { factor_type };
        let mut db = context.db().await?;
        mail::notify(&context, &mut db, user, &user.email, notice).await;
    }
    Ok(Json(json!({ "id": factor.id })))
}
