//! `POST /admin/users`: an account without any confirmation, mail or hook.

use axum::Json;
use plinth_project::ServiceTransaction;
use serde_json::json;
use time::Duration;
use uuid::Uuid;

use super::{
    conflict,
    params::{Changes, UserParams},
};
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    caller::Admin,
    model::{NewUser, Object, User, UserBody, users},
    password, random,
    request::{Input, RequestContext},
};

/// `POST /admin/users`
pub(crate) async fn create(
    context: RequestContext,
    admin: Admin,
    Input(params): Input<UserParams>,
) -> Result<Json<UserBody>, AuthError> {
    let changes = Changes::parse(&params)?;
    let providers = providers(&changes)?;
    let id = new_id(&params.id)?;
    let encrypted_password = encrypted_password(&context, &params).await?;
    let aud = match params.aud.as_str() {
        "" => context.audience().to_owned(),
        aud => aud.to_owned(),
    };

    let mut db = context.begin().await?;
    conflict::check(&mut db, &changes, &aud, None).await?;
    let new = NewUser {
        id,
        aud,
        role: context.config.jwt.default_role.clone(),
        email: changes.email.clone().unwrap_or_default(),
        phone: changes.phone.clone().unwrap_or_default(),
        encrypted_password,
        app_metadata: metadata(&providers),
        user_metadata: params.user_metadata.unwrap_or_default(),
        is_anonymous: false,
        is_sso_user: false,
    };
    let user = insert(&context, &mut db, new, &changes).await?;
    // A microsecond apart, since identities are listed by age.
    let moments = (0..).map(|moment| context.now + Duration::microseconds(moment));
    for (contact, now) in changes.contacts().iter().zip(moments) {
        accounts::upsert_identity(&mut db, &user, contact, false, now).await?;
    }
    let traits = json!({
        "user_id": id, "user_email": user.email, "user_phone": user.phone,
        "provider": providers[0],
    });
    audit::write(&context, &mut db, &admin, Action::UserSignedUp, traits).await?;
    let body = users::load_body(&mut db, user).await?;
    db.commit().await?;
    Ok(Json(body))
}

/// Inserts the row, then updates what must not be part of the insert (§11).
async fn insert(
    context: &RequestContext,
    db: &mut ServiceTransaction,
    new: NewUser,
    changes: &Changes,
) -> Result<User, AuthError> {
    let inserted = users::insert(db, new, context.now).await;
    let mut user =
        inserted.map_err(|error| conflict::or_taken(error, AuthError::creating_user_failed))?;
    let late = Changes {
        // Part of the insert already.
        user_metadata: None,
        ..changes.clone()
    };
    late.apply(&mut user, context.now);
    let saved = users::save(db, &user, context.now).await;
    saved.map_err(|error| conflict::or_taken(error, AuthError::creating_user_failed))
}

/// The provider of each contact that was given; there must be one.
fn providers(changes: &Changes) -> Result<Vec<&'static str>, AuthError> {
    let contacts = changes.contacts().into_iter();
    let providers: Vec<_> = contacts.map(|contact| contact.provider()).collect();
    if providers.is_empty() {
        Err(AuthError::validation_failed(
            "Cannot create a user without either an email or phone",
        ))
    } else {
        Ok(providers)
    }
}

fn metadata(providers: &[&'static str]) -> Object {
    let mut metadata = accounts::provider_metadata(providers[0]);
    metadata.insert("providers".to_owned(), providers.to_vec().into());
    metadata
}

fn new_id(text: &str) -> Result<Uuid, AuthError> {
    if text.is_empty() {
        return Ok(random::uuid());
    }
    match text.parse::<Uuid>() {
        Err(_) => Err(AuthError::validation_failed(
            "ID must conform to the uuid v4 format",
        )),
        Ok(id) if id.is_nil() => Err(AuthError::validation_failed("ID cannot be a nil uuid")),
        Ok(id) => Ok(id),
    }
}

/// The hash of the password, the hash that was given, or that of a random password.
async fn encrypted_password(
    context: &RequestContext,
    params: &UserParams,
) -> Result<String, AuthError> {
    let password = params.password.as_deref();
    match (password, params.password_hash.as_str()) {
        (Some(_), hash) if !hash.is_empty() => Err(AuthError::validation_failed(
            "Only a password or a password hash should be provided",
        )),
        (Some("") | None, "") => hash(context, &random::url_text::<48>()).await,
        (Some(password), _) => {
            password::check_length(password)?;
            hash(context, password).await
        }
        (None, hash) => {
            password::check_hash(hash)?;
            Ok(hash.to_owned())
        }
    }
}

async fn hash(context: &RequestContext, password: &str) -> Result<String, AuthError> {
    let hasher = context.service.hasher();
    hasher.hash(password, context.config.password.cost).await
}
