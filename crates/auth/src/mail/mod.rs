//! Mail: rendering and delivery (auth contract §7).
//!
//! A mail is checked against the rate limits, offered to the project's send-email hook, rendered
//! (`custom_templates.rs`, `defaults.rs`) and delivered: to the project's mail server, or into the
//! development mailbox where there is none.

mod custom_templates;
mod data;
mod defaults;
mod deliver;
mod dns;
mod hook;
mod kind;
mod link;
mod mailbox;
mod message;
mod plain_text;
mod preview;
mod recipient;
mod smtp;
mod smtp_dialogue;
pub(crate) mod trial;

use plinth_db::Queries;

use crate::{
    AuthError,
    model::{User, savepoint::Savepoint},
    request::RequestContext,
};

pub(crate) use preview::preview;

use deliver::{Outgoing, deliver};
use hook::EmailData;
use kind::Kind;

/// Cached templates and connections of one project.
#[derive(Default)]
pub(crate) struct MailState {
    templates: custom_templates::TemplateCache,
    server: smtp::Server,
}

/// A mail that carries a one-time token.
#[derive(Clone)]
pub(crate) struct TokenMail<'a> {
    pub(crate) kind: TokenMailKind,
    pub(crate) user: &'a User,
    /// The address it goes to.
    pub(crate) to: &'a str,
    pub(crate) otp: &'a str,
    /// With a prefix in PKCE flows.
    pub(crate) token_hash: &'a str,
    /// Where the link redirects to.
    pub(crate) redirect_to: &'a str,
}

/// Which mail with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenMailKind {
    Confirmation,
    Recovery,
    MagicLink,
    Invite,
    Reauthentication,
}

/// The mails of a change of address.
#[derive(Clone)]
pub(crate) struct EmailChange<'a> {
    pub(crate) user: &'a User,
    pub(crate) new_email: &'a str,
    pub(crate) new: Token<'a>,
    /// To the current address, where both must confirm.
    pub(crate) current: Option<Token<'a>>,
    pub(crate) redirect_to: &'a str,
}

/// A code, and the hash that the link carries.
#[derive(Clone)]
pub(crate) struct Token<'a> {
    pub(crate) otp: &'a str,
    pub(crate) hash: &'a str,
}

/// A notification of the user, sent only where the project enables it.
#[derive(Debug, Clone)]
pub(crate) enum Notification<'a> {
    PasswordChanged,
    EmailChanged { old_email: &'a str },
    PhoneChanged { old_phone: &'a str },
    IdentityLinked { provider: &'a str },
    IdentityUnlinked { provider: &'a str },
    FactorEnrolled { factor_type: &'a str },
    FactorUnenrolled { factor_type: &'a str },
}

/// Sends a mail; its failure fails the request.
pub(crate) async fn send(
    context: &RequestContext,
    db: &mut impl Queries,
    mail: TokenMail<'_>,
) -> Result<(), AuthError> {
    let outgoing = Outgoing {
        kind: mail.kind.into(),
        user: mail.user,
        mails: vec![(mail.to, data::of_token_mail(context, &mail))],
        new_email: None,
        for_hook: EmailData::of_token_mail(context, &mail),
    };
    deliver(context, db, outgoing).await
}

/// Sends the mails of a change of address.
pub(crate) async fn send_email_change(
    context: &RequestContext,
    db: &mut impl Queries,
    change: EmailChange<'_>,
) -> Result<(), AuthError> {
    let to_new = change.new_email;
    let data = data::of_change(context, &change, to_new, &change.new);
    let mut mails = vec![(to_new, data)];
    if let Some(current) = &change.current {
        let to = change.user.email.as_str();
        mails.push((to, data::of_change(context, &change, to, current)));
    }
    let outgoing = Outgoing {
        kind: Kind::EmailChange,
        user: change.user,
        mails,
        new_email: Some(to_new),
        for_hook: EmailData::of_change(context, &change),
    };
    deliver(context, db, outgoing).await
}

/// Sends a notification to `to`; a failure is only logged.
pub(crate) async fn notify(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    to: &str,
    notification: Notification<'_>,
) {
    let kind = Kind::from(&notification);
    let mut wanted = context.config.mail.notifications.iter();
    if to.is_empty() || !wanted.any(|name| name == kind.switch()) {
        return;
    }
    let outgoing = Outgoing {
        kind,
        user,
        mails: vec![(to, data::of_notification(context, user, to, &notification))],
        new_email: None,
        for_hook: EmailData::of_notification(context, &notification),
    };
    let savepoint = Savepoint::set(db).await;
    if let Err(error) = deliver(context, db, outgoing).await {
        let template = kind.template();
        // Not the error's text, which may contain the address.
        let reason = error.cause().unwrap_or(error.code().as_str());
        tracing::warn!(template, user.id = %user.id, "notification mail {template} was not sent: {reason}");
        _ = savepoint.roll_back(db).await;
    }
}

/// The link in a mail of this kind (§7.2), also for `generate_link`.
pub(crate) fn link(
    context: &RequestContext,
    path_of: &str,
    verification_type: &str,
    token_hash: &str,
    redirect_to: &str,
) -> String {
    let parts = link::Parts {
        path_of,
        verification_type,
        token_hash,
        redirect_to,
    };
    link::build(context, &parts)
}
