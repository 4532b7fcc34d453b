//! What an ID token claims before its signature is verified: enough to reject most wrong ones without a
//! request to their issuer.

use data_encoding::BASE64URL_NOPAD;
use plinth_token::{Algorithm, TokenError};
use serde_json::Value;

use super::id_token::{Expected, IdTokenError, LEEWAY, check_named};
use crate::model::Object;

/// Rejects a text that no key could make a valid token.
pub(in crate::oauth) fn check_unverified(
    token: &str,
    expected: &Expected<'_>,
    now: i64,
) -> Result<(), IdTokenError> {
    let claims = parse(token).ok_or(IdTokenError::Malformed)?;
    check_named(&claims, expected)?;
    match claims.get("exp").and_then(Value::as_f64) {
        None => Err(IdTokenError::NoExpiry),
        Some(exp) if exp + (LEEWAY as f64) < now as f64 => Err(TokenError::Expired.into()),
        Some(_) => Ok(()),
    }
}

/// The claims of a compact token with an asymmetric signature.
fn parse(token: &str) -> Option<Object> {
    let mut parts = token.split('.');
    let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || decode(signature)?.is_empty() {
        return None;
    }
    let header: Object = serde_json::from_slice(&decode(header)?).ok()?;
    let algorithm = Algorithm::from_name(header.get("alg")?.as_str()?)?;
    if algorithm.is_symmetric() {
        return None;
    }
    serde_json::from_slice(&decode(claims)?).ok()
}

fn decode(part: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(part.as_bytes()).ok()
}

/// The `iss` claim of an unverified token.
pub(in crate::oauth) fn claimed_issuer(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let payload = parts.nth(1)?;
    if parts.count() != 1 {
        return None;
    }
    let claims: Object = serde_json::from_slice(&decode(payload)?).ok()?;
    claims.get("iss")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        format!("{}.{}.c2ln", part(header), part(claims))
    }

    fn check(token: &str) -> Result<(), IdTokenError> {
        let (issuers, audiences) = (["https://a".to_owned()], ["us".to_owned()]);
        let expected = Expected {
            issuers: &issuers,
            audiences: &audiences,
            access_token: None,
        };
        check_unverified(token, &expected, 1000)
    }

    #[test]
    fn only_what_could_be_valid_is_worth_a_request() {
        let claims = json!({ "iss": "https://a", "aud": "us", "exp": 1000 });
        let rs256 = json!({ "alg": "RS256" });
        let without = |name: &str| {
            let mut claims = claims.clone();
            claims.as_object_mut().expect("claims").remove(name);
            token(&rs256, &claims)
        };
        assert!(check(&token(&rs256, &claims)).is_ok());
        for wrong in [
            without("iss"),
            without("aud"),
            without("exp"),
            token(
                &rs256,
                &json!({ "iss": "https://b", "aud": "us", "exp": 1000 }),
            ),
            token(
                &rs256,
                &json!({ "iss": "https://a", "aud": "them", "exp": 1000 }),
            ),
            token(
                &rs256,
                &json!({ "iss": "https://a", "aud": "us", "exp": 969 }),
            ),
            token(&json!({ "alg": "HS256" }), &claims),
            token(&json!({ "alg": "none" }), &claims),
            token(&json!({}), &claims),
            token(&rs256, &json!([])),
            format!("{}.x", token(&rs256, &claims)),
            token(&rs256, &claims).replace("c2ln", ""),
            "not a token".to_owned(),
            String::new(),
        ] {
            assert!(check(&wrong).is_err(), "{wrong}");
        }
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
