//! Whether an ID token is genuine, meant for us and of now.

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use plinth_token::{Algorithm, ClaimRules, TokenError, VerifiedToken};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::Document;
use crate::{
    model::Object,
    oauth::web::{Web, WebError},
    request::Context,
};

/// How many seconds a provider's clock may differ from ours.
const LEEWAY: i64 = 30;

/// What a token is held against.
pub(in crate::oauth) struct Expected<'a> {
    pub(in crate::oauth) issuers: &'a [String],
    /// Our client ids; the token has to be for one of them.
    pub(in crate::oauth) audiences: &'a [String],
    /// What `at_hash` is compared with, if the token has it.
    pub(in crate::oauth) access_token: Option<&'a str>,
}

/// Why a token is refused.
#[derive(Debug, thiserror::Error)]
pub(in crate::oauth) enum IdTokenError {
    #[error("the keys cannot be had: {0}")]
    Keys(#[from] WebError),
    #[error("{0}")]
    Token(#[from] TokenError),
    #[error("the issuer is another one")]
    Issuer,
    #[error("it never ends")]
    Endless,
    /// The audiences that it names.
    #[error("it is for somebody else")]
    Audience(Vec<String>),
    #[error("the access token belongs to another ID token")]
    AccessToken,
}

/// The claims of a good token.
pub(in crate::oauth) async fn verify(
    context: &Context,
    web: &Web<'_>,
    document: &Document,
    token: &str,
    expected: &Expected<'_>,
) -> Result<Object, IdTokenError> {
    let verified = verify_signature(context, web, &document.jwks_uri, token).await?;
    let rules = ClaimRules {
        now: context.now.unix_timestamp(),
        leeway: LEEWAY,
        refuse_issued_in_future: false,
        audience: None,
    };
    verified.check(&rules)?;
    check_claims(&verified, expected)?;
    Ok(verified.claims().clone())
}

/// With the keys that are kept; if they do not fit, with those that are published now.
async fn verify_signature(
    context: &Context,
    web: &Web<'_>,
    jwks_uri: &str,
    token: &str,
) -> Result<VerifiedToken, IdTokenError> {
    let discovery = context.service.discovery();
    let kept = discovery.keys(context, web, jwks_uri, false).await?;
    match kept.verify(token) {
        Ok(verified) => Ok(verified),
        Err(error) if may_be_newer(&error) => {
            let fresh = discovery.keys(context, web, jwks_uri, true).await?;
            Ok(fresh.verify(token)?)
        }
        Err(error) => Err(error.into()),
    }
}

fn may_be_newer(error: &TokenError) -> bool {
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
    let issuer = claims.get("iss").and_then(Value::as_str).unwrap_or("");
    if !expected.issuers.iter().any(|known| known == issuer) {
        return Err(IdTokenError::Issuer);
    }
    if token.exp().is_none() {
        return Err(IdTokenError::Endless);
    }
    let audiences = audiences(claims);
    let is_ours = |audience: &str| {
        let mut ours = expected.audiences.iter();
        ours.any(|ours| !ours.is_empty() && ours == audience)
    };
    let authorized = claims.get("azp").and_then(Value::as_str);
    // One of several audiences is not enough where the token says who asked for it.
    let is_for_us = audiences.iter().any(|audience| is_ours(audience))
        && (audiences.len() == 1 || authorized.is_none_or(is_ours));
    if !is_for_us {
        return Err(IdTokenError::Audience(audiences));
    }
    let hash = claims.get("at_hash").and_then(Value::as_str);
    if let (Some(hash), Some(access_token)) = (hash, expected.access_token)
        && !is_hash_of(hash, access_token, token.algorithm())
    {
        return Err(IdTokenError::AccessToken);
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

/// `at_hash`: the left half of the access token's hash (OpenID Connect Core §3.1.3.6).
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

/// Who claims to have signed a token that nobody checked yet.
pub(in crate::oauth) fn claimed_issuer(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let payload = parts.nth(1)?;
    if parts.count() != 1 {
        return None;
    }
    let payload = BASE64URL_NOPAD.decode(payload.as_bytes()).ok()?;
    let claims: Object = serde_json::from_slice(&payload).ok()?;
    claims.get("iss")?.as_str().map(str::to_owned)
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

    #[test]
    fn a_claimed_issuer_is_read_from_tokens_only() {
        let token = |payload: &str| format!("e30.{}.x", BASE64URL_NOPAD.encode(payload.as_bytes()));
        assert_eq!(
            claimed_issuer(&token(r#"{"iss":"https://a"}"#)).as_deref(),
            Some("https://a")
        );
        for text in [
            "",
            "a.b.c",
            "..",
            &token("[]"),
            &token(r#"{"iss":7}"#),
            &format!("{}.d", token(r#"{"iss":"a"}"#)),
        ] {
            assert_eq!(claimed_issuer(text), None, "{text}");
        }
    }
}
