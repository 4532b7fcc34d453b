//! One-time tokens on their way to people: made, stored, sent, and not too often (auth contract
//! §7.1, §7.3).

use std::time::Duration;

use plinth_db::{DbError, Params, Queries};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    AuthError,
    error::Code,
    mail::{self, EmailChange, Letter, LetterKind, Token},
    model::{FlowMethod, TokenKind, User, flows, one_time, users},
    random,
    request::{Challenge, Context, contact::Contact},
    sms::{self, Channel, Message},
};

/// A token that was made and stored.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub(crate) otp: String,
    /// What a link carries, with its prefix in flows that end in a code exchange.
    pub(crate) hash: String,
}

/// Makes a token for whoever reads at `to`, and stores it in both places; an earlier one of the
/// kind is void from here on.
pub(crate) async fn issue(
    context: &Context,
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
    to: &Contact,
    is_pkce: bool,
) -> Result<(User, Issued), DbError> {
    let otp = make_otp(context, to);
    let prefix = if is_pkce { one_time::PKCE_PREFIX } else { "" };
    let digits = format!("{prefix}{}", one_time::hash(to.as_str(), &otp));
    let hash = format!("{prefix}{}", one_time::link_token());
    one_time::put(db, user, kind, to.as_str(), &hash, context.now).await?;
    let columns = match kind {
        TokenKind::Confirmation => "confirmation_token = $1, confirmation_sent_at = $2",
        TokenKind::Recovery => "recovery_token = $1, recovery_sent_at = $2",
        TokenKind::Reauthentication => "reauthentication_token = $1, reauthentication_sent_at = $2",
        TokenKind::EmailChangeNew => "email_change_token_new = $1, email_change_sent_at = $2",
        TokenKind::EmailChangeCurrent => {
            "email_change_token_current = $1, email_change_sent_at = $2"
        }
        TokenKind::PhoneChange => "phone_change_token = $1, phone_change_sent_at = $2",
    };
    let values: Params<'_> = &[&digits, &context.now];
    let user = users::update(db, user, context.now, columns, values).await?;
    Ok((user, Issued { otp, hash }))
}

fn make_otp(context: &Context, to: &Contact) -> String {
    let config = &context.config;
    match to {
        Contact::Email(_) => random::digits(config.mail.otp_length),
        Contact::Phone(phone) => match config.sms.test_numbers.code(phone, context.now) {
            Some(fixed) => fixed.to_owned(),
            None => random::digits(config.sms.otp_length),
        },
    }
}

/// Sends a letter with a new token to the user's own address.
pub(crate) async fn send_letter(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    kind: LetterKind,
    challenge: Option<&Challenge>,
) -> Result<User, AuthError> {
    let user = &lock(db, user).await?;
    let (token, flow, last_sent) = match kind {
        LetterKind::Confirmation => (
            TokenKind::Confirmation,
            FlowMethod::EmailSignup,
            user.confirmation_sent_at,
        ),
        LetterKind::Invite => (TokenKind::Confirmation, FlowMethod::Invite, None),
        LetterKind::Recovery => (
            TokenKind::Recovery,
            FlowMethod::Recovery,
            user.recovery_sent_at,
        ),
        LetterKind::MagicLink => (
            TokenKind::Recovery,
            FlowMethod::MagicLink,
            user.recovery_sent_at,
        ),
        LetterKind::Reauthentication => (
            TokenKind::Reauthentication,
            FlowMethod::MagicLink,
            user.reauthentication_sent_at,
        ),
    };
    check_mail_interval(context, last_sent)?;
    if let Some(challenge) = challenge {
        flows::insert_for_mail(db, user.id, flow, challenge, context.now).await?;
    }
    let to = Contact::Email(user.email.clone());
    let (user, issued) = issue(context, db, user.id, token, &to, challenge.is_some()).await?;
    let letter = Letter {
        kind,
        user: &user,
        to: to.as_str(),
        otp: &issued.otp,
        token_hash: &issued.hash,
        redirect_to: &context.redirect_to(),
    };
    mail::send(context, db, letter).await?;
    Ok(user)
}

