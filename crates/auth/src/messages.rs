//! Issuing one-time tokens and sending them by mail and text message (auth contract §7.1, §7.3).

use std::time::Duration;

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    AuthError,
    contact::Contact,
    mail::{self, EmailChange, Token, TokenMail, TokenMailKind},
    model::{FlowMethod, TokenKind, User, flows, one_time, users},
    pkce::Challenge,
    random,
    request::RequestContext,
    sms::{self, Channel, Message},
};

/// A token that was issued and stored.
#[derive(Clone)]
pub(crate) struct Issued {
    pub(crate) otp: String,
    /// The token in a link, with a prefix in PKCE flows.
    pub(crate) hash: String,
}

/// Issues a token for the contact `to` and stores it in both places; an earlier one of the kind is
/// replaced.
pub(crate) async fn issue(
    context: &RequestContext,
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
    one_time::upsert(db, user, kind, to.as_str(), &hash, context.now).await?;
    let user = one_time::set_sent(db, user, kind, &digits, context.now).await?;
    Ok((user, Issued { otp, hash }))
}

fn make_otp(context: &RequestContext, to: &Contact) -> String {
    let config = &context.config;
    match to {
        Contact::Email(_) => random::digits(config.mail.otp_length),
        Contact::Phone(phone) => match config.sms.test_numbers.code(phone, context.now) {
            Some(fixed) => fixed.to_owned(),
            None => random::digits(config.sms.otp_length),
        },
    }
}

/// Sends a mail with a new token to the user's address.
pub(crate) async fn send_token_mail(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    kind: TokenMailKind,
    challenge: Option<&Challenge>,
) -> Result<User, AuthError> {
    let user = &lock(db, user).await?;
    let (token, flow, last_sent) = match kind {
        TokenMailKind::Confirmation => (
            TokenKind::Confirmation,
            FlowMethod::EmailSignup,
            user.confirmation_sent_at,
        ),
        TokenMailKind::Invite => (TokenKind::Confirmation, FlowMethod::Invite, None),
        TokenMailKind::Recovery => (
            TokenKind::Recovery,
            FlowMethod::Recovery,
            user.recovery_sent_at,
        ),
        TokenMailKind::MagicLink => (
            TokenKind::Recovery,
            FlowMethod::MagicLink,
            user.recovery_sent_at,
        ),
        TokenMailKind::Reauthentication => (
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
    let letter = TokenMail {
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

/// Stores the new address as pending, and sends mails to confirm it: to the new one and, where both
/// must confirm, to the current one (§7.4).
pub(crate) async fn send_email_change(
    context: &RequestContext,
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
    users::restart_email_change(db, user.id, new_email, context.now).await?;
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

/// Sends a code to a number; also returns the provider's message id.
pub(crate) async fn send_code(
    context: &RequestContext,
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
    if let Some(left) = seconds_left(context, last_sent, context.config.sms.min_interval) {
        return Err(AuthError::sms_sent_recently(left));
    }
    if kind == TokenKind::PhoneChange {
        users::set_phone_change(db, user.id, phone, context.now).await?;
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

/// Locks the user's row, so that concurrent requests see when something was last sent.
async fn lock(db: &mut impl Queries, user: &User) -> Result<User, AuthError> {
    let locked = users::lock(db, user.id).await?;
    locked.ok_or_else(|| AuthError::unexpected("the user no longer exists"))
}

fn check_mail_interval(
    context: &RequestContext,
    last_sent: Option<OffsetDateTime>,
) -> Result<(), AuthError> {
    let interval = context.config.mail.min_interval;
    match seconds_left(context, last_sent, interval) {
        Some(left) => Err(AuthError::email_sent_recently(left)),
        None => Ok(()),
    }
}

/// How long the user has to wait until something may be sent again.
fn seconds_left(
    context: &RequestContext,
    last_sent: Option<OffsetDateTime>,
    interval: Duration,
) -> Option<f64> {
    // Not negative: a request that began later may have sent earlier.
    let passed = (context.now - last_sent?).as_seconds_f64().max(0.0);
    let left = (interval.as_secs_f64() - passed).ceil();
    (left > 0.0).then_some(left)
}
