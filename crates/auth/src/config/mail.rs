//! Settings of mail.

use std::{collections::BTreeMap, time::Duration};

use plinth_token::Secret;

/// `MAILER_*`
#[derive(Debug, Clone)]
pub(crate) struct MailConfig {
    /// Addresses count as confirmed at once. `MAILER_AUTOCONFIRM`
    pub(crate) is_autoconfirmed: bool,
    /// `MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS`
    pub(crate) allows_unverified_sign_ins: bool,
    /// A change of address is confirmed at both. `MAILER_SECURE_EMAIL_CHANGE_ENABLED`
    pub(crate) is_change_confirmed_twice: bool,
    /// `MAILER_OTP_EXP`
    pub(crate) otp_lifetime: Duration,
    /// `MAILER_OTP_LENGTH`
    pub(crate) otp_length: usize,
    /// Between two mails of a kind to one user. `SMTP_MAX_FREQUENCY`
    pub(crate) min_interval: Duration,
    /// `MAILER_URLPATHS_*`, by kind of mail (`confirmation`, `recovery`, `invite`,
    /// `email_change`); missing ones are `/verify` below the service.
    pub(crate) paths: BTreeMap<String, String>,
    /// `MAILER_SUBJECTS_*`, by template name.
    pub(crate) subjects: BTreeMap<String, String>,
    /// `MAILER_TEMPLATES_*`, by template name.
    pub(crate) templates: BTreeMap<String, TemplateSource>,
    /// `MAILER_NOTIFICATIONS_*_ENABLED`, by template name without `_notification`.
    pub(crate) notifications: Vec<String>,
    /// Hosts that links may name because a request came through them. `MAILER_EXTERNAL_HOSTS`
    pub(crate) external_hosts: Vec<String>,
    /// `EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES`; empty: all.
    pub(crate) authorized_addresses: Vec<String>,
    /// `MAILER_EMAIL_VALIDATION_EXTENDED`
    pub(crate) is_validation_extended: bool,
    /// `MAILER_EMAIL_VALIDATION_BLOCKED_MX`
    pub(crate) blocked_mail_servers: Vec<String>,
    pub(crate) brand: Brand,
    /// `SMTP_*`; `None`: mails go to the development mailbox.
    pub(crate) smtp: Option<SmtpConfig>,
}

/// Who the default mails come from.
#[derive(Debug, Clone)]
pub(crate) struct Brand {
    /// `[plinth.account] title`
    pub(crate) name: Option<String>,
    /// The colour of buttons. `[plinth.account] accent`
    pub(crate) accent: String,
}

impl Default for Brand {
    fn default() -> Self {
        Self {
            name: None,
            accent: "#1f6f54".to_owned(),
        }
    }
}

/// Where a template comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplateSource {
    /// From the settings, or from a file that they name.
    Text(String),
    /// Fetched and cached.
    Url(String),
}

/// A mail server.
#[derive(Debug, Clone)]
pub(crate) struct SmtpConfig {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    /// `SMTP_ADMIN_EMAIL`
    pub(crate) sender_address: String,
    /// `SMTP_SENDER_NAME`
    pub(crate) sender_name: String,
    /// `SMTP_HEADERS`: further headers, `$messageType` in them is the kind of mail.
    pub(crate) headers: Vec<(String, String)>,
}
