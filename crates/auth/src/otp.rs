//! `POST /otp` and its older form `POST /magiclink`: sign-in by a code or link (auth contract
//! §2.4).

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    AuthError, accounts,
    audit::{self, Action},
    captcha,
    contact::{self, Contact},
    mail::TokenMailKind,
    messages,
    model::{Object, TokenKind, User, users},
    password,
    pkce::Challenge,
    rate_limit::{self, Bucket},
    request::{Input, MetaSecurity, RequestContext},
    signup::{self, Created, SignUpRequest},
    sms::Channel,
    timing::{self, Outcome},
};

#[derive(Deserialize)]
#[serde(default)]
pub(crate) struct OtpParams {
    email: String,
    phone: String,
    create_user: bool,
    data: Object,
    channel: String,
    code_challenge: String,
    code_challenge_method: String,
    gotrue_meta_security: MetaSecurity,
}

impl Default for OtpParams {
    fn default() -> Self {
        Self {
            email: String::new(),
            phone: String::new(),
            create_user: true,
            data: Object::new(),
            channel: String::new(),
            code_challenge: String::new(),
            code_challenge_method: String::new(),
            gotrue_meta_security: MetaSecurity::default(),
        }
    }
}

/// `POST /otp`
pub(crate) async fn otp(
    context: RequestContext,
    Input(params): Input<OtpParams>,
) -> Result<Json<Value>, AuthError> {
    rate_limit::check(&context, Bucket::Otp)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    let request = validate(&context, params)?;
    respond(&context, request).await
}

/// `POST /magiclink`: the same for email addresses only.
pub(crate) async fn magic_link(
    context: RequestContext,
    Input(params): Input<OtpParams>,
) -> Result<Json<Value>, AuthError> {
    rate_limit::check(&context, Bucket::MagicLink)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    let params = OtpParams {
        phone: String::new(),
        channel: String::new(),
        create_user: true,
        ..params
    };
    let request = validate(&context, params)?;
    respond(&context, request).await
}

/// New, known and unconfirmed users get the same response, and its duration reveals as little.
async fn respond(context: &RequestContext, request: OtpRequest) -> Result<Json<Value>, AuthError> {
    let contact = request.contact.clone();
    let work = send(context, request);
    timing::even_out(context, &contact, work).await.map(Json)
}

/// A validated request.
struct OtpRequest {
    contact: Contact,
    may_create: bool,
    data: Object,
    channel: Channel,
    challenge: Option<Challenge>,
}

fn validate(context: &RequestContext, params: OtpParams) -> Result<OtpRequest, AuthError> {
    accounts::check_metadata(&Object::new(), &params.data)?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let contact = match (params.email.as_str(), params.phone.as_str()) {
        ("", "") => {
            return Err(AuthError::validation_failed(
                "One of email or phone must be set",
            ));
        }
        (email, "") if params.channel.is_empty() => Contact::Email(parse_email(context, email)?),
        (_, "") => {
            return Err(AuthError::validation_failed(
                "Channel should only be specified with Phone OTP",
            ));
        }
        ("", phone) => Contact::Phone(parse_phone(context, phone)?),
        _ => {
            return Err(AuthError::validation_failed(
                "Only an email address or phone number should be provided",
            ));
        }
    };
    Ok(OtpRequest {
        channel: Channel::parse(context, &params.channel)?,
        may_create: params.create_user,
        data: params.data,
        contact,
        challenge,
    })
}

fn parse_email(context: &RequestContext, text: &str) -> Result<String, AuthError> {
    let external = &context.config.external;
    if !external.is_email_enabled || !external.is_magic_link_enabled {
        return Err(AuthError::email_logins_disabled());
    }
    contact::email(text)
}

fn parse_phone(context: &RequestContext, text: &str) -> Result<String, AuthError> {
    if !context.config.external.is_phone_enabled {
        return Err(AuthError::phone_otp_disabled());
    }
    contact::phone(text)
}

async fn send(context: &RequestContext, request: OtpRequest) -> Result<Outcome<Value>, AuthError> {
    let mut db = context.db().await?;
    let audience = context.audience();
    let found = match &request.contact {
        Contact::Email(email) => users::find_by_email(&mut db, email, audience).await?,
        Contact::Phone(phone) => users::find_by_phone(&mut db, phone, audience).await?,
    };
    drop(db);
    match found {
        Some(user) if is_confirmed(&user, &request.contact) => {
            let body = send_to_confirmed(context, &user, &request).await?;
            Ok(Outcome::after_message(context, &request.contact, body))
        }
        Some(user) => {
            let contact = request.contact.clone();
            let body = send_to_unconfirmed(context, &user, request).await?;
            Ok(Outcome::after_message(context, &contact, body))
        }
        None if request.may_create => create(context, request).await,
        None => Err(AuthError::otp_signups_disabled()),
    }
}

