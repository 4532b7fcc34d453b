//! Phone factors: codes by text message.

use plinth_db::Queries;
use subtle::ConstantTimeEq;

use crate::{
    AuthError,
    model::{Factor, User, mfa_challenges::MfaChallenge},
    random,
    request::RequestContext,
    sms::{self, Channel, Message},
};

/// Rejects a message that follows the last one too soon.
pub(super) fn check_interval(context: &RequestContext, factor: &Factor) -> Result<(), AuthError> {
    let Some(last) = factor.last_challenged_at else {
        return Ok(());
    };
    let left = last + context.config.mfa.by_phone.min_interval - context.now;
    if left.is_negative() {
        return Ok(());
    }
    Err(AuthError::sms_sent_recently(left.whole_seconds().max(1)))
}

pub(super) fn new_code(context: &RequestContext) -> String {
    random::digits(context.config.mfa.by_phone.otp_length)
}

pub(super) async fn send(
    context: &RequestContext,
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

/// Whether the code is correct, checked by the provider where it generates the codes.
pub(super) async fn is_correct(
    context: &RequestContext,
    factor: &Factor,
    challenge: &MfaChallenge,
    code: &str,
) -> Result<bool, AuthError> {
    match sms::check_at_provider(context, &factor.phone, code).await? {
        Some(true) => Ok(true),
        Some(false) => Err(AuthError::otp_expired()),
        None => {
            let sent = challenge.otp.as_deref().unwrap_or_default();
            Ok(!sent.is_empty() && sent.as_bytes().ct_eq(code.as_bytes()).into())
        }
    }
}
