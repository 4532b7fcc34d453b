//! `[auth.email]`: sign-in by e-mail, the mail server and the mail texts.

use super::{AT_LEAST_ONE, COUNT};
use crate::key::{
    Key, duration, flag, integer, optional_path, optional_port, optional_text, secret,
};

pub(super) const KEYS: &[Key] = &[
    flag(
        "auth.email.enable_signup",
        true,
        "Let people sign up and in by e-mail.",
    ),
    flag(
        "auth.email.double_confirm_changes",
        true,
        "Confirm a change of address at the old and the new one.",
    ),
    flag(
        "auth.email.enable_confirmations",
        false,
        "Confirm the address before the first sign-in.",
    ),
    flag(
        "auth.email.secure_password_change",
        false,
        "Ask for a recent sign-in before a password is changed.",
    ),
    flag(
        "auth.email.require_current_password",
        false,
        "Ask for the current password before it is changed.",
    ),
    duration(
        "auth.email.max_frequency",
        "1s",
        "Shortest time between two mails to a person.",
    ),
    integer(
        "auth.email.otp_length",
        AT_LEAST_ONE,
        6,
        "Digits of a code sent by mail.",
    ),
    integer(
        "auth.email.otp_expiry",
        COUNT,
        3600,
        "Seconds for which a mailed code is valid.",
    ),
    flag(
        "auth.email.smtp.enabled",
        false,
        "Send mails through an SMTP server.",
    ),
    optional_text("auth.email.smtp.host", "Host of the SMTP server."),
    optional_port("auth.email.smtp.port", "Port of the SMTP server."),
    optional_text("auth.email.smtp.user", "User name at the SMTP server."),
    secret("auth.email.smtp.pass", "Password at the SMTP server."),
    optional_text("auth.email.smtp.admin_email", "Sender's address."),
    optional_text("auth.email.smtp.sender_name", "Sender's name."),
    optional_text("auth.email.template.*.subject", "Subject of this mail."),
    optional_path(
        "auth.email.template.*.content_path",
        "File with the text of this mail.",
    ),
    optional_text(
        "auth.email.template.*.content",
        "Text of this mail, instead of a file.",
    ),
    flag(
        "auth.email.notification.*.enabled",
        false,
        "Send this notification.",
    ),
    optional_text(
        "auth.email.notification.*.subject",
        "Subject of this notification.",
    ),
    optional_path(
        "auth.email.notification.*.content_path",
        "File with its text.",
    ),
    optional_text(
        "auth.email.notification.*.content",
        "Its text, instead of a file.",
    ),
];
