//! `[auth.sms]`: sign-in by phone and who delivers the messages.

use super::{AT_LEAST_ONE, COUNT};
use crate::key::{Key, duration, flag, integer, optional_text, secret, table, text};

pub(super) const KEYS: &[Key] = &[
    flag(
        "auth.sms.enable_signup",
        false,
        "Let people sign up and in by phone.",
    ),
    flag(
        "auth.sms.enable_confirmations",
        false,
        "Confirm the number before the first sign-in.",
    ),
    text(
        "auth.sms.template",
        "Your code is {{ .Code }}",
        "Text of the message with the code.",
    ),
    duration(
        "auth.sms.max_frequency",
        "5s",
        "Shortest time between two messages to a person.",
    ),
    integer(
        "auth.sms.otp_length",
        AT_LEAST_ONE,
        6,
        "Digits of a code sent by SMS.",
    ),
    integer(
        "auth.sms.otp_expiry",
        COUNT,
        60,
        "Seconds for which a code sent by SMS is valid.",
    ),
    flag(
        "auth.sms.twilio.enabled",
        false,
        "Send messages through Twilio.",
    ),
    optional_text("auth.sms.twilio.account_sid", "Account at Twilio."),
    optional_text(
        "auth.sms.twilio.message_service_sid",
        "Message service at Twilio.",
    ),
    optional_text("auth.sms.twilio.content_sid", "Content template at Twilio."),
    secret(
        "auth.sms.twilio.auth_token",
        "Token of the account at Twilio.",
    ),
    flag(
        "auth.sms.twilio_verify.enabled",
        false,
        "Check numbers through Twilio Verify.",
    ),
    optional_text("auth.sms.twilio_verify.account_sid", "Account at Twilio."),
    optional_text(
        "auth.sms.twilio_verify.message_service_sid",
        "Verify service at Twilio.",
    ),
    secret(
        "auth.sms.twilio_verify.auth_token",
        "Token of the account at Twilio.",
    ),
    flag(
        "auth.sms.messagebird.enabled",
        false,
        "Send messages through MessageBird.",
    ),
    optional_text("auth.sms.messagebird.originator", "Sender of the messages."),
    secret(
        "auth.sms.messagebird.access_key",
        "Key of the account at MessageBird.",
    ),
    flag(
        "auth.sms.textlocal.enabled",
        false,
        "Send messages through Textlocal.",
    ),
    optional_text("auth.sms.textlocal.sender", "Sender of the messages."),
    secret(
        "auth.sms.textlocal.api_key",
        "Key of the account at Textlocal.",
    ),
    flag(
        "auth.sms.vonage.enabled",
        false,
        "Send messages through Vonage.",
    ),
    optional_text("auth.sms.vonage.from", "Sender of the messages."),
    optional_text("auth.sms.vonage.api_key", "Key of the account at Vonage."),
    secret(
        "auth.sms.vonage.api_secret",
        "Secret of the account at Vonage.",
    ),
    table(
        "auth.sms.test_otp",
        "Numbers with a fixed code, for tests; no message is sent.",
    ),
];