fn is_confirmed(user: &User, contact: &Contact) -> bool {
    match contact {
        Contact::Email(_) => user.is_email_confirmed(),
        Contact::Phone(_) => user.is_phone_confirmed(),
    }
}

/// Sends to a confirmed user.
async fn send_to_confirmed(
    context: &RequestContext,
    user: &User,
    request: &OtpRequest,
) -> Result<Value, AuthError> {
    let mut tx = context.begin().await?;
    let (contact, challenge) = (&request.contact, request.challenge.as_ref());
    let body = send_message(context, &mut tx, user, contact, challenge, request.channel).await?;
    tx.commit().await?;
    Ok(body)
}

/// Sends the code or link; returns the response body.
async fn send_message(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: &User,
    contact: &Contact,
    challenge: Option<&Challenge>,
    channel: Channel,
) -> Result<Value, AuthError> {
    let action = Action::UserRecoveryRequested;
    audit::write(context, tx, user, action, Value::Null).await?;
    match contact {
        Contact::Email(_) => {
            messages::send_token_mail(context, tx, user, TokenMailKind::MagicLink, challenge)
                .await?;
            Ok(json!({}))
        }
        Contact::Phone(phone) => {
            let kind = TokenKind::Confirmation;
            let sent = messages::send_code(context, tx, user, kind, phone, channel).await?;
            Ok(message_id(sent.1))
        }
    }
}

/// `{}`, or the provider's message id.
pub(crate) fn message_id(id: Option<String>) -> Value {
    match id {
        Some(id) => json!({ "message_id": id }),
        None => json!({}),
    }
}

/// Sends an unconfirmed user another confirmation, which signs them in.
async fn send_to_unconfirmed(
    context: &RequestContext,
    user: &User,
    request: OtpRequest,
) -> Result<Value, AuthError> {
    if signup::is_autoconfirmed(context, &request.contact) {
        return send_to_confirmed(context, user, &request).await;
    }
    if request.may_create {
        signup::check_enabled(context)?;
    }
    let sign_up_request = sign_up_request(request, String::new());
    let mut tx = context.begin().await?;
    signup::send_confirmation(context, &mut tx, user, &sign_up_request).await?;
    tx.commit().await?;
    Ok(json!({}))
}

/// Creates a user with a random password.
async fn create(
    context: &RequestContext,
    request: OtpRequest,
) -> Result<Outcome<Value>, AuthError> {
    signup::check_enabled(context)?;
    let known =
        accounts::find_by_contact(context, &mut context.db().await?, &request.contact).await?;
    if known.is_some() {
        // The address belongs to a user who signs in through a provider.
        return Ok(Outcome::Silent(json!({})));
    }
    let sign_up_request = sign_up_request(request, password::hash_of_random()?);
    let Some(Created { mut tx, user }) = signup::create(context, &sign_up_request).await? else {
        // A concurrent request created the user and sent the message.
        return Ok(Outcome::Silent(json!({})));
    };
    let contact = &sign_up_request.contact;
    let (user, response) = if signup::is_autoconfirmed(context, contact) {
        let user = signup::confirm(context, &mut tx, user, contact).await?;
        let (challenge, channel) = (sign_up_request.challenge.as_ref(), sign_up_request.channel);
        let response = send_message(context, &mut tx, &user, contact, challenge, channel).await?;
        (user, response)
    } else {
        let user = signup::send_confirmation(context, &mut tx, &user, &sign_up_request).await?;
        (user, json!({}))
    };
    tx.commit().await?;
    let body = stored_body(context, &user).await?;
    accounts::run_after_created_hook(context, &body).await?;
    Ok(Outcome::after_message(context, contact, response))
}

async fn stored_body(
    context: &RequestContext,
    user: &User,
) -> Result<crate::model::UserBody, AuthError> {
    let mut db = context.db().await?;
    Ok(users::load_body(&mut db, user.clone()).await?)
}

fn sign_up_request(request: OtpRequest, password_hash: String) -> SignUpRequest {
    SignUpRequest {
        contact: request.contact,
        password_hash,
        password: None,
        data: request.data,
        channel: request.channel,
        challenge: request.challenge,
    }
}
