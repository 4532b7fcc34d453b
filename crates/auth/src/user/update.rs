//! `PUT /user`

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::Value;

use super::password;
use crate::{
    AuthError, accounts,
    audit::{self, Action},
    caller::SignedIn,
    contact, messages,
    model::{Object, TokenKind, User, UserBody, identities, users},
    password::check_strength,
    pkce::Challenge,
    rate_limit::{self, Bucket},
    request::{Input, RequestContext},
    sms::Channel,
    verify::{clear_anonymous, set_email, set_phone},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct UpdateParams {
    email: String,
    phone: String,
    password: Option<String>,
    current_password: String,
    nonce: String,
    data: Option<Object>,
    app_metadata: Option<Object>,
    channel: String,
    code_challenge: String,
    code_challenge_method: String,
}

/// The requested changes, without those equal to the present value.
struct Changes {
    email: Option<String>,
    phone: Option<String>,
    password: Option<String>,
    data: Option<Object>,
    app_metadata: Option<Object>,
    channel: Channel,
    challenge: Option<Challenge>,
}

impl Changes {
    fn touch_credentials(&self) -> bool {
        self.email.is_some() || self.phone.is_some() || self.password.is_some()
    }
}

/// `PUT /user`
pub(crate) async fn update(
    context: RequestContext,
    signed_in: SignedIn,
    Input(params): Input<UpdateParams>,
) -> Result<Json<UserBody>, AuthError> {
    rate_limit::check(&context, Bucket::UserUpdate)?;
    let (nonce, current) = (params.nonce.clone(), params.current_password.clone());
    let changes = read_changes(&context, &signed_in.user, params).await?;
    check(&context, &signed_in, &changes, &nonce).await?;
    check_free(&context, &signed_in.user, &changes).await?;
    let new_password = match &changes.password {
        Some(new) => {
            // Before passwords are compared, so that an old session cannot be used to guess them.
            password::check_reauthenticated(&context, &signed_in, &nonce).await?;
            Some(password::prepare(&context, &signed_in, new, &current).await?)
        }
        None => None,
    };
    let mut tx = context.begin().await?;
    if let Some(new) = new_password {
        password::set(&context, &mut tx, &signed_in, new).await?;
    }
    let user = apply(&context, &mut tx, signed_in.user.id, &changes).await?;
    audit::write(&context, &mut tx, &user, Action::UserModified, Value::Null).await?;
    let body = users::load_body(&mut tx, user).await?;
    tx.commit().await?;
    Ok(Json(body))
}

async fn read_changes(
    context: &RequestContext,
    user: &User,
    params: UpdateParams,
) -> Result<Changes, AuthError> {
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let email = match params.email.as_str() {
        "" => None,
        text => Some(contact::email(text)?).filter(|email| *email != user.email),
    };
    let phone = match params.phone.as_str() {
        "" => None,
        text => Some(contact::phone(text)?).filter(|phone| *phone != user.phone),
    };
    if let Some(password) = &params.password {
        check_strength(context, password).await?;
    }
    Ok(Changes {
        channel: Channel::parse(context, &params.channel)?,
        password: params.password,
        data: params.data,
        app_metadata: params.app_metadata,
        email,
        phone,
        challenge,
    })
}

/// Checks whether the user may make these changes (§2.7, in that order).
async fn check(
    context: &RequestContext,
    signed_in: &SignedIn,
    changes: &Changes,
    nonce: &str,
) -> Result<(), AuthError> {
    let user = &signed_in.user;
    let is_admin = context.config.jwt.admin_roles.contains(&user.role);
    if changes.app_metadata.is_some() && !is_admin {
        return Err(AuthError::app_metadata_needs_admin());
    }
    if changes.touch_credentials() && signed_in.lacks_second_factor() {
        return Err(AuthError::aal2_required_to_update());
    }
    let stays_nameless = user.is_anonymous
        && changes.email.is_none()
        && changes.phone.is_none()
        && user.email_change.is_empty()
        && user.phone_change.is_empty();
    if stays_nameless && changes.password.is_some() {
        return Err(AuthError::anonymous_user_password());
    }
    if user.is_sso_user && (changes.touch_credentials() || !nonce.is_empty()) {
        return Err(AuthError::user_sso_managed());
    }
    Ok(())
}

/// Runs before the transaction, as hashing is slow. A conflict in between is found when the change
/// is confirmed.
async fn check_free(
    context: &RequestContext,
    user: &User,
    changes: &Changes,
) -> Result<(), AuthError> {
    let mut db = context.db().await?;
    if let Some(email) = &changes.email
        && users::is_email_taken(&mut db, email, &user.aud, Some(user.id)).await?
    {
        return Err(AuthError::email_exists());
    }
    if let Some(phone) = &changes.phone
        && users::is_phone_taken(&mut db, phone, &user.aud, Some(user.id)).await?
    {
        return Err(AuthError::phone_exists());
    }
    Ok(())
}

async fn apply(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    id: uuid::Uuid,
    changes: &Changes,
) -> Result<User, AuthError> {
    // Concurrent requests that change different keys keep both.
    let user = users::lock(tx, id).await?;
    let mut user = user.ok_or_else(|| AuthError::unexpected("no such user"))?;
    let now = context.now;
    if let Some(data) = &changes.data {
        let mut merged = user.user_metadata.clone();
        users::merge(&mut merged, data);
        accounts::check_metadata(&user.user_metadata, &merged)?;
        let updated = users::set_user_metadata(tx, id, merged, now).await;
        user = updated.map_err(AuthError::updating_user_failed)?;
    }
    if let Some(metadata) = &changes.app_metadata {
        let mut merged = user.app_metadata.clone();
        users::merge(&mut merged, metadata);
        user = users::set_app_metadata(tx, id, merged, now).await?;
    }
    if let Some(email) = &changes.email {
        user = change_email(context, tx, user, email, changes.challenge.as_ref()).await?;
    }
    if let Some(phone) = &changes.phone {
        user = change_phone(context, tx, user, phone, changes.channel).await?;
    }
    Ok(user)
}

/// Immediately for anonymous users if no confirmation is required, otherwise by confirmation
/// (§7.4).
async fn change_email(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
    email: &str,
    challenge: Option<&Challenge>,
) -> Result<User, AuthError> {
    if user.is_anonymous && context.config.mail.is_autoconfirmed {
        let user = set_email(context, tx, &user, email).await?;
        return make_permanent(context, tx, user).await;
    }
    messages::send_email_change(context, tx, &user, email, challenge).await
}

async fn change_phone(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
    phone: &str,
    channel: Channel,
) -> Result<User, AuthError> {
    if context.config.sms.is_autoconfirmed {
        let user = set_phone(context, tx, &user, phone).await?;
        return make_permanent(context, tx, user).await;
    }
    let kind = TokenKind::PhoneChange;
    let sent = messages::send_code(context, tx, &user, kind, phone, channel).await?;
    Ok(sent.0)
}

async fn make_permanent(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
) -> Result<User, AuthError> {
    let user = clear_anonymous(context, tx, user).await?;
    Ok(identities::recompute_providers(tx, &user, context.now).await?)
}
