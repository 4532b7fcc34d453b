//! Session events (client contract S36).

/// A session event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthEvent {
    /// The stored session at the time of subscribing. Every subscriber gets it once.
    InitialSession,
    /// A sign-in, or a stored session was found valid. May be emitted more than once.
    SignedIn,
    /// The session was removed.
    SignedOut {
        /// Why.
        reason: SignOutReason,
    },
    /// The tokens were refreshed.
    TokenRefreshed,
    /// The user was updated.
    UserUpdated,
    /// Password recovery: ask for a new password.
    PasswordRecovery,
    /// A second factor was verified.
    MfaChallengeVerified,
}

/// Why a session was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignOutReason {
    /// The user signed out.
    User,
    /// The session had expired and could not be refreshed.
    Expired,
    /// The server has ended the session.
    Revoked,
    /// The stored value was not a session.
    Invalid,
}

impl AuthEvent {
    /// The name that JavaScript clients give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InitialSession => "INITIAL_SESSION",
            Self::SignedIn => "SIGNED_IN",
            Self::SignedOut { .. } => "SIGNED_OUT",
            Self::TokenRefreshed => "TOKEN_REFRESHED",
            Self::UserUpdated => "USER_UPDATED",
            Self::PasswordRecovery => "PASSWORD_RECOVERY",
            Self::MfaChallengeVerified => "MFA_CHALLENGE_VERIFIED",
        }
    }
}
