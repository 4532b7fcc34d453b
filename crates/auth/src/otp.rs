//! `POST /otp` and its older form `POST /magiclink`: sign-in with what is sent (auth contract
//! §2.4).

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    AuthError, accounts,
    audit::{self, Action},
    captcha,
    error::Code,
    mail::LetterKind,
    messages,
    model::{Object, TokenKind, User, users},
    random,
    rate_limit::{self, Bucket},
    request::{
        Challenge, Context, Input, MetaSecurity,
        contact::{self, Contact},
    },
    signup::{self, Applicant, Created},
    sms::Channel,
};

#[derive(Debug, Deserialize)]
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
    context: Context,
    Input(params): Input<OtpParams>,
) -> Result<Json<Value>, AuthError> {
    rate_limit::check(&context, Bucket::Otp)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    let wish = read(&context, params)?;
    send(&context, wish).await
}

/// `POST /magiclink`: the same for addresses alone.
pub(crate) async fn magic_link(
    context: Context,
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
    let wish = read(&context, params)?;
    send(&context, wish).await
}

/// Somebody who wants to be let in by what is sent to them.
struct Wish {
    contact: Contact,
    may_create: bool,
    data: Object,
    channel: Channel,
    challenge: Option<Challenge>,
}

fn read(context: &Context, params: OtpParams) -> Result<Wish, AuthError> {
    accounts::check_metadata(&Object::new(), &params.data)?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let contact = match (params.email.as_str(), params.phone.as_str()) {
        ("", "") => {
            return Err(AuthError::invalid("One of email or phone must be set"));
        }
        (email, "") if params.channel.is_empty() => Contact::Email(email_of(context, email)?),
        (_, "") => {
            return Err(AuthError::invalid(
                "Channel should only be specified with Phone OTP",
            ));
        }
        ("", phone) => Contact::Phone(phone_of(context, phone)?),
        _ => {
            return Err(AuthError::invalid(
                "Only an email address or phone number should be provided",
            ));
        }
    };
    Ok(Wish {
        channel: Channel::parse(context, &params.channel)?,
        may_create: params.create_user,
        data: params.data,
        contact,
        challenge,
    })
}

fn email_of(context: &Context, text: &str) -> Result<String, AuthError> {
    let external = &context.config.external;
    if !external.is_email_enabled || !external.is_magic_link_enabled {
        return Err(AuthError::new(
            422,
            Code::EmailProviderDisabled,
            "Email logins are disabled",
        ));
    }
    contact::email(text)
}

fn phone_of(context: &Context, text: &str) -> Result<String, AuthError> {
    if !context.config.external.is_phone_enabled {
        return Err(AuthError::new(
            400,
            Code::PhoneProviderDisabled,
            "Unsupported phone provider",
        ));
    }
    contact::phone(text)
}

async fn send(context: &Context, wish: Wish) -> Result<Json<Value>, AuthError> {
    let mut db = context.db().await?;
    let audience = context.audience();
    let found = match &wish.contact {
        Contact::Email(email) => users::find_by_email(&mut db, email, audience).await?,
        Contact::Phone(phone) => users::find_by_phone(&mut db, phone, audience).await?,
    };
    drop(db);
    match found {
        Some(user) if is_confirmed(&user, &wish.contact) => send_to(context, &user, &wish).await,
        Some(user) => send_to_unconfirmed(context, &user, wish).await,
        None if wish.may_create => create(context, wish).await,
        None => Err(AuthError::new(
            422,
            Code::OtpDisabled,
            "Signups not allowed for otp",
        )),
    }
}

fn is_confirmed(user: &User, contact: &Contact) -> bool {
    match contact {
        Contact::Email(_) => user.is_email_confirmed(),
        Contact::Phone(_) => user.is_phone_confirmed(),
    }
}

/// Lets a known person in.
async fn send_to(context: &Context, user: &User, wish: &Wish) -> Result<Json<Value>, AuthError> {
    let mut tx = context.begin().await?;
    let (contact, challenge) = (&wish.contact, wish.challenge.as_ref());
    let answer = deliver(context, &mut tx, user, contact, challenge, wish.channel).await?;
    tx.commit().await?;
    Ok(Json(answer))
}

/// Sends what lets somebody in; what is to be answered.
async fn deliver(
    context: &Context,
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
            messages::send_letter(context, tx, user, LetterKind::MagicLink, challenge).await?;
            Ok(json!({}))
        }
        Contact::Phone(phone) => {
            let kind = TokenKind::Confirmation;
            let sent = messages::send_code(context, tx, user, kind, phone, channel).await?;
            Ok(message_id(sent.1))
        }
    }
}

/// `{}`, or what the provider calls the message.
pub(crate) fn message_id(id: Option<String>) -> Value {
    match id {
        Some(id) => json!({ "message_id": id }),
        None => json!({}),
    }
}

/// An account that waits for its confirmation gets another, and is let in by it.
async fn send_to_unconfirmed(
    context: &Context,
    user: &User,
    wish: Wish,
) -> Result<Json<Value>, AuthError> {
    if signup::is_autoconfirmed(context, &wish.contact) {
        return send_to(context, user, &wish).await;
    }
    if wish.may_create {
        signup::check_enabled(context)?;
    }
    let applicant = applicant(wish, String::new());
    let mut tx = context.begin().await?;
    signup::ask_to_confirm(context, &mut tx, user, &applicant).await?;
    tx.commit().await?;
    Ok(Json(json!({})))
}

/// A new account, with a password that nobody knows.
async fn create(context: &Context, wish: Wish) -> Result<Json<Value>, AuthError> {
    signup::check_enabled(context)?;
    let known = accounts::find_by_contact(context, &mut context.db().await?, &wish.contact).await?;
    if known.is_some() {
        // It is the address that somebody has at a provider, and they come in through that.
        return Ok(Json(json!({})));
    }
    let cost = context.config.password.cost;
    let password = random::url_text::<32>();
    let hash = context.service.hasher().hash(&password, cost).await?;
    let applicant = applicant(wish, hash);
    let Some(Created { mut tx, user }) = signup::create(context, &applicant).await? else {
        // Somebody was faster with the same address, and has mail.
        return Ok(Json(json!({})));
    };
    let contact = &applicant.contact;
    let (user, answer) = match signup::is_autoconfirmed(context, contact) {
        false => {
            let user = signup::ask_to_confirm(context, &mut tx, &user, &applicant).await?;
            (user, json!({}))
        }
        true => {
            let user = signup::confirm(context, &mut tx, user, contact).await?;
            let (challenge, channel) = (applicant.challenge.as_ref(), applicant.channel);
            let answer = deliver(context, &mut tx, &user, contact, challenge, channel).await?;
            (user, answer)
        }
    };
    tx.commit().await?;
    let body = stored_body(context, &user).await?;
    accounts::tell_after(context, &body).await?;
    Ok(Json(answer))
}

async fn stored_body(context: &Context, user: &User) -> Result<crate::model::UserBody, AuthError> {
    let mut db = context.db().await?;
    Ok(users::load_body(&mut db, user.clone()).await?)
}

fn applicant(wish: Wish, password_hash: String) -> Applicant {
    Applicant {
        contact: wish.contact,
        password_hash,
        password: None,
        data: wish.data,
        channel: wish.channel,
        challenge: wish.challenge,
    }
}
