//! Settings of text messages.

use std::{collections::BTreeMap, fmt, time::Duration};

use plinth_token::Secret;
use time::OffsetDateTime;

use crate::contact;

/// `SMS_*`
#[derive(Debug, Clone)]
pub(crate) struct SmsConfig {
    /// Numbers count as confirmed at once. `SMS_AUTOCONFIRM`
    pub(crate) is_autoconfirmed: bool,
    /// `SMS_MAX_FREQUENCY`
    pub(crate) min_interval: Duration,
    /// `SMS_OTP_EXP`
    pub(crate) otp_lifetime: Duration,
    /// `SMS_OTP_LENGTH`
    pub(crate) otp_length: usize,
    /// `SMS_TEMPLATE`
    pub(crate) template: String,
    /// `SMS_TEST_OTP`
    pub(crate) test_numbers: TestNumbers,
    /// `SMS_PROVIDER` and its settings; `None`: no messages can be sent.
    pub(crate) provider: Option<SmsProvider>,
}

/// Test numbers with a fixed code, to which nothing is sent.
#[derive(Clone, Default)]
pub(crate) struct TestNumbers {
    /// Code by number, without `+`.
    pub(crate) codes: BTreeMap<String, String>,
    /// `SMS_TEST_OTP_VALID_UNTIL`
    pub(crate) valid_until: Option<OffsetDateTime>,
}

/// Without the codes.
impl fmt::Debug for TestNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestNumbers")
            .field("phones", &self.codes.keys())
            .field("valid_until", &self.valid_until)
            .finish()
    }
}

impl TestNumbers {
    /// Numbers may be written with `+` and spaces.
    pub(crate) fn new(
        codes: impl IntoIterator<Item = (String, String)>,
        valid_until: Option<OffsetDateTime>,
    ) -> Self {
        let codes = codes.into_iter();
        Self {
            codes: codes
                .map(|(phone, code)| (contact::bare_phone(&phone), code))
                .collect(),
            valid_until,
        }
    }

    /// The fixed code of this number, if it has one now.
    pub(crate) fn code(&self, phone: &str, now: OffsetDateTime) -> Option<&str> {
        let is_valid = self.valid_until.is_none_or(|until| now < until);
        self.codes
            .get(phone)
            .filter(|_| is_valid)
            .map(String::as_str)
    }
}

/// The SMS provider. `base_url` is its own, except in tests.
#[derive(Debug, Clone)]
pub(crate) enum SmsProvider {
    Twilio {
        base_url: String,
        account_sid: String,
        auth_token: Secret,
        message_service_sid: String,
        content_sid: Option<String>,
    },
    /// Generates and checks the codes itself.
    TwilioVerify {
        base_url: String,
        account_sid: String,
        auth_token: Secret,
        message_service_sid: String,
    },
    MessageBird {
        base_url: String,
        access_key: Secret,
        originator: String,
    },
    Textlocal {
        base_url: String,
        api_key: Secret,
        sender: String,
    },
    Vonage {
        base_url: String,
        api_key: Secret,
        api_secret: Secret,
        from: String,
    },
}

impl SmsProvider {
    pub(crate) const TWILIO_URL: &str = "https://api.twilio.com";
    pub(crate) const TWILIO_VERIFY_URL: &str = "https://verify.twilio.com";
    pub(crate) const MESSAGEBIRD_URL: &str = "https://rest.messagebird.com";
    pub(crate) const TEXTLOCAL_URL: &str = "https://api.textlocal.in";
    pub(crate) const VONAGE_URL: &str = "https://rest.nexmo.com";

    /// As it stands in settings and in `/settings`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Twilio { .. } => "twilio",
            Self::TwilioVerify { .. } => "twilio_verify",
            Self::MessageBird { .. } => "messagebird",
            Self::Textlocal { .. } => "textlocal",
            Self::Vonage { .. } => "vonage",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_provider_shows_neither_key_nor_secret() {
        let vonage = SmsProvider::Vonage {
            base_url: SmsProvider::VONAGE_URL.to_owned(),
            api_key: Secret::new("open"),
            api_secret: Secret::new("sesame"),
            from: "me".to_owned(),
        };

        let printed = format!("{vonage:?}");

        assert!(printed.contains("api_key: ***"), "{printed}");
        assert!(
            !printed.contains("open") && !printed.contains("sesame"),
            "{printed}"
        );
    }
}
