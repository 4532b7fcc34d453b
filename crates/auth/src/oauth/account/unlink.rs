//! `DELETE /user/identities/{identity_id}` (auth contract §2.9, §5.3).

use axum::{Json, extract::Path};
use plinth_db::Queries;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    audit_identity,
    email::{self, PromotionError},
};
use crate::{
    AuthError,
    audit::Action,
    caller::SignedIn,
    mail::{self, Notification},
    model::{Identity, User, identities, users},
    oauth::authorize::check_manual_linking,
    request::RequestContext,
};

/// `DELETE /user/identities/{identity_id}`
pub(crate) async fn unlink(
    context: RequestContext,
    caller: SignedIn,
    Path(identity_id): Path<String>,
) -> Result<Json<Value>, AuthError> {
    check_manual_linking(&context)?;
    let Ok(identity_id) = identity_id.parse::<Uuid>() else {
        return Err(AuthError::invalid_path_id("identity_id"));
    };
    check_audience(&context, &caller)?;

    let mut db = context.begin().await?;
    // Serializes concurrent requests, which could otherwise remove the last two identities.
    let user = users::lock(&mut db, caller.user.id).await?;
    let user = user.ok_or_else(AuthError::identity_not_found)?;
    let identity = find_deletable(&mut db, &user, identity_id).await?;
    audit_identity(
        &context,
        &mut db,
        &user,
        Action::IdentityUnlinked,
        &identity,
    )
    .await?;
    identities::delete(&mut db, identity.id).await?;
    let changed = match identity.provider.as_str() {
        "phone" => remove_phone(&context, &mut db, &user).await?,
        _ => replace_email(&context, &mut db, &user).await?,
    };
    let changed = identities::recompute_providers(&mut db, &changed, context.now).await?;
    if !user.email.is_empty() {
        let notice = Notification::IdentityUnlinked {
            provider: &identity.provider,
        };
        mail::notify(&context, &mut db, &changed, &user.email, notice).await;
    }
    db.commit().await?;
    Ok(Json(json!({})))
}

fn check_audience(context: &RequestContext, caller: &SignedIn) -> Result<(), AuthError> {
    let requested = context.requested_audience.as_deref();
    let claimed = caller.token.claims().get("aud").and_then(Value::as_str);
    if requested.is_none_or(|requested| claimed == Some(requested)) {
        Ok(())
    } else {
        Err(AuthError::unexpected_audience())
    }
}

async fn find_deletable(
    db: &mut impl Queries,
    user: &User,
    identity_id: Uuid,
) -> Result<Identity, AuthError> {
    let all = identities::list(db, user.id).await?;
    if all.len() <= 1 {
        return Err(AuthError::single_identity_not_deletable());
    }
    let mut all = all.into_iter();
    all.find(|identity| identity.id == identity_id)
        .ok_or_else(AuthError::identity_not_found)
}

async fn remove_phone(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, AuthError> {
    Ok(users::remove_phone(db, user.id, context.now).await?)
}

async fn replace_email(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, AuthError> {
    let replaced = email::promote_identity_email(context, db, user).await;
    replaced.map_err(|reason| match reason {
        PromotionError::AllTaken => AuthError::email_conflict_on_unlinking(),
        PromotionError::Failed(error) => AuthError::storing_user_failed(error),
    })
}
