//! Text messages (auth contract §7.5).
//!
//! A message is limited, offered to the project's send-sms hook, and given to the provider that
//! the settings name. What each provider wants to be asked, and how it answers, is a row of
//! `provider.rs`.

mod call;
mod provider;
mod words;

use plinth_db::Queries;
use serde_json::json;

use crate::{
    AuthError,
    config::SmsProvider,
    error::Code,
    hooks,
    model::{Object, User, users},
    rate_limit::{Sending, check_sending},
    request::Context,
};

/// What stands for the provider's name of a message to a test number, which nobody sends.
const TEST_MESSAGE: &str = "test-otp";

/// How a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Sms,
    WhatsApp,
}

impl Channel {
    /// Of a request; empty is SMS. Refuses what the provider cannot do; a hook does what it likes.
    pub(crate) fn parse(context: &Context, text: &str) -> Result<Self, AuthError> {
        let is_hooked = context.config.hooks.send_sms.is_some();
        let channel = match text {
            "" | "sms" => Some(Self::Sms),
            "whatsapp" if is_hooked || can_whatsapp(context) => Some(Self::WhatsApp),
            _ if is_hooked => Some(Self::Sms),
            _ => None,
        };
        channel.ok_or_else(|| {
            AuthError::invalid(
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

fn can_whatsapp(context: &Context) -> bool {
    matches!(
        context.config.sms.provider,
        Some(SmsProvider::Twilio { .. } | SmsProvider::TwilioVerify { .. })
    )
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
///
/// Numbers with a fixed code get none, unless it is for a second factor. Those messages are limited
/// by the factor alone.
pub(crate) async fn send(
    context: &Context,
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
        return Err(AuthError::internal(
            "Unable to get SMS provider",
            "no SMS provider is configured",
        ));
    };
    let text = words::fill_in(context, &message);
    let request = provider::message(provider, &message, &text);
    let answer = call::send(context, request).await;
    let answer = answer.and_then(|answer| provider::message_id(provider, &answer));
    answer.map(Some).map_err(|reason| {
        let text = format!("Error sending OTP to provider: {reason}");
        AuthError::new(422, Code::SmsSendFailed, text)
    })
}

/// What the send-sms hook is told (§9).
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

/// Asks the provider whether the code is right, where it is the provider that makes codes;
/// `None` where we do. No answer is a wrong code.
pub(crate) async fn check_at_provider(
    context: &Context,
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
        Ok(answer) => Ok(Some(provider::is_approved(&answer))),
        Err(reason) => {
            tracing::warn!("the SMS provider did not check a code: {reason}");
            Ok(Some(false))
        }
    }
}
