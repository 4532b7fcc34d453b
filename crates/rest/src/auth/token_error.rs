//! Errors of token verification, in PostgREST's wording.
//!
//! It distinguishes three kinds of undecodable tokens: text that is not a token, a token for which
//! there is no key, and one whose signature is wrong.

use plinth_project::CallerError;
use plinth_token::{Algorithm, TokenError};

use crate::RestError;

impl From<TokenError> for RestError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::NoKeys => Self::NoJwtSecret,
            TokenError::Empty => undecodable("Empty JWT is sent in Authorization header"),
            TokenError::NotThreeParts(parts) => wrong_parts(parts),
            TokenError::EncryptedToken { parts } if parts != 3 => wrong_parts(parts),
            TokenError::EncryptedToken { .. }
            | TokenError::UndecodableHeader
            | TokenError::UndecodableSignature => not_a_token(),
            TokenError::WrongAlgorithm(name) => wrong_algorithm(&name),
            TokenError::NoSuitableKey { .. } => no_suitable_key(),
            TokenError::BadSignature { .. } => {
                key_error("None of the keys was able to decode the JWT")
            }
            TokenError::ClaimsNotAnObject => claims("Parsing claims failed"),
            TokenError::NotANumber(claim) => {
                claims(&format!("The JWT '{claim}' claim must be a number"))
            }
            TokenError::Expired => claims("JWT expired"),
            TokenError::NotYetValid => claims("JWT not yet valid"),
            TokenError::IssuedInFuture => claims("JWT issued at future"),
            TokenError::AudienceMismatch => claims("JWT not in audience"),
            TokenError::InvalidAudience => {
                claims("The JWT 'aud' claim must be a string or an array of strings")
            }
        }
    }
}

impl From<CallerError> for RestError {
    fn from(error: CallerError) -> Self {
        match error {
            CallerError::Token(error) => error.into(),
            CallerError::Missing => Self::AnonymousDisabled,
            CallerError::UnknownApiKey => unusable_key("Invalid API key", &error),
            CallerError::LegacyKeyDisabled => unusable_key("Legacy API keys are disabled", &error),
        }
    }
}

/// No key has the token's key id and algorithm.
pub(super) fn no_suitable_key() -> RestError {
    key_error("No suitable key was found to decode the JWT")
}

fn wrong_algorithm(name: &str) -> RestError {
    match name {
        "none" => RestError::UndecodableToken {
            message: "Wrong or unsupported encoding algorithm".to_owned(),
            details: Some("JWT is unsecured but expected 'alg' was not 'none'".to_owned()),
        },
        name if Algorithm::from_name(name).is_some() => no_suitable_key(),
        _ => not_a_token(),
    }
}

fn wrong_parts(parts: usize) -> RestError {
    undecodable(&format!("Expected 3 parts in JWT; got {parts}"))
}

fn not_a_token() -> RestError {
    undecodable("JWT cryptographic operation failed")
}

fn undecodable(message: &str) -> RestError {
    RestError::UndecodableToken {
        message: message.to_owned(),
        details: None,
    }
}

fn key_error(details: &str) -> RestError {
    RestError::UndecodableToken {
        message: "No suitable key or wrong key type".to_owned(),
        details: Some(details.to_owned()),
    }
}

/// PostgREST has no opaque API keys; the wording is our own.
fn unusable_key(message: &str, error: &CallerError) -> RestError {
    RestError::UndecodableToken {
        message: message.to_owned(),
        details: Some(error.to_string()),
    }
}

fn claims(message: &str) -> RestError {
    RestError::InvalidClaims(message.to_owned())
}
