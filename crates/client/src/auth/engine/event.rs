//! What happens to a session (client contract S36).

/// Something that happened to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthEvent {
    /// What was stored when the listener came. Every listener gets it once.
    InitialSession,
    /// Somebody signed in, or a stored session was found to be good. May come more than once.
    SignedIn,
    /// The session is gone.
    SignedOut {
        /// Why.
        reason: SignOutReason,
    },
    /// New tokens replaced the old ones.
    TokenRefreshed,
    /// The user's data changed.
    UserUpdated,
    /// The user came by a recovery link; ask for a new password.
    PasswordRecovery,
    /// A second factor was shown.
    MfaChallengeVerified,
}

/// Why a session is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignOutReason {
    /// Signed out.
    User,
    /// The session had ended and could not be refreshed.
    Expired,
    /// The server has ended the session.
    Revoked,
    /// What was stored was no session.
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
