//! `POST /signup` (auth contract §2.2).

mod anonymous;
mod repeated;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::json;

use crate::{
    AuthError,
    accounts::{self, Metadata},
    audit::{self, Action},
    captcha,
    contact::{self, Contact},
    mail::TokenMailKind,
    messages,
    model::{Object, TokenKind, User, users},
    password,
    pkce::Challenge,
    rate_limit::{self, Bucket},
    request::{MetaSecurity, RequestContext, RequiredInput},
    sessions::{self, SignIn},
    sms::Channel,
    timing::{self, Outcome},
};

/// The request body.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SignUpParams {
    email: String,
    phone: String,
    password: String,
    data: Object,
    channel: String,
    code_challenge: String,
    code_challenge_method: String,
    gotrue_meta_security: MetaSecurity,
}

/// A validated sign-up.
pub(crate) struct SignUpRequest {
    pub(crate) contact: Contact,
    /// For users who sign in with codes, the hash of a random password.
    pub(crate) password_hash: String,
    /// The plain password, to compare with an unconfirmed account.
    pub(crate) password: Option<String>,
    pub(crate) data: Object,
    pub(crate) channel: Channel,
    pub(crate) challenge: Option<Challenge>,
}

/// `POST /signup`. `{}` is an anonymous sign-up, an empty body is a mistake.
pub(crate) async fn sign_up(
    context: RequestContext,
    RequiredInput(params): RequiredInput<SignUpParams>,
) -> Result<Response, AuthError> {
    captcha::check(&context, &params.gotrue_meta_security).await?;
    accounts::check_metadata(&Object::new(), &params.data)?;
    if params.email.is_empty() && params.phone.is_empty() {
        return anonymous::sign_up(&context, params.data).await;
    }
    rate_limit::check(&context, Bucket::SignUp)?;
    check_enabled(&context)?;
    let request = validate(&context, params).await?;
    let contact = &request.contact;
    let work = sign_up_by_contact(&context, &request);
    if is_autoconfirmed(&context, contact) {
        // The response itself reveals who is registered.
        return work.await.map(Outcome::into_response);
    }
    timing::even_out(&context, contact, work).await
}

async fn sign_up_by_contact(
    context: &RequestContext,
    request: &SignUpRequest,
) -> Result<Outcome<Response>, AuthError> {
    let contact = &request.contact;
    let existing = accounts::find_by_contact(context, &mut context.db().await?, contact).await?;
    match existing {
        Some(user) => sign_up_existing(context, request, user).await,
        None => sign_up_new(context, request).await,
    }
}

/// 422 while sign-ups are disabled.
pub(crate) fn check_enabled(context: &RequestContext) -> Result<(), AuthError> {
    if context.config.is_signup_enabled {
        Ok(())
    } else {
        Err(AuthError::signup_disabled())
    }
}

/// The checks before the lookup (§2.2, steps 5 and 6). The password is hashed before the lookup, so
/// that the duration does not reveal whether the user exists.
async fn validate(
    context: &RequestContext,
    params: SignUpParams,
) -> Result<SignUpRequest, AuthError> {
    if params.password.is_empty() {
        return Err(AuthError::signup_without_password());
    }
    password::check_strength(context, &params.password).await?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let contact = match (params.email.as_str(), params.phone.as_str()) {
        (email, "") => Contact::Email(email.to_owned()),
        ("", phone) => Contact::Phone(phone.to_owned()),
        _ => {
            return Err(AuthError::validation_failed(
                "Only an email address or phone number should be provided on signup.",
            ));
        }
    };
    let channel = Channel::parse(context, &params.channel)?;
    if challenge.is_some() && matches!(contact, Contact::Phone(_)) {
        return Err(AuthError::validation_failed(
            "PKCE not supported for phone signups",
        ));
    }
    let contact = check_contact(context, contact)?;
    let hasher = context.service.hasher();
    let cost = context.config.password.cost;
    Ok(SignUpRequest {
        password_hash: hasher.hash(&params.password, cost).await?,
        password: Some(params.password),
        contact,
        data: params.data,
        channel,
        challenge,
    })
}

/// The contact in its stored form, if sign-up by it is enabled.
pub(crate) fn check_contact(
    context: &RequestContext,
    contact: Contact,
) -> Result<Contact, AuthError> {
    let external = &context.config.external;
    match contact {
        Contact::Email(_) if !external.is_email_enabled => Err(AuthError::email_signups_disabled()),
        Contact::Phone(_) if !external.is_phone_enabled => Err(AuthError::phone_signups_disabled()),
        Contact::Email(text) => contact::email(&text).map(Contact::Email),
        Contact::Phone(text) => contact::phone(&text).map(Contact::Phone),
    }
}

/// Signs up with a contact that no user has.
async fn sign_up_new(
    context: &RequestContext,
    request: &SignUpRequest,
) -> Result<Outcome<Response>, AuthError> {
    let Some(user) = create(context, request).await? else {
        // A concurrent request created the user.
        let contact = &request.contact;
        let existing =
            accounts::find_by_contact(context, &mut context.db().await?, contact).await?;
        return match existing {
            Some(user) => sign_up_existing(context, request, user).await,
            // The user cannot be signed up for, e.g. has another audience.
            None => {
                let response = repeated::respond(context, request, None).await?;
                Ok(Outcome::Silent(response))
            }
        };
    };
    let Created { mut tx, user } = user;
    let is_autoconfirmed = is_autoconfirmed(context, &request.contact);
    let (response, body) = if is_autoconfirmed {
        let user = confirm(context, &mut tx, user, &request.contact).await?;
        let body = start_session(context, &mut tx, user, &request.contact).await?;
        let user = body.user.clone();
        (body.into_response(), user)
    } else {
        let user = send_confirmation(context, &mut tx, &user, request).await?;
        let body = users::load_body(&mut tx, user).await?;
        (Json(&body).into_response(), body)
    };
    tx.commit().await?;
    accounts::run_after_created_hook(context, &body).await?;
    Ok(Outcome::after_message(context, &request.contact, response))
}

