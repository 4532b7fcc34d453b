//! `POST /invite`: a mail that lets somebody make the account theirs.

use axum::Json;
use serde::Deserialize;
use serde_json::json;

use super::{
    conflict,
    new_account::{self, Otp},
};
use crate::{
    AuthError,
    audit::{self, Action},
    hooks,
    mail::{self, Letter, LetterKind},
    model::{Object, UserBody, users},
    request::{Admin, Context, Input, contact},
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
    let mut db = context.begin().await?;
    let found = users::find_by_email(&mut db, &email, context.audience()).await?;
    if found.as_ref().is_some_and(|user| user.is_email_confirmed()) {
        return Err(conflict::email_exists());
    }
    let is_new = found.is_none();
    let user = match found {
        Some(user) => user,
        None => {
            // The hook is somebody else's code and may take its time.
            db.rollback().await?;
            let new = new_account::new_user(&context, &email, String::new(), params.data);
            let preview = new_account::preview(&new, context.now);
            hooks::before_user_created(&context, &preview).await?;
            db = context.begin().await?;
            new_account::insert(&context, &mut db, new).await?
        }
    };
    let traits = json!({ "user_id": user.id, "user_email": user.email });
    audit::write(&context, &mut db, &admin, Action::UserInvited, traits).await?;
    let otp = Otp::new(&context, &email);
    let user = new_account::put_confirmation(&context, &mut db, &user, &otp, true).await?;
    let letter = Letter {
        kind: LetterKind::Invite,
        user: &user,
        to: &email,
        otp: &otp.digits,
        token_hash: &otp.hash,
        redirect_to: &context.redirect_to(),
    };
    mail::send(&context, &mut db, letter).await?;
    let body = users::load_body(&mut db, user).await?;
    db.commit().await?;
    if is_new {
        hooks::after_user_created(&context, &body).await?;
    }
    Ok(Json(body))
}
