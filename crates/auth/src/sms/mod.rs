//! Text messages (auth contract §7.5).
//!
//! A message passes the rate limit, then goes to the send-sms hook or to the configured provider.
//! The formats of the providers are in `provider.rs`.

mod call;
mod provider;
mod text;

use plinth_db::Queries;
use serde_json::json;

use crate::{
    AuthError,
    config::SmsProvider,
    hooks,
    model::{Object, User, users},
    rate_limit::{Sending, check_sending},
    request::RequestContext,
};

/// The message id for test numbers, to which nothing is sent.
const TEST_MESSAGE: &str = "test-otp";

/// SMS or WhatsApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Sms,
    WhatsApp,
}

impl Channel {
    /// Parses the request's channel; empty is SMS. Rejects channels that the provider does not
    /// support, unless a hook sends.
    pub(crate) fn parse(context: &RequestContext, text: &str) -> Result<Self, AuthError> {
        let is_hooked = context.config.hooks.send_sms.is_some();
        let channel = match text {
            "" | "sms" => Some(Self::Sms),
            "whatsapp" if is_hooked || can_whatsapp(context) => Some(Self::WhatsApp),
            _ if is_hooked => Some(Self::Sms),
            _ => None,
        };
        channel.ok_or_else(|| {
            AuthError::validation_failed(
                "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only \
                 supported if Twilio or Twilio Verify is used as the provider.",
            )
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Sms => "sms",
            Self::WhatsApp => "whatsapp",
        }
    }
}

fn can_whatsapp(context: &RequestContext) -> bool {
    matches!(
        context.config.sms.provider,
        Some(SmsProvider::Twilio { .. } | SmsProvider::TwilioVerify { .. })
    )
}

/// A message with a code.
#[derive(Clone)]
pub(crate) struct Message<'a> {
    pub(crate) user: &'a User,
    /// Without `+`.
    pub(crate) phone: &'a str,
    pub(crate) otp: &'a str,
    pub(crate) channel: Channel,
    /// Whether the code belongs to a second factor.
    pub(crate) is_mfa: bool,
}

/// Sends a message and returns the provider's message id.
///
/// Nothing is sent to test numbers, unless the code is for a second factor. Messages for second
/// factors have the factor's own limit only.
pub(crate) async fn send(
    context: &RequestContext,
    db: &mut impl Queries,
    message: Message<'_>,
) -> Result<Option<String>, AuthError> {
    let config = &context.config.sms;
    if !message.is_mfa {
        let fixed = config.test_numbers.code(message.phone, context.now);
        if fixed.is_some() {
            return Ok(Some(TEST_MESSAGE.to_owned()));
        }
        check_sending(context, Sending::Sms)?;
    }
    if context.config.hooks.send_sms.is_some() {
        let payload = hook_payload(db, &message).await?;
        if hooks::send_sms(context, db, payload).await? {
            return Ok(None);
        }
    }
    let Some(provider) = &config.provider else {
        return Err(AuthError::sms_provider_missing());
    };
    let text = text::render_message(context, &message);
    let request = provider::message(provider, &message, &text);
    let response = call::send(context, request).await;
    let response = response.and_then(|response| provider::message_id(provider, &response));
    response
        .map(Some)
        .map_err(|reason| AuthError::sms_send_failed(&reason))
}

/// The payload of the send-sms hook (§9).
async fn hook_payload(db: &mut impl Queries, message: &Message<'_>) -> Result<Object, AuthError> {
    let user = users::load_body(db, message.user.clone()).await?;
    let mut sms = json!({ "otp": message.otp, "phone": message.phone });
    if message.is_mfa {
        sms["sms_type"] = "mfa".into();
    }
    Ok(Object::from_iter([
        ("user".to_owned(), json!(user)),
        ("sms".to_owned(), sms),
    ]))
}

/// Lets the provider check the code, if it generates codes; `None` otherwise. No response counts as
/// a wrong code.
pub(crate) async fn check_at_provider(
    context: &RequestContext,
    phone: &str,
    code: &str,
) -> Result<Option<bool>, AuthError> {
    let config = &context.config;
    let Some(provider @ SmsProvider::TwilioVerify { .. }) = &config.sms.provider else {
        return Ok(None);
    };
    if config.hooks.send_sms.is_some() {
        return Ok(None);
    }
    let Some(request) = provider::check(provider, phone, code) else {
        return Ok(None);
    };
    match call::send(context, request).await {
        Ok(response) => Ok(Some(provider::is_approved(&response))),
        Err(reason) => {
            tracing::warn!("SMS provider failed to check a code: {reason}");
            Ok(Some(false))
        }
    }
}
