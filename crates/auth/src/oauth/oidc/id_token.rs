//! Verification of ID tokens: signature, issuer, audience and time.

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use plinth_token::{Algorithm, ClaimRules, TokenError, VerifiedToken};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::Document;
use crate::{
    model::Object,
    oauth::http_client::{HttpClient, HttpError},
    request::RequestContext,
};

/// Accepted clock skew in seconds.
pub(super) const LEEWAY: i64 = 30;

/// The expected claims.
pub(in crate::oauth) struct Expected<'a> {
    pub(in crate::oauth) issuers: &'a [String],
    /// Accepted client ids.
    pub(in crate::oauth) audiences: &'a [String],
    /// Compared with `at_hash`, if the token has it.
    pub(in crate::oauth) access_token: Option<&'a str>,
}

/// Why a token is rejected.
#[derive(Debug, thiserror::Error)]
pub(in crate::oauth) enum IdTokenError {
    #[error("the keys cannot be fetched: {0}")]
    Keys(#[from] HttpError),
    #[error("{0}")]
    Token(#[from] TokenError),
    #[error("this is not a signed token")]
    Malformed,
    #[error("unexpected issuer")]
    Issuer,
    #[error("the claim exp is missing")]
    NoExpiry,
    /// The token's audiences.
    #[error("unexpected audience")]
    Audience(Vec<String>),
    #[error("at_hash does not match the access token")]
    AccessToken,
}

/// Verifies the token and returns its claims.
pub(in crate::oauth) async fn verify(
    context: &RequestContext,
    http: &HttpClient<'_>,
    document: &Document,
    token: &str,
    expected: &Expected<'_>,
) -> Result<Object, IdTokenError> {
    let verified = verify_signature(context, http, &document.jwks_uri, token).await?;
    let rules = ClaimRules {
        now: context.now.unix_timestamp(),
        leeway: LEEWAY,
        reject_issued_in_future: false,
        audience: None,
    };
    verified.check(&rules)?;
    check_claims(&verified, expected)?;
    Ok(verified.claims().clone())
}

/// Verifies with the cached keys and, if none fits, with refreshed keys.
async fn verify_signature(
    context: &RequestContext,
    http: &HttpClient<'_>,
    jwks_uri: &str,
    token: &str,
) -> Result<VerifiedToken, IdTokenError> {
    let discovery = context.service.discovery();
    let cached = discovery.keys(context, http, jwks_uri, false).await?;
    match cached.verify(token) {
        Ok(verified) => Ok(verified),
        Err(error) if needs_new_keys(&error) => {
            let fresh = discovery.keys(context, http, jwks_uri, true).await?;
            Ok(fresh.verify(token)?)
        }
        Err(error) => Err(error.into()),
    }
}

fn needs_new_keys(error: &TokenError) -> bool {
    matches!(
        error,
        TokenError::NoSuitableKey { .. }
            | TokenError::BadSignature { .. }
            | TokenError::WrongAlgorithm(_)
            | TokenError::NoKeys
    )
}

fn check_claims(token: &VerifiedToken, expected: &Expected<'_>) -> Result<(), IdTokenError> {
    let claims = token.claims();
    check_named(claims, expected)?;
    if token.exp().is_none() {
        return Err(IdTokenError::NoExpiry);
    }
    let hash = claims.get("at_hash").and_then(Value::as_str);
    if let (Some(hash), Some(access_token)) = (hash, expected.access_token)
        && !is_hash_of(hash, access_token, token.algorithm())
    {
        return Err(IdTokenError::AccessToken);
    }
    Ok(())
}

/// Checks issuer and audience.
pub(super) fn check_named(claims: &Object, expected: &Expected<'_>) -> Result<(), IdTokenError> {
    let issuer = claims.get("iss").and_then(Value::as_str).unwrap_or("");
    if !expected.issuers.iter().any(|known| known == issuer) {
        return Err(IdTokenError::Issuer);
    }
    let audiences = audiences(claims);
    let is_ours = |audience: &str| {
        let mut ours = expected.audiences.iter();
        ours.any(|ours| !ours.is_empty() && ours == audience)
    };
    let authorized = claims.get("azp").and_then(Value::as_str);
    // With several audiences, `azp` must be an accepted client id too.
    let is_for_us = audiences.iter().any(|audience| is_ours(audience))
        && (audiences.len() == 1 || authorized.is_none_or(is_ours));
    if !is_for_us {
        return Err(IdTokenError::Audience(audiences));
    }
    Ok(())
}

fn audiences(claims: &Object) -> Vec<String> {
    match claims.get("aud") {
        Some(Value::String(audience)) => vec![audience.clone()],
        Some(Value::Array(audiences)) => {
            let texts = audiences.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// `at_hash` is the left half of the access token's hash (OpenID Connect Core §3.1.3.6).
fn is_hash_of(hash: &str, access_token: &str, algorithm: Algorithm) -> bool {
    let function = match algorithm {
        Algorithm::Hs256 | Algorithm::Rs256 | Algorithm::Es256 => &digest::SHA256,
        Algorithm::Hs384 | Algorithm::Rs384 | Algorithm::Es384 => &digest::SHA384,
        Algorithm::Hs512 | Algorithm::Rs512 | Algorithm::Es512 | Algorithm::EdDsa => {
            &digest::SHA512
        }
    };
    let digest = digest::digest(function, access_token.as_bytes());
    let half = &digest.as_ref()[..digest.as_ref().len() / 2];
    let wanted = BASE64URL_NOPAD.encode(half);
    wanted.as_bytes().ct_eq(hash.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_an_access_token_is_that_of_the_standard() {
        // The example of OpenID Connect Core, appendix A.3.
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        let hash = "77QmUPtjPfzWtF2AnpK9RQ";

        assert!(is_hash_of(hash, token, Algorithm::Rs256));
        assert!(!is_hash_of(hash, "another", Algorithm::Rs256));
        assert!(!is_hash_of(hash, token, Algorithm::Rs384));
        assert!(!is_hash_of("", token, Algorithm::Rs256));
    }
}
