//! Mail: letters, their words and their way out (auth contract §7).
//!
//! A letter is checked against the limits, offered to the project's send-email hook, filled in
//! (`template/`, `words.rs`, `sources.rs`) and delivered: by the project's mail server, or into the
//! development mailbox where there is none.

mod data;
mod deliver;
mod kind;
mod link;
mod mailbox;
mod message;
mod reading;
mod sources;
pub(crate) mod template;
mod words;

use plinth_db::Queries;
use serde_json::Value;

use crate::{AuthError, model::User, request::Context};

use kind::Kind;

/// What the service remembers of a project's mail.
#[derive(Default)]
pub(crate) struct MailState {
    templates: sources::Fetched,
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
    let kind = Kind::from(letter.kind);
    let data = data::of_letter(context, &letter);
    deliver::deliver(context, db, kind, &[(letter.to, data)]).await
}

/// Sends the letters of a change of address.
pub(crate) async fn send_email_change(
    context: &Context,
    db: &mut impl Queries,
    change: EmailChange<'_>,
) -> Result<(), AuthError> {
    let mut letters: Vec<(&str, Value)> = Vec::with_capacity(2);
    let data = data::of_change(context, &change, change.new_email, &change.new);
    letters.push((change.new_email, data));
    if let Some(current) = &change.current {
        let to = change.user.email.as_str();
        letters.push((to, data::of_change(context, &change, to, current)));
    }
    deliver::deliver(context, db, Kind::EmailChange, &letters).await
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
    let is_wanted = context
        .config
        .mail
        .notifications
        .iter()
        .any(|name| name == kind.switch());
    if to.is_empty() || !is_wanted {
        return;
    }
    let data = data::of_notice(context, user, to, &notice);
    if let Err(error) = deliver::deliver(context, db, kind, &[(to, data)]).await {
        let template = kind.template();
        tracing::warn!(template, user.id = %user.id, "the notice {template} was not sent: {error}");
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
