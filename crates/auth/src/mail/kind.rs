//! The kinds of mails.

use super::{Notification, TokenMailKind};

/// A mail, by its template (auth contract §7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Confirmation,
    Recovery,
    MagicLink,
    Invite,
    EmailChange,
    Reauthentication,
    PasswordChanged,
    EmailChanged,
    PhoneChanged,
    IdentityLinked,
    IdentityUnlinked,
    FactorEnrolled,
    FactorUnenrolled,
}

impl Kind {
    /// Every kind.
    pub(super) const ALL: [Self; 13] = [
        Self::Confirmation,
        Self::Recovery,
        Self::MagicLink,
        Self::Invite,
        Self::EmailChange,
        Self::Reauthentication,
        Self::PasswordChanged,
        Self::EmailChanged,
        Self::PhoneChanged,
        Self::IdentityLinked,
        Self::IdentityUnlinked,
        Self::FactorEnrolled,
        Self::FactorUnenrolled,
    ];

    /// By its name in settings.
    pub(super) fn from_template(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.template() == name)
    }

    /// Its name in settings.
    pub(crate) fn template(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Recovery => "recovery",
            Self::MagicLink => "magic_link",
            Self::Invite => "invite",
            Self::EmailChange => "email_change",
            Self::Reauthentication => "reauthentication",
            Self::PasswordChanged => "password_changed_notification",
            Self::EmailChanged => "email_changed_notification",
            Self::PhoneChanged => "phone_changed_notification",
            Self::IdentityLinked => "identity_linked_notification",
            Self::IdentityUnlinked => "identity_unlinked_notification",
            Self::FactorEnrolled => "mfa_factor_enrolled_notification",
            Self::FactorUnenrolled => "mfa_factor_unenrolled_notification",
        }
    }

    /// `$messageType` in headers: the template's name, with one exception that GoTrue has.
    pub(super) fn message_type(self) -> &'static str {
        match self {
            Self::Reauthentication => "reauthenticate",
            other => other.template(),
        }
    }

    /// Its name in the payload of the send-email hook.
    pub(super) fn action(self) -> &'static str {
        match self {
            Self::Confirmation => "signup",
            Self::MagicLink => "magiclink",
            other => other.template(),
        }
    }

    /// The text of the error when it cannot be sent.
    pub(super) fn failure(self) -> &'static str {
        match self {
            Self::Confirmation => "Error sending confirmation email",
            Self::Recovery => "Error sending recovery email",
            Self::MagicLink => "Error sending magic link email",
            Self::Invite => "Error sending invite email",
            Self::EmailChange => "Error sending email change email",
            Self::Reauthentication => "Error sending reauthentication email",
            _ => "Error sending notification email",
        }
    }

    /// The name of the setting that enables a notification.
    pub(super) fn switch(self) -> &'static str {
        self.template().trim_end_matches("_notification")
    }
}

impl From<TokenMailKind> for Kind {
    fn from(kind: TokenMailKind) -> Self {
        match kind {
            TokenMailKind::Confirmation => Self::Confirmation,
            TokenMailKind::Recovery => Self::Recovery,
            TokenMailKind::MagicLink => Self::MagicLink,
            TokenMailKind::Invite => Self::Invite,
            TokenMailKind::Reauthentication => Self::Reauthentication,
        }
    }
}

impl From<&Notification<'_>> for Kind {
    fn from(notification: &Notification<'_>) -> Self {
        match notification {
            Notification::PasswordChanged => Self::PasswordChanged,
            Notification::EmailChanged { .. } => Self::EmailChanged,
            Notification::PhoneChanged { .. } => Self::PhoneChanged,
            Notification::IdentityLinked { .. } => Self::IdentityLinked,
            Notification::IdentityUnlinked { .. } => Self::IdentityUnlinked,
            Notification::FactorEnrolled { .. } => Self::FactorEnrolled,
            Notification::FactorUnenrolled { .. } => Self::FactorUnenrolled,
        }
    }
}
