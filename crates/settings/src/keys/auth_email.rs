//! `[auth.email]`: sign-in by e-mail, the mail server and the mail texts.

use std::path::PathBuf;
use std::time::Duration;

use super::maps::{Map, Members};
use super::{AT_LEAST_ONE, COUNT};
use crate::key::{Key, MemberKey};
use crate::value::Secret;

/// Mails with texts of their own.
pub const TEMPLATES: Map = Map::new("auth.email.template", Members::Any);

/// Notifications that are switched on or have texts of their own.
pub const NOTIFICATIONS: Map = Map::new("auth.email.notification", Members::Any);

keys! {
    /// Allow sign-up and sign-in by email.
    pub const ENABLE_SIGNUP: Key<bool> = flag("auth.email.enable_signup", true);

    /// Confirm a change of email address at both the old and the new address.
    pub const DOUBLE_CONFIRM_CHANGES: Key<bool> = flag("auth.email.double_confirm_changes", true);

    /// Require a confirmed email address before the first sign-in.
    pub const ENABLE_CONFIRMATIONS: Key<bool> = flag("auth.email.enable_confirmations", false);

    /// Require a recent sign-in (reauthentication) to change a password.
    pub const SECURE_PASSWORD_CHANGE: Key<bool> = flag("auth.email.secure_password_change", false);

    /// Require the current password to change it.
    pub const REQUIRE_CURRENT_PASSWORD: Key<bool> =
        flag("auth.email.require_current_password", false);

    /// Minimum interval between two emails to the same user.
    pub const MAX_FREQUENCY: Key<Duration> = duration("auth.email.max_frequency", "1s");

    /// Number of digits of one-time codes sent by email, from 6 to 10; otherwise 6.
    pub const OTP_LENGTH: Key<usize> = integer("auth.email.otp_length", AT_LEAST_ONE, 6);

    /// Lifetime of codes and links sent by email, in seconds.
    pub const OTP_EXPIRY: Key<u64> = integer("auth.email.otp_expiry", COUNT, 3600);

    /// Send emails through an SMTP server.
    pub const SMTP_ENABLED: Key<bool> = flag("auth.email.smtp.enabled", false);

    /// Host of the SMTP server.
    pub const SMTP_HOST: Key<Option<String>> = optional_text("auth.email.smtp.host");

    /// Port of the SMTP server.
    pub const SMTP_PORT: Key<Option<u16>> = optional_port("auth.email.smtp.port");

    /// User name for the SMTP server.
    pub const SMTP_USER: Key<Option<String>> = optional_text("auth.email.smtp.user");

    /// Password for the SMTP server.
    pub const SMTP_PASS: Key<Option<Secret>> = secret("auth.email.smtp.pass");

    /// Sender address.
    pub const SMTP_ADMIN_EMAIL: Key<Option<String>> = optional_text("auth.email.smtp.admin_email");

    /// Sender name.
    pub const SMTP_SENDER_NAME: Key<Option<String>> = optional_text("auth.email.smtp.sender_name");

    /// Subject of this email.
    pub const TEMPLATE_SUBJECT: MemberKey<Option<String>> =
        optional_text("auth.email.template.*.subject");

    /// HTML file with the body of this email.
    pub const TEMPLATE_CONTENT_PATH: MemberKey<Option<PathBuf>> =
        optional_path("auth.email.template.*.content_path");

    /// HTML body of this email, instead of a file.
    pub const TEMPLATE_CONTENT: MemberKey<Option<String>> =
        optional_text("auth.email.template.*.content");

    /// Send this notification.
    pub const NOTIFICATION_ENABLED: MemberKey<bool> =
        flag("auth.email.notification.*.enabled", false);

    /// Subject of this notification.
    pub const NOTIFICATION_SUBJECT: MemberKey<Option<String>> =
        optional_text("auth.email.notification.*.subject");

    /// HTML file with the body of this notification.
    pub const NOTIFICATION_CONTENT_PATH: MemberKey<Option<PathBuf>> =
        optional_path("auth.email.notification.*.content_path");

    /// HTML body of this notification, instead of a file.
    pub const NOTIFICATION_CONTENT: MemberKey<Option<String>> =
        optional_text("auth.email.notification.*.content");
}
