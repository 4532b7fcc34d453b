//! Text messages.

use plinth_settings::Settings;
use plinth_token::Secret;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{count, duration, owned, seconds, secret};
use crate::config::{SmsConfig, SmsProvider, TestNumbers, otp_length};

pub(super) fn read(settings: &Settings) -> SmsConfig {
    SmsConfig {
        is_autoconfirmed: !settings.bool("auth.sms.enable_confirmations"),
        min_interval: duration(settings, "auth.sms.max_frequency"),
        otp_lifetime: seconds(settings, "auth.sms.otp_expiry"),
        otp_length: otp_length(count(settings, "auth.sms.otp_length")),
        template: settings.text("auth.sms.template").to_owned(),
        test_numbers: TestNumbers::new(
            settings.table("auth.sms.test_otp").clone(),
            valid_until(settings),
        ),
        provider: provider(settings),
    }
}

fn valid_until(settings: &Settings) -> Option<OffsetDateTime> {
    let text = settings.opt_text("plinth.auth.sms.test_otp_valid_until")?;
    match OffsetDateTime::parse(text, &Rfc3339) {
        Ok(time) => Some(time),
        Err(_) => {
            tracing::warn!(
                "plinth.auth.sms.test_otp_valid_until: {text:?} is no time such as \
                 2030-01-31T12:00:00Z; the fixed codes do not count"
            );
            Some(OffsetDateTime::UNIX_EPOCH)
        }
    }
}

/// The first one that is switched on, in the order of the official tool. The tree has checked that
/// it is complete.
fn provider(settings: &Settings) -> Option<SmsProvider> {
    let is_on = |name: &str| settings.bool(&format!("auth.sms.{name}.enabled"));
    let text = |path: &str| owned(settings, &format!("auth.sms.{path}"));
    let secret = |path: &str| -> Option<Secret> { secret(settings, &format!("auth.sms.{path}")) };
    let base_url =
        |own: &str| owned(settings, "plinth.auth.sms.base_url").unwrap_or_else(|| own.to_owned());
    if is_on("twilio") {
        return Some(SmsProvider::Twilio {
            base_url: base_url(SmsProvider::TWILIO_URL),
            account_sid: text("twilio.account_sid")?,
            auth_token: secret("twilio.auth_token")?,
            message_service_sid: text("twilio.message_service_sid")?,
            content_sid: text("twilio.content_sid"),
        });
    }
    if is_on("twilio_verify") {
        return Some(SmsProvider::TwilioVerify {
            base_url: base_url(SmsProvider::TWILIO_VERIFY_URL),
            account_sid: text("twilio_verify.account_sid")?,
            auth_token: secret("twilio_verify.auth_token")?,
            message_service_sid: text("twilio_verify.message_service_sid")?,
        });
    }
    if is_on("messagebird") {
        return Some(SmsProvider::MessageBird {
            base_url: base_url(SmsProvider::MESSAGEBIRD_URL),
            access_key: secret("messagebird.access_key")?,
            originator: text("messagebird.originator")?,
        });
    }
    if is_on("textlocal") {
        return Some(SmsProvider::Textlocal {
            base_url: base_url(SmsProvider::TEXTLOCAL_URL),
            api_key: secret("textlocal.api_key")?,
            sender: text("textlocal.sender")?,
        });
    }
    if is_on("vonage") {
        return Some(SmsProvider::Vonage {
            base_url: base_url(SmsProvider::VONAGE_URL),
            api_key: text("vonage.api_key")?,
            api_secret: secret("vonage.api_secret")?,
            from: text("vonage.from")?,
        });
    }
    None
}
