//! Mail, text messages and the one-time tokens that they carry.

use std::fmt::Display;

use super::{AuthError, Code, errors};

errors! {
    otp_expired() => 403 OtpExpired, "Token has expired or is invalid";
    email_link_expired() => 403 OtpExpired, "Email link is invalid or has expired";
    missing_verification_type() => 400 ValidationFailed, "Verify requires a verification type";
    unsupported_verification_type() => 400 ValidationFailed, "Unsupported verification type";
    missing_verification_token() => 400 ValidationFailed,
        "Verify requires a token or a token hash";
    not_an_email_verification_type() => 400 ValidationFailed, "Invalid email verification type";
    /// At `POST /verify`.
    invalid_email_to_verify() => 422 ValidationFailed, "Invalid email format";

    /// The project has sent too many mails.
    over_email_send_rate_limit() => 429 OverEmailSendRateLimit, "email rate limit exceeded";
    /// The project has sent too many text messages.
    over_sms_send_rate_limit() => 429 OverSmsSendRateLimit, "SMS rate limit exceeded";
    /// One user asks for mails too often.
    email_sent_recently(seconds_left: impl Display) => 429 OverEmailSendRateLimit,
        sent_recently(seconds_left);
    /// One user or factor asks for text messages too often.
    sms_sent_recently(seconds_left: impl Display) => 429 OverSmsSendRateLimit,
        sent_recently(seconds_left);

    email_address_not_authorized(address: &str) => 400 EmailAddressNotAuthorized,
        format!("Email address \"{address}\" cannot be used as it is not authorized");
    email_address_invalid(address: &str) => 400 EmailAddressInvalid,
        format!("Email address \"{address}\" is invalid");
    sms_send_failed(reason: &str) => 422 SmsSendFailed,
        format!("Error sending OTP to provider: {reason}");
}

impl AuthError {
    /// No SMS provider is configured.
    pub(crate) fn sms_provider_missing() -> Self {
        Self::internal(
            "Unable to get SMS provider",
            "no SMS provider is configured",
        )
    }
}

fn sent_recently(seconds_left: impl Display) -> String {
    format!("For security purposes, you can only request this after {seconds_left} seconds.")
}
