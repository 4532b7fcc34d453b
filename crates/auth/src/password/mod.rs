//! Passwords: what they must be like, how they are kept, how they are checked (auth contract §8.3).

use crate::{AuthError, request::Context};

/// Hashes on a bounded number of threads, off the runtime's own.
pub(crate) struct Hasher;

/// What comparing a password said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) is_match: bool,
    /// The hash is of another kind or cost than new ones are.
    pub(crate) needs_rehash: bool,
}

impl Hasher {
    pub(crate) fn new() -> Self {
        Self
    }

    /// A new hash.
    pub(crate) async fn hash(&self, _password: &str, _cost: u32) -> Result<String, AuthError> {
        Err(AuthError::internal("not there yet", ""))
    }

    /// Compares with a stored hash of any known kind.
    pub(crate) async fn verify(
        &self,
        _hash: &str,
        _password: &str,
        _cost: u32,
    ) -> Result<Verdict, AuthError> {
        Err(AuthError::internal("not there yet", ""))
    }

    /// Takes as long as [`Self::verify`]: for users that do not exist.
    pub(crate) async fn pretend(&self, _password: &str, _cost: u32) -> Result<(), AuthError> {
        Ok(())
    }
}

/// Why a password is too weak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Weakness {
    pub(crate) message: String,
    pub(crate) reasons: Vec<&'static str>,
}

/// Refuses passwords that are too long or too weak (E-PASS).
pub(crate) async fn check_strength(_context: &Context, _password: &str) -> Result<(), AuthError> {
    Ok(())
}

/// Refuses what bcrypt would cut off.
pub(crate) fn check_length(_password: &str) -> Result<(), AuthError> {
    Ok(())
}

/// What is wrong with a password by today's rules.
pub(crate) async fn weakness(
    _context: &Context,
    _password: &str,
) -> Result<Option<Weakness>, AuthError> {
    Ok(None)
}
