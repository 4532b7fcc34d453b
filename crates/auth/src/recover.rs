//! `POST /recover`, `POST /resend` and `GET /reauthenticate` (auth contract §2.6): things that are
//! sent again or on demand. Who does not exist gets the same answer as who does.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    AuthError,
    audit::{self, Action},
    captcha,
    error::Code,
    mail::LetterKind,
    messages,
    model::{TokenKind, User, users},
    otp::message_id,
    rate_limit::{self, Bucket},
    request::{
        Challenge, Context, Input, MetaSecurity, SignedIn,
        contact::{self, Contact},
    },
    sms::Channel,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RecoverParams {
    email: String,
    code_challenge: String,
    code_challenge_method: String,
    gotrue_meta_security: MetaSecurity,
}

/// `POST /recover`
pub(crate) async fn recover(
    context: Context,
    Input(params): Input<RecoverParams>,
) -> Result<Json<Value>, AuthError> {
    rate_limit::check(&context, Bucket::Recover)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    if params.email.is_empty() {
        return Err(AuthError::invalid("Password recovery requires an email"));
    }
    if !context.config.external.is_email_enabled {
        return Err(email_disabled());
    }
    let email = contact::email(&params.email)?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let mut tx = context.begin().await?;
    let audience = context.audience();
    let Some(user) = users::find_by_email(&mut tx, &email, audience).await? else {
        return Ok(Json(json!({})));
    };
    let action = Action::UserRecoveryRequested;
    audit::write(&context, &mut tx, &user, action, Value::Null).await?;
    let (kind, challenge) = (LetterKind::Recovery, challenge.as_ref());
    messages::send_letter(&context, &mut tx, &user, kind, challenge).await?;
    tx.commit().await?;
    Ok(Json(json!({})))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResendParams {
    r#type: String,
    email: String,
    phone: String,
    code_challenge: String,
    code_challenge_method: String,
    gotrue_meta_security: MetaSecurity,
}

/// What is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    SignUp,
    EmailChange,
    Sms,
    PhoneChange,
}

/// `POST /resend`
pub(crate) async fn resend(
    context: Context,
    Input(params): Input<ResendParams>,
) -> Result<Json<Value>, AuthError> {
    rate_limit::check(&context, Bucket::Resend)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    let (again, contact) = read_resend(&context, &params)?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let mut tx = context.begin().await?;
    let audience = context.audience();
    let found = match &contact {
        Contact::Email(email) => users::find_by_email(&mut tx, email, audience).await?,
        Contact::Phone(phone) => users::find_by_phone(&mut tx, phone, audience).await?,
    };
    let Some(user) = found.filter(|user| is_pending(user, again)) else {
        return Ok(Json(json!({})));
    };
    let db = &mut tx;
    let message = match again {
        Again::SignUp => {
            let action = Action::UserConfirmationRequested;
            audit::write(&context, db, &user, action, Value::Null).await?;
            let (kind, challenge) = (LetterKind::Confirmation, challenge.as_ref());
            messages::send_letter(&context, db, &user, kind, challenge).await?;
            None
        }
        Again::EmailChange => {
            let challenge = challenge.as_ref();
            let new_email = user.email_change.clone();
            messages::send_email_change(&context, db, &user, &new_email, challenge).await?;
            None
        }
        Again::Sms => {
            let action = Action::UserRecoveryRequested;
            audit::write(&context, db, &user, action, Value::Null).await?;
            let (kind, channel) = (TokenKind::Confirmation, Channel::Sms);
            let sent = messages::send_code(&context, db, &user, kind, contact.as_str(), channel);
            sent.await?.1
        }
        Again::PhoneChange => {
            let (kind, channel) = (TokenKind::PhoneChange, Channel::Sms);
            let new_phone = user.phone_change.clone();
            let sent = messages::send_code(&context, db, &user, kind, &new_phone, channel);
            sent.await?.1
        }
    };
    tx.commit().await?;
    Ok(Json(message_id(message)))
}

fn read_resend(context: &Context, params: &ResendParams) -> Result<(Again, Contact), AuthError> {
    let again = match params.r#type.as_str() {
        "signup" => Again::SignUp,
        "email_change" => Again::EmailChange,
        "sms" => Again::Sms,
        "phone_change" => Again::PhoneChange,
        _ => {
            return Err(AuthError::invalid(
                "Type must be one of signup, email_change, sms, phone_change",
            ));
        }
    };
    let by_mail = matches!(again, Again::SignUp | Again::EmailChange);
    let external = &context.config.external;
    match (params.email.as_str(), params.phone.as_str()) {
        (email, "") if !email.is_empty() && by_mail => match external.is_email_enabled {
            true => Ok((again, Contact::Email(contact::email(email)?))),
            false => Err(email_disabled()),
        },
        ("", phone) if !phone.is_empty() && !by_mail => match external.is_phone_enabled {
            true => Ok((again, Contact::Phone(contact::phone(phone)?))),
            false => Err(AuthError::new(
                400,
                Code::PhoneProviderDisabled,
                "Phone logins are disabled",
            )),
        },
        _ => Err(AuthError::invalid(match by_mail {
            true => "Type provided requires an email address",
            false => "Type provided requires a phone number",
        })),
    }
}

fn is_pending(user: &User, again: Again) -> bool {
    match again {
        Again::SignUp => !user.is_email_confirmed(),
        Again::EmailChange => !user.email_change.is_empty(),
        Again::Sms => !user.is_phone_confirmed(),
        Again::PhoneChange => !user.phone_change.is_empty(),
    }
}

/// `GET /reauthenticate`
pub(crate) async fn reauthenticate(
    context: Context,
    signed_in: SignedIn,
) -> Result<Json<Value>, AuthError> {
    let user = signed_in.user;
    let refuse = |status, code, message: &'static str| Err(AuthError::new(status, code, message));
    match (user.email.is_empty(), user.phone.is_empty()) {
        (true, true) => {
            return Err(AuthError::invalid(
                "Reauthentication requires the user to have an email or a phone number",
            ));
        }
        (false, _) if !user.is_email_confirmed() => {
            let message = "Please verify your email first.";
            return refuse(422, Code::EmailNotConfirmed, message);
        }
        (true, false) if !user.is_phone_confirmed() => {
            let message = "Please verify your phone first.";
            return refuse(422, Code::PhoneNotConfirmed, message);
        }
        _ => {}
    }
    let mut tx = context.begin().await?;
    let action = Action::UserReauthenticateRequested;
    audit::write(&context, &mut tx, &user, action, Value::Null).await?;
    let message = if user.email.is_empty() {
        let (kind, channel) = (TokenKind::Reauthentication, Channel::Sms);
        messages::send_code(&context, &mut tx, &user, kind, &user.phone, channel)
            .await?
            .1
    } else {
        let kind = LetterKind::Reauthentication;
        messages::send_letter(&context, &mut tx, &user, kind, None).await?;
        None
    };
    tx.commit().await?;
    Ok(Json(message_id(message)))
}

fn email_disabled() -> AuthError {
    AuthError::new(
        400,
        Code::EmailProviderDisabled,
        "Email logins are disabled",
    )
}
