//! `[auth.sms]`: sign-in by phone and who delivers the messages.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{AT_LEAST_ONE, COUNT};
use crate::key::Key;
use crate::value::Secret;

keys! {
    /// Allow sign-up and sign-in by phone.
    pub const ENABLE_SIGNUP: Key<bool> = flag("auth.sms.enable_signup", false);

    /// Require a confirmed phone number before the first sign-in.
    pub const ENABLE_CONFIRMATIONS: Key<bool> = flag("auth.sms.enable_confirmations", false);

    /// Text of the SMS with the code.
    pub const TEMPLATE: Key<String> = text("auth.sms.template", "Your code is {{ .Code }}");

    /// Minimum interval between two SMS to the same user.
    pub const MAX_FREQUENCY: Key<Duration> = duration("auth.sms.max_frequency", "5s");

    /// Number of digits of one-time codes sent by SMS, from 6 to 10; otherwise 6.
    pub const OTP_LENGTH: Key<usize> = integer("auth.sms.otp_length", AT_LEAST_ONE, 6);

    /// Lifetime of one-time codes sent by SMS, in seconds.
    pub const OTP_EXPIRY: Key<u64> = integer("auth.sms.otp_expiry", COUNT, 60);

    /// Send SMS through Twilio.
    pub const TWILIO_ENABLED: Key<bool> = flag("auth.sms.twilio.enabled", false);

    /// Twilio account SID.
    pub const TWILIO_ACCOUNT_SID: Key<Option<String>> =
        optional_text("auth.sms.twilio.account_sid");

    /// Twilio messaging service SID.
    pub const TWILIO_MESSAGE_SERVICE_SID: Key<Option<String>> =
        optional_text("auth.sms.twilio.message_service_sid");

    /// Twilio content template SID.
    pub const TWILIO_CONTENT_SID: Key<Option<String>> =
        optional_text("auth.sms.twilio.content_sid");

    /// Twilio auth token.
    pub const TWILIO_AUTH_TOKEN: Key<Option<Secret>> = secret("auth.sms.twilio.auth_token");

    /// Verify phone numbers through Twilio Verify.
    pub const TWILIO_VERIFY_ENABLED: Key<bool> = flag("auth.sms.twilio_verify.enabled", false);

    /// Twilio account SID.
    pub const TWILIO_VERIFY_ACCOUNT_SID: Key<Option<String>> =
        optional_text("auth.sms.twilio_verify.account_sid");

    /// Twilio Verify service SID.
    pub const TWILIO_VERIFY_MESSAGE_SERVICE_SID: Key<Option<String>> =
        optional_text("auth.sms.twilio_verify.message_service_sid");

    /// Twilio auth token.
    pub const TWILIO_VERIFY_AUTH_TOKEN: Key<Option<Secret>> =
        secret("auth.sms.twilio_verify.auth_token");

    /// Send SMS through MessageBird.
    pub const MESSAGEBIRD_ENABLED: Key<bool> = flag("auth.sms.messagebird.enabled", false);

    /// Sender name or number.
    pub const MESSAGEBIRD_ORIGINATOR: Key<Option<String>> =
        optional_text("auth.sms.messagebird.originator");

    /// MessageBird access key.
    pub const MESSAGEBIRD_ACCESS_KEY: Key<Option<Secret>> =
        secret("auth.sms.messagebird.access_key");

    /// Send SMS through Textlocal.
    pub const TEXTLOCAL_ENABLED: Key<bool> = flag("auth.sms.textlocal.enabled", false);

    /// Sender name or number.
    pub const TEXTLOCAL_SENDER: Key<Option<String>> = optional_text("auth.sms.textlocal.sender");

    /// Textlocal API key.
    pub const TEXTLOCAL_API_KEY: Key<Option<Secret>> = secret("auth.sms.textlocal.api_key");

    /// Send SMS through Vonage.
    pub const VONAGE_ENABLED: Key<bool> = flag("auth.sms.vonage.enabled", false);

    /// Sender name or number.
    pub const VONAGE_FROM: Key<Option<String>> = optional_text("auth.sms.vonage.from");

    /// Vonage API key.
    pub const VONAGE_API_KEY: Key<Option<String>> = optional_text("auth.sms.vonage.api_key");

    /// Vonage API secret.
    pub const VONAGE_API_SECRET: Key<Option<Secret>> = secret("auth.sms.vonage.api_secret");

    /// Phone numbers with a fixed one-time code, for tests; no SMS is sent to them.
    pub const TEST_OTP: Key<BTreeMap<String, String>> = table("auth.sms.test_otp");
}
