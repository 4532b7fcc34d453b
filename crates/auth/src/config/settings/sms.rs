//! Text messages.

use plinth_settings::{
    Settings,
    keys::{auth_sms, plinth_auth},
};
use plinth_token::Secret;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{duration, owned, seconds, secret, written_url};
use crate::config::{SmsConfig, SmsProvider, TestNumbers, otp_length};

pub(super) fn read(settings: &Settings) -> SmsConfig {
    SmsConfig {
        is_autoconfirmed: !settings.get(auth_sms::ENABLE_CONFIRMATIONS),
        min_interval: duration(settings, auth_sms::MAX_FREQUENCY),
        otp_lifetime: seconds(settings, auth_sms::OTP_EXPIRY),
        otp_length: otp_length(settings.get(auth_sms::OTP_LENGTH)),
        template: settings.get(auth_sms::TEMPLATE).to_owned(),
        test_numbers: TestNumbers::new(
            settings.get(auth_sms::TEST_OTP).clone(),
            valid_until(settings),
        ),
        provider: provider(settings),
    }
}

fn valid_until(settings: &Settings) -> Option<OffsetDateTime> {
    let text = settings.get(plinth_auth::SMS_TEST_OTP_VALID_UNTIL)?;
    match OffsetDateTime::parse(text, &Rfc3339) {
        Ok(time) => Some(time),
        Err(_) => {
            tracing::warn!(
                "plinth.auth.sms.test_otp_valid_until: {text:?} is not a time such as \
                 2030-01-31T12:00:00Z; test codes are disabled"
            );
            Some(OffsetDateTime::UNIX_EPOCH)
        }
    }
}

/// The first enabled provider, in the order of the Supabase CLI. The settings tree has checked that
/// it is complete.
fn provider(settings: &Settings) -> Option<SmsProvider> {
    let text = |key| owned(settings, key);
    let secret = |key| secret(settings, key);
    let base_url = |own: &str| {
        written_url(settings, plinth_auth::SMS_BASE_URL).unwrap_or_else(|| own.to_owned())
    };
    if settings.get(auth_sms::TWILIO_ENABLED) {
        return Some(SmsProvider::Twilio {
            base_url: base_url(SmsProvider::TWILIO_URL),
            account_sid: text(auth_sms::TWILIO_ACCOUNT_SID)?,
            auth_token: secret(auth_sms::TWILIO_AUTH_TOKEN)?,
            message_service_sid: text(auth_sms::TWILIO_MESSAGE_SERVICE_SID)?,
            content_sid: text(auth_sms::TWILIO_CONTENT_SID),
        });
    }
    if settings.get(auth_sms::TWILIO_VERIFY_ENABLED) {
        return Some(SmsProvider::TwilioVerify {
            base_url: base_url(SmsProvider::TWILIO_VERIFY_URL),
            account_sid: text(auth_sms::TWILIO_VERIFY_ACCOUNT_SID)?,
            auth_token: secret(auth_sms::TWILIO_VERIFY_AUTH_TOKEN)?,
            message_service_sid: text(auth_sms::TWILIO_VERIFY_MESSAGE_SERVICE_SID)?,
        });
    }
    if settings.get(auth_sms::MESSAGEBIRD_ENABLED) {
        return Some(SmsProvider::MessageBird {
            base_url: base_url(SmsProvider::MESSAGEBIRD_URL),
            access_key: secret(auth_sms::MESSAGEBIRD_ACCESS_KEY)?,
            originator: text(auth_sms::MESSAGEBIRD_ORIGINATOR)?,
        });
    }
    if settings.get(auth_sms::TEXTLOCAL_ENABLED) {
        return Some(SmsProvider::Textlocal {
            base_url: base_url(SmsProvider::TEXTLOCAL_URL),
            api_key: secret(auth_sms::TEXTLOCAL_API_KEY)?,
            sender: text(auth_sms::TEXTLOCAL_SENDER)?,
        });
    }
    if settings.get(auth_sms::VONAGE_ENABLED) {
        return Some(SmsProvider::Vonage {
            base_url: base_url(SmsProvider::VONAGE_URL),
            api_key: Secret::new(text(auth_sms::VONAGE_API_KEY)?),
            api_secret: secret(auth_sms::VONAGE_API_SECRET)?,
            from: text(auth_sms::VONAGE_FROM)?,
        });
    }
    None
}
