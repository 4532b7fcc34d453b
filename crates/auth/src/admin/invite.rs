//! `POST /invite`: a mail that lets somebody make the account theirs.

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::json;

use super::conflict;
use crate::{
    AuthError,
    accounts::{self, Metadata},
    audit::{self, Action},
    mail::LetterKind,
    messages,
    model::{Object, User, UserBody, users},
    request::{
        Admin, Context, Input,
        contact::{self, Contact},
    },
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InviteParams {
    email: String,
    data: Object,
}

/// `POST /invite`. Somebody who never accepted is invited again, as often as one likes.
pub(crate) async fn invite(
    context: Context,
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
        Some(user) if user.is_email_confirmed() => return Err(conflict::email_exists()),
        Some(user) => (context.begin().await?, user),
        None => newcomer(&context, email, params.data).await?,
    };
    let user = mark_invited(&context, &mut db, &admin, user).await?;
    let kind = LetterKind::Invite;
    let user = messages::send_letter(&context, &mut db, &user, kind, None).await?;
    let body = users::load_body(&mut db, user).await?;
    db.commit().await?;
    if is_new {
        accounts::tell_after(&context, &body).await?;
    }
    Ok(Json(body))
}

async fn newcomer(
    context: &Context,
    email: String,
    data: Object,
) -> Result<(ServiceTransaction, User), AuthError> {
    let contact = Contact::Email(email);
    let new = accounts::new_user(context, &contact, String::new(), data);
    accounts::ask_before(context, &new).await?;
    let mut db = context.begin().await?;
    let user = accounts::create(context, &mut db, new, &contact, Metadata::AsGiven).await;
    let user = user.map_err(conflict::or_not_saved)?;
    Ok((db, user))
}

/// Notes that the user is invited, and by whom.
pub(super) async fn mark_invited(
    context: &Context,
    db: &mut ServiceTransaction,
    admin: &Admin,
    user: User,
) -> Result<User, AuthError> {
    let traits = json!({ "user_id": user.id, "user_email": user.email });
    audit::write(context, db, admin, Action::UserInvited, traits).await?;
    let now = context.now;
    Ok(users::update(db, user.id, now, "invited_at = $1", &[&now]).await?)
}
