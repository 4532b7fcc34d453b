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
    error::Code,
    mail::LetterKind,
    messages,
    model::{Object, TokenKind, User, users},
    password,
    rate_limit::{self, Bucket},
    request::{
        Challenge, Context, Input, MetaSecurity,
        contact::{self, Contact},
    },
    sessions::{self, SignIn},
    sms::Channel,
};

/// The body. Everything may be missing.
#[derive(Debug, Default, Deserialize)]
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

/// Somebody who wants an account, and has said everything that it takes.
pub(crate) struct Applicant {
    pub(crate) contact: Contact,
    /// Hashed; a random one for those who sign in with codes.
    pub(crate) password_hash: String,
    /// What they typed, to be compared with an account that waits for its confirmation.
    pub(crate) password: Option<String>,
    pub(crate) data: Object,
    pub(crate) channel: Channel,
    pub(crate) challenge: Option<Challenge>,
}

/// `POST /signup`
pub(crate) async fn sign_up(
    context: Context,
    Input(params): Input<SignUpParams>,
) -> Result<Response, AuthError> {
    captcha::check(&context, &params.gotrue_meta_security).await?;
    accounts::check_metadata(&Object::new(), &params.data)?;
    if params.email.is_empty() && params.phone.is_empty() {
        return anonymous::sign_up(&context, params.data).await;
    }
    rate_limit::check(&context, Bucket::SignUp)?;
    check_enabled(&context)?;
    let applicant = read(&context, params).await?;
    let contact = &applicant.contact;
    let existing = accounts::find_by_contact(&context, &mut context.db().await?, contact).await?;
    match existing {
        Some(user) => known(&context, &applicant, user).await,
        None => unknown(&context, &applicant).await,
    }
}

/// 422 while nobody may sign up.
pub(crate) fn check_enabled(context: &Context) -> Result<(), AuthError> {
    match context.config.is_signup_enabled {
        true => Ok(()),
        false => Err(AuthError::new(
            422,
            Code::SignupDisabled,
            "Signups not allowed for this instance",
        )),
    }
}

/// The checks that need no account (§2.2, steps 5 and 6). The password is hashed before anybody is
/// looked up, so that the time it takes says nothing about who exists.
async fn read(context: &Context, params: SignUpParams) -> Result<Applicant, AuthError> {
    if params.password.is_empty() {
        return Err(AuthError::invalid("Signup requires a valid password"));
    }
    password::check_strength(context, &params.password).await?;
    let challenge = Challenge::parse(&params.code_challenge, &params.code_challenge_method)?;
    let contact = match (params.email.as_str(), params.phone.as_str()) {
        (email, "") => Contact::Email(email.to_owned()),
        ("", phone) => Contact::Phone(phone.to_owned()),
        _ => {
            return Err(AuthError::invalid(
                "Only an email address or phone number should be provided on signup.",
            ));
        }
    };
    let channel = Channel::parse(context, &params.channel)?;
    if challenge.is_some() && matches!(contact, Contact::Phone(_)) {
        return Err(AuthError::invalid("PKCE not supported for phone signups"));
    }
    let contact = check_contact(context, contact)?;
    let hasher = context.service.hasher();
    let cost = context.config.password.cost;
    Ok(Applicant {
        password_hash: hasher.hash(&params.password, cost).await?,
        password: Some(params.password),
        contact,
        data: params.data,
        channel,
        challenge,
    })
}

/// The contact in its stored form, if people may sign up that way.
pub(crate) fn check_contact(context: &Context, contact: Contact) -> Result<Contact, AuthError> {
    let external = &context.config.external;
    match contact {
        Contact::Email(_) if !external.is_email_enabled => Err(AuthError::new(
            400,
            Code::EmailProviderDisabled,
            "Email signups are disabled",
        )),
        Contact::Phone(_) if !external.is_phone_enabled => Err(AuthError::new(
            400,
            Code::PhoneProviderDisabled,
            "Phone signups are disabled",
        )),
        Contact::Email(text) => contact::email(&text).map(Contact::Email),
        Contact::Phone(text) => contact::phone(&text).map(Contact::Phone),
    }
}

/// Nobody has the contact yet.
async fn unknown(context: &Context, applicant: &Applicant) -> Result<Response, AuthError> {
    let Some(user) = create(context, applicant).await? else {
        // Somebody was faster.
        let contact = &applicant.contact;
        let existing =
            accounts::find_by_contact(context, &mut context.db().await?, contact).await?;
        return match existing {
            Some(user) => known(context, applicant, user).await,
            // It belongs to an account that people cannot sign up for: of another audience, say.
            None => repeated::answer(context, applicant, None).await,
        };
    };
    let Created { mut tx, user } = user;
    let is_autoconfirmed = is_autoconfirmed(context, &applicant.contact);
    let (response, body) = match is_autoconfirmed {
        true => {
            let user = confirm(context, &mut tx, user, &applicant.contact).await?;
            let body = open_session(context, &mut tx, user, &applicant.contact).await?;
            let user = body.user.clone();
            (body.into_response(), user)
        }
        false => {
            let user = ask_to_confirm(context, &mut tx, &user, applicant).await?;
            let body = users::load_body(&mut tx, user).await?;
            (Json(&body).into_response(), body)
        }
    };
    tx.commit().await?;
    accounts::tell_after(context, &body).await?;
    Ok(response)
}

