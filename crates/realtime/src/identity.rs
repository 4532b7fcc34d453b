//! Who is on a socket or a channel: a key or a token, verified (§2.1), and the words in which its
//! refusal is said in the handshake (§2.2), in the answer to a join (§5.2) and in a `system`
//! message (§8).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use plinth_project::{Caller, CallerError, Credentials, Project};
use plinth_token::TokenError;
use serde_json::Value;

/// Somebody, until their token ends.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    /// What was shown, to be verified again later.
    pub(crate) shown: Box<str>,
    /// In seconds since 1970; keys never end.
    pub(crate) expires_at: Option<i64>,
}

/// Why somebody is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Malformed,
    /// So many seconds ago.
    Expired(i64),
    LacksClaims,
    ImpossibleExpiry,
    BadSignature,
    NoKey {
        kid: Option<String>,
    },
}

impl Identity {
    /// Verifies what a client shows.
    pub(crate) fn verify(project: &Project, shown: &str, now: i64) -> Result<Self, Refusal> {
        let shown = shown.split_whitespace().collect::<String>();
        let shown = percent_decode_str(&shown).decode_utf8_lossy();
        let caller = Credentials::read_bearer_of_any_hash(project, &shown, now)
            .map_err(|error| Refusal::new(error, &shown, now))?;
        let expires_at = match caller.token() {
            None => None,
            Some(token) => {
                let (true, Some(exp)) = (token.claims().contains_key("role"), token.exp()) else {
                    return Err(Refusal::LacksClaims);
                };
                if exp <= 0 {
                    return Err(Refusal::ImpossibleExpiry);
                }
                // Clocks that differ a little are REST's business; a socket lives much longer.
                if now >= exp {
                    return Err(Refusal::Expired(now - exp));
                }
                Some(exp)
            }
        };
        Ok(Self {
            caller,
            shown: shown.into(),
            expires_at,
        })
    }

    /// Whether the same is still good, as after keys were replaced or when it ends.
    pub(crate) fn verify_again(&self, project: &Project, now: i64) -> Result<(), Refusal> {
        Self::verify(project, &self.shown, now).map(drop)
    }
}

impl Refusal {
    fn new(error: CallerError, shown: &str, now: i64) -> Self {
        match error {
            CallerError::Token(error) => Self::of_token(error, shown, now),
            CallerError::Missing => Self::Malformed,
            CallerError::UnknownApiKey | CallerError::LegacyKeyDisabled => Self::BadSignature,
        }
    }

    fn of_token(error: TokenError, shown: &str, now: i64) -> Self {
        match error {
            TokenError::Expired => Self::Expired(seconds_since_expiry(shown, now)),
            TokenError::NotANumber(_) => Self::LacksClaims,
            TokenError::BadSignature { .. } => Self::BadSignature,
            TokenError::NoSuitableKey { kid, .. } => Self::NoKey { kid },
            TokenError::NoKeys | TokenError::WrongAlgorithm(_) => Self::NoKey { kid: None },
            TokenError::Empty
            | TokenError::NotThreeParts(_)
            | TokenError::EncryptedToken { .. }
            | TokenError::UndecodableHeader
            | TokenError::UndecodableSignature
            | TokenError::ClaimsNotAnObject
            | TokenError::NotYetValid
            | TokenError::IssuedInFuture
            | TokenError::AudienceMismatch
            | TokenError::InvalidAudience => Self::Malformed,
        }
    }

    /// As the body of a refused handshake says it.
    pub(crate) fn handshake_text(&self) -> String {
        match self {
            Self::Expired(_) => "Token has expired".to_owned(),
            other => other.text(),
        }
    }

    /// As the answer to a join says it.
    pub(crate) fn reason(&self) -> String {
        let code = match self {
            Self::Malformed => "MalformedJWT",
            Self::Expired(_) | Self::LacksClaims | Self::ImpossibleExpiry => "InvalidJWTToken",
            Self::BadSignature => "JwtSignatureError",
            Self::NoKey { .. } => "JwtSignerError",
        };
        format!("{code}: {}", self.text())
    }

    /// As a `system` message says it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Malformed => "The token provided is not a valid JWT".to_owned(),
            Self::Expired(seconds) => format!("Token has expired {seconds} seconds ago"),
            Self::LacksClaims => "Fields `role` and `exp` are required in JWT".to_owned(),
            Self::ImpossibleExpiry => "Token expiration time is invalid".to_owned(),
            Self::BadSignature => "Failed to validate JWT signature".to_owned(),
            Self::NoKey { kid } => {
                let which = kid
                    .as_ref()
                    .map(|kid| format!(" for key ID (kid) \"{kid}\""))
                    .unwrap_or_default();
                format!(
                    "Failed to generate JWT signer{which}, check your JWT secret or JWKS \
                     configuration"
                )
            }
        }
    }
}

/// Of a token whose signature was good but which has ended.
fn seconds_since_expiry(token: &str, now: i64) -> i64 {
    let claims = token.split('.').nth(1);
    let claims = claims.and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<Value> = claims.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let exp = claims.and_then(|claims| claims.get("exp")?.as_f64());
    exp.map_or(0, |exp| now.saturating_sub(exp as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_said_in_the_words_of_their_place() {
        let expired = Refusal::Expired(7);
        assert_eq!(expired.handshake_text(), "Token has expired");
        assert_eq!(
            expired.reason(),
            "InvalidJWTToken: Token has expired 7 seconds ago"
        );
        assert_eq!(expired.text(), "Token has expired 7 seconds ago");

        let no_key = Refusal::NoKey {
            kid: Some("k1".to_owned()),
        };
        assert_eq!(
            no_key.reason(),
            "JwtSignerError: Failed to generate JWT signer for key ID (kid) \"k1\", check your \
             JWT secret or JWKS configuration"
        );
        assert_eq!(
            Refusal::LacksClaims.reason(),
            "InvalidJWTToken: Fields `role` and `exp` are required in JWT"
        );
    }

    #[test]
    fn a_token_tells_how_long_ago_it_ended() {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(br#"{"exp":100}"#);
        assert_eq!(seconds_since_expiry(&format!("h.{claims}.s"), 107), 7);
        assert_eq!(seconds_since_expiry("nonsense", 107), 0);
    }
}