/// Notes the address that the user wants, and sends what confirms it: to that address and, where
/// both must agree, to the present one (§7.4).
pub(crate) async fn send_email_change(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    new_email: &str,
    challenge: Option<&Challenge>,
) -> Result<User, AuthError> {
    let user = &lock(db, user).await?;
    check_mail_interval(context, user.email_change_sent_at)?;
    if let Some(challenge) = challenge {
        let method = FlowMethod::EmailChange;
        flows::insert_for_mail(db, user.id, method, challenge, context.now).await?;
    }
    let columns = "email_change = $1, email_change_confirm_status = 0,
                   email_change_token_current = ''";
    users::update(db, user.id, context.now, columns, &[&new_email]).await?;
    one_time::delete(db, user.id, TokenKind::EmailChangeCurrent).await?;

    let is_pkce = challenge.is_some();
    let to = Contact::Email(new_email.to_owned());
    let (mut after, new) = issue(
        context,
        db,
        user.id,
        TokenKind::EmailChangeNew,
        &to,
        is_pkce,
    )
    .await?;
    let mut current = None;
    if context.config.mail.is_change_confirmed_twice && !user.email.is_empty() {
        let kind = TokenKind::EmailChangeCurrent;
        let to = Contact::Email(user.email.clone());
        let issued;
        (after, issued) = issue(context, db, user.id, kind, &to, is_pkce).await?;
        current = Some(issued);
    }
    let change = EmailChange {
        user: &after,
        new_email,
        new: new.as_token(),
        current: current.as_ref().map(Issued::as_token),
        redirect_to: &context.redirect_to(),
    };
    mail::send_email_change(context, db, change).await?;
    Ok(after)
}

impl Issued {
    fn as_token(&self) -> Token<'_> {
        Token {
            otp: &self.otp,
            hash: &self.hash,
        }
    }
}

/// Sends a code to a number; also gives the provider's name for the message.
pub(crate) async fn send_code(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    kind: TokenKind,
    phone: &str,
    channel: Channel,
) -> Result<(User, Option<String>), AuthError> {
    let user = &lock(db, user).await?;
    let last_sent = match kind {
        TokenKind::PhoneChange => user.phone_change_sent_at,
        TokenKind::Reauthentication => user.reauthentication_sent_at,
        _ => user.confirmation_sent_at,
    };
    check_interval(
        context,
        last_sent,
        context.config.sms.min_interval,
        Code::OverSmsSendRateLimit,
    )?;
    if kind == TokenKind::PhoneChange {
        users::update(db, user.id, context.now, "phone_change = $1", &[&phone]).await?;
    }
    let to = Contact::Phone(phone.to_owned());
    let (user, issued) = issue(context, db, user.id, kind, &to, false).await?;
    let message = Message {
        user: &user,
        phone,
        otp: &issued.otp,
        channel,
        is_mfa: false,
    };
    let id = sms::send(context, db, message).await?;
    Ok((user, id))
}

/// The user as they are now. Many who ask at once are told one after another when something was
/// last sent.
async fn lock(db: &mut impl Queries, user: &User) -> Result<User, AuthError> {
    let locked = users::lock(db, user.id).await?;
    locked.ok_or_else(|| AuthError::internal("Unexpected failure", "the user no longer exists"))
}

fn check_mail_interval(
    context: &Context,
    last_sent: Option<OffsetDateTime>,
) -> Result<(), AuthError> {
    let interval = context.config.mail.min_interval;
    check_interval(context, last_sent, interval, Code::OverEmailSendRateLimit)
}

/// Not again so soon.
fn check_interval(
    context: &Context,
    last_sent: Option<OffsetDateTime>,
    interval: Duration,
    code: Code,
) -> Result<(), AuthError> {
    let Some(sent) = last_sent else {
        return Ok(());
    };
    // A request that began later may have sent earlier.
    let passed = (context.now - sent).as_seconds_f64().max(0.0);
    let left = (interval.as_secs_f64() - passed).ceil();
    if left <= 0.0 {
        return Ok(());
    }
    let message = format!("For security purposes, you can only request this after {left} seconds.");
    Err(AuthError::new(429, code, message))
}