/// An account that is stored, in the transaction that stored it.
pub(crate) struct Created {
    pub(crate) tx: ServiceTransaction,
    pub(crate) user: User,
}

/// Asks the user's own code, then stores the account; `None` if somebody else did meanwhile.
pub(crate) async fn create(
    context: &Context,
    applicant: &Applicant,
) -> Result<Option<Created>, AuthError> {
    let contact = &applicant.contact;
    let hash = applicant.password_hash.clone();
    let new = accounts::new_user(context, contact, hash, applicant.data.clone());
    accounts::ask_before(context, &new).await?;
    let mut tx = context.begin().await?;
    match accounts::create(context, &mut tx, new, contact, Metadata::OfIdentity).await {
        Ok(user) => Ok(Some(Created { tx, user })),
        Err(error) if accounts::is_taken(&error) => Ok(None),
        Err(error) => Err(AuthError::database("Database error saving new user", error)),
    }
}

/// Somebody has the contact already (§2.2, the table of cases).
async fn known(
    context: &Context,
    applicant: &Applicant,
    user: User,
) -> Result<Response, AuthError> {
    let is_confirmed = match applicant.contact {
        Contact::Email(_) => user.is_email_confirmed(),
        Contact::Phone(_) => user.is_phone_confirmed(),
    };
    if is_confirmed {
        return repeated::answer(context, applicant, Some(&user)).await;
    }
    if is_autoconfirmed(context, &applicant.contact) {
        return confirm_waiting(context, applicant, user).await;
    }
    let was_invited = user.invited_at.is_some();
    let mut tx = context.begin().await?;
    let user = ask_to_confirm(context, &mut tx, &user, applicant).await?;
    let mut body = users::load_body(&mut tx, user).await?;
    tx.commit().await?;
    if was_invited {
        // Whoever invited them may have stored what a stranger must not see.
        body.user_metadata.clear();
        body.identities = Some(Vec::new());
    }
    Ok(Json(body).into_response())
}

/// An account that waited for a confirmation which is not asked for any more. Its owner is
/// whoever knows the password that it was made with.
async fn confirm_waiting(
    context: &Context,
    applicant: &Applicant,
    user: User,
) -> Result<Response, AuthError> {
    let cost = context.config.password.cost;
    let typed = applicant.password.as_deref().unwrap_or_default();
    let hasher = context.service.hasher();
    let is_owner = user.has_password()
        && hasher
            .verify(&user.encrypted_password, typed, cost)
            .await?
            .is_match;
    if !is_owner {
        return Err(already_exists());
    }
    let mut tx = context.begin().await?;
    let user = confirm(context, &mut tx, user, &applicant.contact).await?;
    let body = open_session(context, &mut tx, user, &applicant.contact).await?;
    tx.commit().await?;
    Ok(body.into_response())
}

pub(crate) fn is_autoconfirmed(context: &Context, contact: &Contact) -> bool {
    match contact {
        Contact::Email(_) => context.config.mail.is_autoconfirmed,
        Contact::Phone(_) => context.config.sms.is_autoconfirmed,
    }
}

/// Confirms at once, because the project asks for no proof.
pub(crate) async fn confirm(
    context: &Context,
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

async fn open_session(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: User,
    contact: &Contact,
) -> Result<sessions::TokenBody, AuthError> {
    let traits = json!({ "provider": contact.provider() });
    audit::write(context, tx, &user, Action::Login, traits).await?;
    sessions::sign_in(context, tx, user, SignIn::by("password")).await
}

/// Sends what proves that the contact is theirs.
pub(crate) async fn ask_to_confirm(
    context: &Context,
    tx: &mut ServiceTransaction,
    user: &User,
    applicant: &Applicant,
) -> Result<User, AuthError> {
    let action = Action::UserConfirmationRequested;
    let traits = json!({ "provider": applicant.contact.provider() });
    audit::write(context, tx, user, action, traits).await?;
    match &applicant.contact {
        Contact::Email(_) => {
            let challenge = applicant.challenge.as_ref();
            messages::send_letter(context, tx, user, LetterKind::Confirmation, challenge).await
        }
        Contact::Phone(phone) => {
            let (kind, channel) = (TokenKind::Confirmation, applicant.channel);
            let sent = messages::send_code(context, tx, user, kind, phone, channel).await?;
            Ok(sent.0)
        }
    }
}

fn already_exists() -> AuthError {
    AuthError::new(422, Code::UserAlreadyExists, "User already registered")
}
