//! `POST /recover`, `POST /resend` and `GET /reauthenticate` (auth contract §2.6): messages on
//! demand. The response is the same for unknown users, and its duration reveals as little.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    captcha,
    contact::{self, Contact},
    mail::TokenMailKind,
    messages,
    model::{TokenKind, User, users},
    otp::message_id,
    pkce::Challenge,
    rate_limit::{self, Bucket},
    request::{Input, MetaSecurity, RequestContext},
    sms::Channel,
    timing::{self, Outcome},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RecoverParams {
    email: String,
    code_challenge: String,
    code_challenge_method: String,
    gotrue_meta_security: MetaSecurity,
}

/// `POST /recover`
pub(crate) async fn recover(
    context: RequestContext,
    Input(params): Input<RecoverParams>,
) -> Result<Json<Value>, AuthError> {
    rate_limit::check(&context, Bucket::Recover)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    if params.email.is_empty() {
        return Err(AuthError::validation_failed(
            "Password recovery requires an email",
        ));
    }
    if !context.config.external.is_email_enabled {
        return Err(AuthError::email_resend_disabled());
    }
    let email = contact::email(&params.email)?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let work = send_recovery(&context, &email, challenge.as_ref());
    let contact = Contact::Email(email.clone());
    timing::even_out(&context, &contact, work).await?;
    Ok(Json(json!({})))
}

async fn send_recovery(
    context: &RequestContext,
    email: &str,
    challenge: Option<&Challenge>,
) -> Result<Outcome<()>, AuthError> {
    let mut tx = context.begin().await?;
    let audience = context.audience();
    let Some(user) = users::find_by_email(&mut tx, email, audience).await? else {
        return Ok(Outcome::Silent(()));
    };
    let action = Action::UserRecoveryRequested;
    audit::write(context, &mut tx, &user, action, Value::Null).await?;
    messages::send_token_mail(context, &mut tx, &user, TokenMailKind::Recovery, challenge).await?;
    tx.commit().await?;
    Ok(Outcome::Sent(()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResendParams {
    r#type: String,
    email: String,
    phone: String,
    code_challenge: String,
    code_challenge_method: String,
    gotrue_meta_security: MetaSecurity,
}

/// The message to resend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResendKind {
    SignUp,
    EmailChange,
    Sms,
    PhoneChange,
}

/// `POST /resend`
pub(crate) async fn resend(
    context: RequestContext,
    Input(params): Input<ResendParams>,
) -> Result<Json<Value>, AuthError> {
    rate_limit::check(&context, Bucket::Resend)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    let (kind, contact) = read_resend(&context, &params)?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let work = send_again(&context, kind, &contact, challenge.as_ref());
    let message = timing::even_out(&context, &contact, work).await?;
    Ok(Json(message_id(message)))
}

/// Sends the message again, if it is pending; returns the provider's message id.
async fn send_again(
    context: &RequestContext,
    kind: ResendKind,
    contact: &Contact,
    challenge: Option<&Challenge>,
) -> Result<Outcome<Option<String>>, AuthError> {
    let mut tx = context.begin().await?;
    let audience = context.audience();
    let found = match contact {
        Contact::Email(email) => users::find_by_email(&mut tx, email, audience).await?,
        Contact::Phone(phone) => users::find_by_phone(&mut tx, phone, audience).await?,
    };
    let Some(user) = found.filter(|user| is_pending(user, kind)) else {
        return Ok(Outcome::Silent(None));
    };
    let db = &mut tx;
    let message = match kind {
        ResendKind::SignUp => {
            let action = Action::UserConfirmationRequested;
            audit::write(context, db, &user, action, Value::Null).await?;
            let kind = TokenMailKind::Confirmation;
            messages::send_token_mail(context, db, &user, kind, challenge).await?;
            None
        }
        ResendKind::EmailChange => {
            let new_email = user.email_change.clone();
            messages::send_email_change(context, db, &user, &new_email, challenge).await?;
            None
        }
        ResendKind::Sms => {
            let action = Action::UserRecoveryRequested;
            audit::write(context, db, &user, action, Value::Null).await?;
            let (kind, channel) = (TokenKind::Confirmation, Channel::Sms);
            let sent = messages::send_code(context, db, &user, kind, contact.as_str(), channel);
            sent.await?.1
        }
        ResendKind::PhoneChange => {
            let (kind, channel) = (TokenKind::PhoneChange, Channel::Sms);
            let new_phone = user.phone_change.clone();
            let sent = messages::send_code(context, db, &user, kind, &new_phone, channel);
            sent.await?.1
        }
    };
    let to = match kind {
        ResendKind::PhoneChange => &Contact::Phone(user.phone_change),
        _ => contact,
    };
    tx.commit().await?;
    Ok(Outcome::after_message(context, to, message))
}

fn read_resend(
    context: &RequestContext,
    params: &ResendParams,
) -> Result<(ResendKind, Contact), AuthError> {
    let kind = match params.r#type.as_str() {
        "signup" => ResendKind::SignUp,
        "email_change" => ResendKind::EmailChange,
        "sms" => ResendKind::Sms,
        "phone_change" => ResendKind::PhoneChange,
        _ => {
            return Err(AuthError::validation_failed(
                "Type must be one of signup, email_change, sms, phone_change",
            ));
        }
    };
    let by_mail = matches!(kind, ResendKind::SignUp | ResendKind::EmailChange);
    let external = &context.config.external;
    match (params.email.as_str(), params.phone.as_str()) {
        (email, "") if !email.is_empty() && by_mail => {
            if external.is_email_enabled {
                Ok((kind, Contact::Email(contact::email(email)?)))
            } else {
                Err(AuthError::email_resend_disabled())
            }
        }
        ("", phone) if !phone.is_empty() && !by_mail => {
            if external.is_phone_enabled {
                Ok((kind, Contact::Phone(contact::phone(phone)?)))
            } else {
                Err(AuthError::phone_resend_disabled())
            }
        }
        _ => Err(AuthError::validation_failed(if by_mail {
            "Type provided requires an email address"
        } else {
            "Type provided requires a phone number"
        })),
    }
}

fn is_pending(user: &User, kind: ResendKind) -> bool {
    match kind {
        ResendKind::SignUp => !user.is_email_confirmed(),
        ResendKind::EmailChange => !user.email_change.is_empty(),
        ResendKind::Sms => !user.is_phone_confirmed(),
        ResendKind::PhoneChange => !user.phone_change.is_empty(),
    }
}

/// `GET /reauthenticate`
pub(crate) async fn reauthenticate(
    context: RequestContext,
    signed_in: SignedIn,
) -> Result<Json<Value>, AuthError> {
    let user = signed_in.user;
    match (user.email.is_empty(), user.phone.is_empty()) {
        (true, true) => {
            return Err(AuthError::validation_failed(
                "Reauthentication requires the user to have an email or a phone number",
            ));
        }
        (false, _) if !user.is_email_confirmed() => {
            return Err(AuthError::email_not_confirmed_for_reauthentication());
        }
        (true, false) if !user.is_phone_confirmed() => {
            return Err(AuthError::phone_not_confirmed_for_reauthentication());
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
        let kind = TokenMailKind::Reauthentication;
        messages::send_token_mail(&context, &mut tx, &user, kind, None).await?;
        None
    };
    tx.commit().await?;
    Ok(Json(message_id(message)))
}
