//! Text messages (auth contract §7.5).

use plinth_db::Queries;

use crate::{AuthError, model::User, request::Context};

/// How a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Sms,
    WhatsApp,
}

impl Channel {
    /// Of a request; empty is SMS. Refuses what the provider cannot do.
    pub(crate) fn parse(_context: &Context, text: &str) -> Result<Self, AuthError> {
        match text {
            "" | "sms" => Ok(Self::Sms),
            "whatsapp" => Ok(Self::WhatsApp),
            _ => Err(AuthError::invalid("Invalid channel")),
        }
    }
}

/// A message with a code.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    pub(crate) user: &'a User,
    /// Without `+`.
    pub(crate) phone: &'a str,
    pub(crate) otp: &'a str,
    pub(crate) channel: Channel,
    /// Whether the code belongs to a second factor.
    pub(crate) is_mfa: bool,
}

/// Sends a message; gives the provider's name for it.
pub(crate) async fn send(
    _context: &Context,
    _db: &mut impl Queries,
    _message: Message<'_>,
) -> Result<Option<String>, AuthError> {
    Ok(None)
}

/// Asks the provider whether the code is right, where it is the provider that makes codes;
/// `None` where we do.
pub(crate) async fn check_at_provider(
    _context: &Context,
    _phone: &str,
    _code: &str,
) -> Result<Option<bool>, AuthError> {
    Ok(None)
}
