//! `PUT /admin/users/{id}`: changes that take effect at once.

use axum::Json;
use plinth_db::{DbError, Params, Queries};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{
    conflict,
    one_user::{self, UserPath},
    params::{Changes, UserParams},
};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    model::{User, UserBody, identities, one_time, sessions, users},
    password,
    request::{Admin, Context, Input, contact::Contact},
};

const FAILED: &str = "Error updating user";

/// `PUT /admin/users/{id}`
pub(crate) async fn update(
    context: Context,
    admin: Admin,
    path: UserPath,
    Input(params): Input<UserParams>,
) -> Result<Json<UserBody>, AuthError> {
    let id = one_user::user_id(path)?;
    let changes = Changes::parse(&params)?;
    // Hashing is slow, so no row is locked meanwhile.
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
        accounts::put_identity(&mut db, &user, &contact, is_verified, context.now).await?;
    }
    let is_first_password = password.is_some() && !user.has_password();
    changes.apply(&mut user, context.now);
    let saved = save(&mut db, &user, context.now).await;
    let mut user = saved.map_err(|error| conflict::or_taken(FAILED, error))?;
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

async fn new_hash(context: &Context, password: &str) -> Result<String, AuthError> {
    password::check_strength(context, password).await?;
    let hasher = context.service.hasher();
    hasher.hash(password, context.config.password.cost).await
}

/// Whoever knew the old password may no longer be trusted: sessions and pending links end.
async fn set_password(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    hash: &str,
) -> Result<(), DbError> {
    let columns = "encrypted_password = $1, confirmation_sent_at = null, recovery_sent_at = null,
                   email_change_sent_at = null, phone_change_sent_at = null,
                   reauthentication_sent_at = null";
    users::update(db, user.id, context.now, columns, &[&hash]).await?;
    one_time::clear_all(db, user.id, context.now).await?;
    sessions::delete_all_but(db, user.id, None).await
}

/// Writes what [`Changes::apply`] may have changed. The row is locked, so what it leaves alone is
/// written back as it is.
pub(super) async fn save(
    db: &mut impl Queries,
    user: &User,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "role = $1, email = nullif($2, ''), phone = nullif($3, ''),
                   email_confirmed_at = $4, phone_confirmed_at = $5, raw_app_meta_data = $6,
                   raw_user_meta_data = $7, banned_until = $8, is_anonymous = $9";
    let app_metadata = Value::Object(user.app_metadata.clone());
    let user_metadata = Value::Object(user.user_metadata.clone());
    let values: Params<'_> = &[
        &user.role,
        &user.email,
        &user.phone,
        &user.email_confirmed_at,
        &user.phone_confirmed_at,
        &app_metadata,
        &user_metadata,
        &user.banned_until,
        &user.is_anonymous,
    ];
    users::update(db, user.id, now, columns, values).await
}

/// Somebody who came through a provider can from now on sign in with address and password.
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
    accounts::put_identity(db, &user, &contact, true, now).await?;
    identities::recompute_providers(db, &user, now).await
}
