//! Mail: letters, their words and their way out (auth contract §7).

use plinth_db::Queries;

use crate::{AuthError, model::User, request::Context};

/// What the service remembers of a project's mail.
#[derive(Default)]
pub(crate) struct MailState;

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
    _context: &Context,
    _db: &mut impl Queries,
    _letter: Letter<'_>,
) -> Result<(), AuthError> {
    Ok(())
}

/// Sends the letters of a change of address.
pub(crate) async fn send_email_change(
    _context: &Context,
    _db: &mut impl Queries,
    _change: EmailChange<'_>,
) -> Result<(), AuthError> {
    Ok(())
}

/// Sends a notice to `to`; a failure is logged and nothing more.
pub(crate) async fn notify(
    _context: &Context,
    _db: &mut impl Queries,
    _user: &User,
    _to: &str,
    _notice: Notice<'_>,
) {
}

/// The link that a letter of this kind contains (§7.2), also for `generate_link`.
pub(crate) fn link(
    context: &Context,
    _path_of: &str,
    verification_type: &str,
    token_hash: &str,
    redirect_to: &str,
) -> String {
    format!(
        "{}/verify?token={token_hash}&type={verification_type}&redirect_to={redirect_to}",
        context.external_url
    )
}
