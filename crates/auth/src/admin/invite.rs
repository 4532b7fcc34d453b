//! `POST /invite`: creates a user and mails them a link to accept.

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::json;

use super::conflict;
use crate::{
    AuthError,
    accounts::{self, Metadata},
    audit::{self, Action},
    caller::Admin,
    contact::{self, Contact},
    mail::TokenMailKind,
    messages,
    model::{Object, User, UserBody, users},
    request::{Input, RequestContext},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InviteParams {
    email: String,
    data: Object,
}

/// `POST /invite`. A user who has not accepted yet can be invited again.
pub(crate) async fn invite(
    context: RequestContext,
    admin: Admin,
    Input(params): Input<InviteParams>,
) -> Result<Json<UserBody>, AuthError> {
    let email = contact::email(&params.email)?;
    let found = {
        let mut db = context.db().await?;
        users::find_by_email(&mut db, &email, context.audience()).await?
    };
    let is_new = found.is_none();
    let (mut db, user) = match found {
        Some(user) if user.is_email_confirmed() => return Err(AuthError::email_exists()),
        Some(user) => (context.begin().await?, user),
        None => new_invited_user(&context, email, params.data).await?,
    };
    let user = mark_invited(&context, &mut db, &admin, user).await?;
    let kind = TokenMailKind::Invite;
    let user = messages::send_token_mail(&context, &mut db, &user, kind, None).await?;
    let body = users::load_body(&mut db, user).await?;
    db.commit().await?;
    if is_new {
        accounts::run_after_created_hook(&context, &body).await?;
    }
    Ok(Json(body))
}

async fn new_invited_user(
    context: &RequestContext,
    email: String,
    data: Object,
) -> Result<(ServiceTransaction, User), AuthError> {
    let contact = Contact::Email(email);
    let new = accounts::new_user(context, &contact, String::new(), data);
    accounts::run_before_created_hook(context, &new).await?;
    let mut db = context.begin().await?;
    let user = accounts::create(context, &mut db, new, &contact, Metadata::AsGiven).await;
    let user = user.map_err(conflict::or_not_saved)?;
    Ok((db, user))
}

/// Stores that the user is invited, and writes it to the audit log.
pub(super) async fn mark_invited(
    context: &RequestContext,
    db: &mut ServiceTransaction,
    admin: &Admin,
    user: User,
) -> Result<User, AuthError> {
    let traits = json!({ "user_id": user.id, "user_email": user.email });
    audit::write(context, db, admin, Action::UserInvited, traits).await?;
    Ok(users::set_invited(db, user.id, context.now).await?)
}
