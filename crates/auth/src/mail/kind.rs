//! Which mails there are.

use super::{LetterKind, Notice};

/// A mail, by the template that it is made from (auth contract §7.2).
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
    /// As settings and headers name it.
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

    /// As the send-email hook names it.
    pub(super) fn action(self) -> &'static str {
        match self {
            Self::Confirmation => "signup",
            Self::MagicLink => "magiclink",
            other => other.template(),
        }
    }

    /// What the caller learns when it cannot be sent.
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

    /// The name under which a notice is switched on.
    pub(super) fn switch(self) -> &'static str {
        self.template().trim_end_matches("_notification")
    }
}

impl From<LetterKind> for Kind {
    fn from(kind: LetterKind) -> Self {
        match kind {
            LetterKind::Confirmation => Self::Confirmation,
            LetterKind::Recovery => Self::Recovery,
            LetterKind::MagicLink => Self::MagicLink,
            LetterKind::Invite => Self::Invite,
            LetterKind::Reauthentication => Self::Reauthentication,
        }
    }
}

impl From<&Notice<'_>> for Kind {
    fn from(notice: &Notice<'_>) -> Self {
        match notice {
            Notice::PasswordChanged => Self::PasswordChanged,
            Notice::EmailChanged { .. } => Self::EmailChanged,
            Notice::PhoneChanged { .. } => Self::PhoneChanged,
            Notice::IdentityLinked { .. } => Self::IdentityLinked,
            Notice::IdentityUnlinked { .. } => Self::IdentityUnlinked,
            Notice::FactorEnrolled { .. } => Self::FactorEnrolled,
            Notice::FactorUnenrolled { .. } => Self::FactorUnenrolled,
        }
    }
}
