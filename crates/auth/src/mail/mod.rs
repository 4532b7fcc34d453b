//! Mail: letters, their words and their way out (auth contract §7).
//!
//! A letter is checked against the limits, offered to the project's send-email hook, filled in
//! (`template/`, `words.rs`, `sources.rs`) and delivered: by the project's mail server, or into the
//! development mailbox where there is none.

mod data;
mod deliver;
mod dns;
mod hook;
mod kind;
mod link;
mod mailbox;
mod message;
mod reading;
mod recipient;
mod smtp;
mod sources;
pub(crate) mod template;
mod words;

use plinth_db::Queries;

use crate::{AuthError, model::User, request::Context};

use deliver::{Outgoing, deliver};
use hook::EmailData;
use kind::Kind;

/// What the service remembers of a project's mail.
#[derive(Default)]
pub(crate) struct MailState {
    templates: sources::Fetched,
    server: smtp::Server,
}

/// A letter that carries a one-time token.
#[derive(Debug, Clone)]
pub(crate) struct Letter<'a> {
    pub(crate) kind: LetterKind,
    pub(crate) user: &'a User,
    /// The address it goes to.
    pub(crate) to: &'a str,
    pub(crate) otp: &'a str,
    /// With its prefix in flows that end in a code exchange.
    pub(crate) token_hash: &'a str,
    /// Where the link ends; resolved already.
    pub(crate) redirect_to: &'a str,
}

/// Which letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterKind {
    Confirmation,
    Recovery,
    MagicLink,
    Invite,
    Reauthentication,
}

/// The two letters of a change of address, or the one.
#[derive(Debug, Clone)]
pub(crate) struct EmailChange<'a> {
    pub(crate) user: &'a User,
    pub(crate) new_email: &'a str,
    pub(crate) new: Token<'a>,
    /// To the present address, where both must agree.
    pub(crate) current: Option<Token<'a>>,
    pub(crate) redirect_to: &'a str,
}

/// Digits, and the hash by which the link finds them.
#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) otp: &'a str,
    pub(crate) hash: &'a str,
}

/// News for the account's owner, sent only where the project wants it.
#[derive(Debug, Clone)]
pub(crate) enum Notice<'a> {
    PasswordChanged,
    EmailChanged { old_email: &'a str },
    PhoneChanged { old_phone: &'a str },
    IdentityLinked { provider: &'a str },
    IdentityUnlinked { provider: &'a str },
    FactorEnrolled { factor_type: &'a str },
    FactorUnenrolled { factor_type: &'a str },
}

/// Sends a letter; its failure is the request's.
pub(crate) async fn send(
    context: &Context,
    db: &mut impl Queries,
    letter: Letter<'_>,
) -> Result<(), AuthError> {
    let outgoing = Outgoing {
        kind: letter.kind.into(),
        user: letter.user,
        letters: vec![(letter.to, data::of_letter(context, &letter))],
        new_email: None,
        for_hook: EmailData::of_letter(context, &letter),
    };
    deliver(context, db, outgoing).await
}

/// Sends the letters of a change of address.
pub(crate) async fn send_email_change(
    context: &Context,
    db: &mut impl Queries,
    change: EmailChange<'_>,
) -> Result<(), AuthError> {
    let to_new = change.new_email;
    let data = data::of_change(context, &change, to_new, &change.new);
    let mut letters = vec![(to_new, data)];
    if let Some(current) = &change.current {
        let to = change.user.email.as_str();
        letters.push((to, data::of_change(context, &change, to, current)));
    }
    let outgoing = Outgoing {
        kind: Kind::EmailChange,
        user: change.user,
        letters,
        new_email: Some(to_new),
        for_hook: EmailData::of_change(context, &change),
    };
    deliver(context, db, outgoing).await
}

/// Sends a notice to `to`; a failure is logged and nothing more.
pub(crate) async fn notify(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    to: &str,
    notice: Notice<'_>,
) {
    let kind = Kind::from(&notice);
    let mut wanted = context.config.mail.notifications.iter();
    if to.is_empty() || !wanted.any(|name| name == kind.switch()) {
        return;
    }
    let outgoing = Outgoing {
        kind,
        user,
        letters: vec![(to, data::of_notice(context, user, to, &notice))],
        new_email: None,
        for_hook: EmailData::of_notice(context, &notice),
    };
    // What fails in Postgres ends the transaction that the notice is only a part of.
    let is_guarded = db.execute("savepoint notice", &[]).await.is_ok();
    if let Err(error) = deliver(context, db, outgoing).await {
        let template = kind.template();
        // Not its text, which may name the address.
        let reason = error.cause().unwrap_or(error.code().as_str());
        tracing::warn!(template, user.id = %user.id, "the notice {template} was not sent: {reason}");
        if is_guarded {
            _ = db.execute("rollback to savepoint notice", &[]).await;
        }
    }
}

/// The link that a letter of this kind contains (§7.2), also for `generate_link`.
pub(crate) fn link(
    context: &Context,
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
