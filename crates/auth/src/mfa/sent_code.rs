//! Factors that are a phone: a code by text message.

use plinth_db::Queries;
use subtle::ConstantTimeEq;

use super::store::Challenge;
use crate::{
    AuthError,
    error::Code,
    model::{Factor, User},
    random,
    request::Context,
    sms::{self, Channel, Message},
};

/// Refuses a message that follows the last one too soon.
pub(super) fn check_interval(context: &Context, factor: &Factor) -> Result<(), AuthError> {
    let Some(last) = factor.last_challenged_at else {
        return Ok(());
    };
    let left = last + context.config.mfa.by_phone.min_interval - context.now;
    if left.is_negative() {
        return Ok(());
    }
    Err(AuthError::new(
        429,
        Code::OverSmsSendRateLimit,
        format!(
            "For security purposes, you can only request this after {} seconds.",
            left.whole_seconds().max(1)
        ),
    ))
}

pub(super) fn new(context: &Context) -> String {
    random::digits(context.config.mfa.by_phone.otp_length)
}

pub(super) async fn send(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    factor: &Factor,
    otp: &str,
    channel: Channel,
) -> Result<(), AuthError> {
    let message = Message {
        user,
        phone: &factor.phone,
        otp,
        channel,
        is_mfa: true,
    };
    sms::send(context, db, message).await?;
    Ok(())
}

/// Whether it is the code that was sent; where the provider makes the codes, the provider knows.
pub(super) async fn is_right(
    context: &Context,
    factor: &Factor,
    challenge: &Challenge,
    code: &str,
) -> Result<bool, AuthError> {
    match sms::check_at_provider(context, &factor.phone, code).await? {
        Some(true) => Ok(true),
        Some(false) => Err(AuthError::new(
            403,
            Code::OtpExpired,
            "Token has expired or is invalid",
        )),
        None => {
            let sent = challenge.otp.as_deref().unwrap_or_default();
            Ok(!sent.is_empty() && sent.as_bytes().ct_eq(code.as_bytes()).into())
        }
    }
}
