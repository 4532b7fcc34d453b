//! `PUT /admin/users/{id}`: changes without confirmation.

use axum::Json;
use plinth_db::{DbError, Queries};
use serde_json::json;
use time::OffsetDateTime;

use super::{
    conflict,
    one_user::{self, UserPath},
    params::{Changes, UserParams},
};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    caller::Admin,
    contact::Contact,
    model::{User, UserBody, identities, one_time, sessions, users},
    password,
    request::{Input, RequestContext},
};

/// `PUT /admin/users/{id}`
pub(crate) async fn update(
    context: RequestContext,
    admin: Admin,
    path: UserPath,
    Input(params): Input<UserParams>,
) -> Result<Json<UserBody>, AuthError> {
    let id = one_user::user_id(path)?;
    let changes = Changes::parse(&params)?;
    // Hashing is slow, so it is done before the row is locked.
    let password = match &params.password {
        None => None,
        Some(password) => Some(new_hash(&context, password).await?),
    };

    let mut db = context.begin().await?;
    let mut user = one_user::lock(&mut db, id).await?;
    conflict::check(&mut db, &changes, &user.aud, Some(id)).await?;
    if changes.ends_pending(&user) {
        one_time::clear_all(&mut db, id, context.now).await?;
    }
    if let Some(hash) = &password {
        set_password(&context, &mut db, &user, hash).await?;
    }
    for contact in changes.contacts() {
        let is_verified = changes.confirms_contact(&contact);
        accounts::upsert_identity(&mut db, &user, &contact, is_verified, context.now).await?;
    }
    let is_first_password = password.is_some() && !user.has_password();
    changes.apply(&mut user, context.now);
    let saved = users::save(&mut db, &user, context.now).await;
    let mut user =
        saved.map_err(|error| conflict::or_taken(error, AuthError::updating_user_failed))?;
    if is_first_password && context.config.password.makes_email_identity {
        user = add_email_identity(&mut db, user, context.now).await?;
    }
    let traits = json!({
        "user_id": id, "user_email": user.email, "user_phone": user.phone,
    });
    audit::write(&context, &mut db, &admin, Action::UserModified, traits).await?;
    let body = users::load_body(&mut db, user).await?;
    db.commit().await?;
    Ok(Json(body))
}

async fn new_hash(context: &RequestContext, password: &str) -> Result<String, AuthError> {
    password::check_strength(context, password).await?;
    let hasher = context.service.hasher();
    hasher.hash(password, context.config.password.cost).await
}

/// Sets a new password; ends sessions and pending tokens, which may belong to an attacker who knew
/// the old one.
async fn set_password(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    hash: &str,
) -> Result<(), DbError> {
    users::reset_password_hash(db, user.id, hash, context.now).await?;
    one_time::clear_all(db, user.id, context.now).await?;
    sessions::delete_all_but(db, user.id, None).await
}

/// Adds an `email` identity to a user who signed up through a provider, since they can now sign in
/// with address and password.
async fn add_email_identity(
    db: &mut impl Queries,
    user: User,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let is_own = user.is_email_confirmed() && !user.email.is_empty();
    if !is_own || user.is_sso_user || user.is_anonymous {
        return Ok(user);
    }
    let contact = Contact::Email(user.email.clone());
    accounts::upsert_identity(db, &user, &contact, true, now).await?;
    identities::recompute_providers(db, &user, now).await
}