/// A new user and the transaction that inserted it.
pub(crate) struct Created {
    pub(crate) tx: ServiceTransaction,
    pub(crate) user: User,
}

/// Runs the before-user-created hook and inserts the user; `None` if a concurrent request did.
pub(crate) async fn create(
    context: &RequestContext,
    request: &SignUpRequest,
) -> Result<Option<Created>, AuthError> {
    let contact = &request.contact;
    let hash = request.password_hash.clone();
    let new = accounts::new_user(context, contact, hash, request.data.clone());
    accounts::run_before_created_hook(context, &new).await?;
    let mut tx = context.begin().await?;
    match accounts::create(context, &mut tx, new, contact, Metadata::OfIdentity).await {
        Ok(user) => Ok(Some(Created { tx, user })),
        Err(error) if accounts::is_taken(&error) => Ok(None),
        Err(error) => Err(AuthError::saving_user_failed(error)),
    }
}

/// Signs up with a contact that a user has (§2.2, the table of cases).
async fn sign_up_existing(
    context: &RequestContext,
    request: &SignUpRequest,
    user: User,
) -> Result<Outcome<Response>, AuthError> {
    let is_confirmed = match request.contact {
        Contact::Email(_) => user.is_email_confirmed(),
        Contact::Phone(_) => user.is_phone_confirmed(),
    };
    if is_confirmed {
        let response = repeated::respond(context, request, Some(&user)).await?;
        return Ok(Outcome::Silent(response));
    }
    if is_autoconfirmed(context, &request.contact) {
        let response = confirm_unconfirmed(context, request, user).await?;
        return Ok(Outcome::Silent(response));
    }
    let was_invited = user.invited_at.is_some();
    let mut tx = context.begin().await?;
    let user = send_confirmation(context, &mut tx, &user, request).await?;
    let mut body = users::load_body(&mut tx, user).await?;
    tx.commit().await?;
    if was_invited {
        // Metadata from an invitation must not be shown to others.
        body.user_metadata.clear();
        body.identities = Some(Vec::new());
    }
    let response = Json(body).into_response();
    Ok(Outcome::after_message(context, &request.contact, response))
}

/// An unconfirmed account where confirmation is no longer required. Its owner must know its
/// password.
async fn confirm_unconfirmed(
    context: &RequestContext,
    request: &SignUpRequest,
    user: User,
) -> Result<Response, AuthError> {
    let cost = context.config.password.cost;
    let typed = request.password.as_deref().unwrap_or_default();
    let hasher = context.service.hasher();
    let is_owner = user.has_password()
        && hasher
            .verify(&user.encrypted_password, typed, cost)
            .await?
            .is_match;
    if !is_owner {
        return Err(AuthError::user_already_exists());
    }
    let mut tx = context.begin().await?;
    let user = confirm(context, &mut tx, user, &request.contact).await?;
    let body = start_session(context, &mut tx, user, &request.contact).await?;
    tx.commit().await?;
    Ok(body.into_response())
}

pub(crate) fn is_autoconfirmed(context: &RequestContext, contact: &Contact) -> bool {
    match contact {
        Contact::Email(_) => context.config.mail.is_autoconfirmed,
        Contact::Phone(_) => context.config.sms.is_autoconfirmed,
    }
}

/// Confirms without proof, because the project requires none.
pub(crate) async fn confirm(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
    contact: &Contact,
) -> Result<User, AuthError> {
    let user = match contact {
        Contact::Email(_) => accounts::confirm_email(context, tx, &user).await?,
        Contact::Phone(_) => accounts::confirm_phone(context, tx, &user).await?,
    };
    accounts::audit_sign_up(context, tx, &user, contact.provider()).await?;
    Ok(user)
}

async fn start_session(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: User,
    contact: &Contact,
) -> Result<sessions::TokenBody, AuthError> {
    let traits = json!({ "provider": contact.provider() });
    audit::write(context, tx, &user, Action::Login, traits).await?;
    sessions::sign_in(context, tx, user, SignIn::by("password")).await
}

/// Sends the confirmation message.
pub(crate) async fn send_confirmation(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: &User,
    request: &SignUpRequest,
) -> Result<User, AuthError> {
    let action = Action::UserConfirmationRequested;
    let traits = json!({ "provider": request.contact.provider() });
    audit::write(context, tx, user, action, traits).await?;
    match &request.contact {
        Contact::Email(_) => {
            let challenge = request.challenge.as_ref();
            messages::send_token_mail(context, tx, user, TokenMailKind::Confirmation, challenge)
                .await
        }
        Contact::Phone(phone) => {
            let (kind, channel) = (TokenKind::Confirmation, request.channel);
            let sent = messages::send_code(context, tx, user, kind, phone, channel).await?;
            Ok(sent.0)
        }
    }
}
