//! `DELETE /user/identities/{identity_id}` (auth contract §2.9, §5.3).

use axum::{Json, extract::Path};
use plinth_db::Queries;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    audit_identity,
    email::{self, NoAddress},
};
use crate::{
    AuthError,
    audit::Action,
    error::Code,
    mail::{self, Notice},
    model::{Identity, User, identities, users},
    oauth::authorize::check_manual_linking,
    request::{Context, SignedIn},
};

/// `DELETE /user/identities/{identity_id}`
pub(crate) async fn unlink(
    context: Context,
    caller: SignedIn,
    Path(identity_id): Path<String>,
) -> Result<Json<Value>, AuthError> {
    check_manual_linking(&context)?;
    let Ok(identity_id) = identity_id.parse::<Uuid>() else {
        return Err(AuthError::bad_path_id("identity_id"));
    };
    check_audience(&context, &caller)?;

    let mut db = context.begin().await?;
    // Two requests at once must not take the last two identities.
    let user = users::lock(&mut db, caller.user.id).await?;
    let user = user.ok_or_else(not_found)?;
    let identity = choose(&mut db, &user, identity_id).await?;
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
        _ => renew_email(&context, &mut db, &user).await?,
    };
    let changed = identities::recompute_providers(&mut db, &changed, context.now).await?;
    if !user.email.is_empty() {
        let notice = Notice::IdentityUnlinked {
            provider: &identity.provider,
        };
        mail::notify(&context, &mut db, &changed, &user.email, notice).await;
    }
    db.commit().await?;
    Ok(Json(json!({})))
}

fn check_audience(context: &Context, caller: &SignedIn) -> Result<(), AuthError> {
    let asked = context.asked_audience.as_deref();
    let claimed = caller.token.claims().get("aud").and_then(Value::as_str);
    match asked.is_none_or(|asked| claimed == Some(asked)) {
        true => Ok(()),
        false => Err(AuthError::new(
            403,
            Code::UnexpectedAudience,
            "Token audience doesn't match request audience",
        )),
    }
}

async fn choose(
    db: &mut impl Queries,
    user: &User,
    identity_id: Uuid,
) -> Result<Identity, AuthError> {
    let all = identities::list(db, user.id).await?;
    if all.len() <= 1 {
        return Err(AuthError::new(
            422,
            Code::SingleIdentityNotDeletable,
            "User must have at least 1 identity after unlinking",
        ));
    }
    let mut all = all.into_iter();
    all.find(|identity| identity.id == identity_id)
        .ok_or_else(not_found)
}

fn not_found() -> AuthError {
    AuthError::new(422, Code::IdentityNotFound, "Identity doesn't exist")
}

async fn remove_phone(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, AuthError> {
    let columns = "phone = null, phone_confirmed_at = null";
    Ok(users::update(db, user.id, context.now, columns, &[]).await?)
}

async fn renew_email(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, AuthError> {
    let renewed = email::promote(context, db, user).await;
    renewed.map_err(|reason| match reason {
        NoAddress::Taken => AuthError::new(
            422,
            Code::EmailConflictIdentityNotDeletable,
            "Unable to unlink identity due to email conflict",
        ),
        NoAddress::Failed(error) => AuthError::database("Database error updating user", error),
    })
}
