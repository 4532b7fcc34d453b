//! Claims of tokens, and decoding tokens (client contract S45).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::AuthError;

/// The claims of a verified token.
#[derive(Clone, PartialEq)]
pub struct Claims {
    header: Map<String, Value>,
    claims: Map<String, Value>,
    signature: Vec<u8>,
}

/// The parts together are the token, so none is printed.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims")
            .field("sub", &self.sub())
            .field("role", &self.role())
            .field("exp", &self.exp())
            .finish_non_exhaustive()
    }
}

impl Claims {
    /// The user's id.
    pub fn sub(&self) -> Option<&str> {
        self.text("sub")
    }

    /// The Postgres role of the user's requests.
    pub fn role(&self) -> Option<&str> {
        self.text("role")
    }

    /// The assurance level: `aal1`, or `aal2` after a second factor.
    pub fn aal(&self) -> Option<&str> {
        self.text("aal")
    }

    /// The id of the session that the token belongs to.
    pub fn session_id(&self) -> Option<&str> {
        self.text("session_id")
    }

    /// The e-mail address, if the token names one.
    pub fn email(&self) -> Option<&str> {
        self.text("email").filter(|email| !email.is_empty())
    }

    /// When the token expires, in seconds since 1970.
    pub fn exp(&self) -> Option<i64> {
        number(&self.claims, "exp")
    }

    /// Any claim.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.claims.get(name)
    }

    /// All claims.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// The token's header.
    pub fn header(&self) -> &Map<String, Value> {
        &self.header
    }

    /// The signature's bytes.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name)?.as_str()
    }
}

/// A decoded token. Nothing in it is verified yet.
#[derive(Clone, Debug)]
pub struct Decoded(Claims);

/// More than any server of ours issues.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

impl Decoded {
    /// Parses three parts of unpadded base64url, the first two JSON objects; anything else is an error.
    pub fn parse(token: &str) -> Result<Self, AuthError> {
        let invalid = |text: &str| AuthError::InvalidJwt(text.to_owned());
        if token.len() > MAX_TOKEN_BYTES {
            return Err(invalid("JWT is too long"));
        }
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts[..] else {
            return Err(invalid("Invalid JWT structure"));
        };
        let bytes = |part: &str| {
            URL_SAFE_NO_PAD
                .decode(part)
                .ok()
                .filter(|_| !part.is_empty())
        };
        let object = |part: &str| serde_json::from_slice(&bytes(part)?).ok();
        match (object(header), object(payload), bytes(signature)) {
            (Some(header), Some(claims), Some(signature)) => Ok(Self(Claims {
                header,
                claims,
                signature,
            })),
            _ => Err(invalid("JWT not in base64url format")),
        }
    }

    /// The `alg` of the header.
    pub fn alg(&self) -> Option<&str> {
        self.0
            .header
            .get("alg")?
            .as_str()
            .filter(|alg| !alg.is_empty())
    }

    /// The `kid` of the header.
    pub fn kid(&self) -> Option<&str> {
        self.0
            .header
            .get("kid")?
            .as_str()
            .filter(|kid| !kid.is_empty())
    }

    /// The `exp` claim, in seconds since 1970.
    pub fn exp(&self) -> Option<i64> {
        self.0.exp()
    }

    /// The unverified claims, for example to read `aal` or `exp`.
    pub fn unverified(&self) -> &Claims {
        &self.0
    }

    /// Fails if the token has expired or has no expiry (S13: no leeway).
    pub fn check_expiry(&self, now_s: i64) -> Result<(), AuthError> {
        match self.exp() {
            None => Err(AuthError::InvalidJwt("Missing exp claim".to_owned())),
            Some(exp) if exp <= now_s => Err(AuthError::InvalidJwt("JWT has expired".to_owned())),
            Some(_) => Ok(()),
        }
    }

    /// For a caller that has verified the token.
    pub(crate) fn into_claims(self) -> Claims {
        self.0
    }
}

fn number(claims: &Map<String, Value>, name: &str) -> Option<i64> {
    let value = claims.get(name)?;
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|number| number as i64))
}

#[cfg(test)]
pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2ln", part(header), part(claims))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_taken_apart() {
        let claims = json!({ "sub": "u", "aal": "aal1", "exp": 10, "role": "authenticated" });
        let token = unsigned(&json!({ "alg": "ES256", "kid": "k" }), &claims);

        let decoded = Decoded::parse(&token).unwrap();

        assert_eq!((decoded.alg(), decoded.kid()), (Some("ES256"), Some("k")));
        let claims = decoded.into_claims();
        assert_eq!(
            (claims.sub(), claims.aal(), claims.exp()),
            (Some("u"), Some("aal1"), Some(10))
        );
        assert_eq!(claims.signature(), b"sig");
    }

    #[test]
    fn s45_other_forms_are_rejected() {
        let good = unsigned(&json!({}), &json!({}));
        for token in [
            String::new(),
            "a.b".to_owned(),
            format!("{good}.x"),
            format!("{good}="),
            good.replace('.', "+."),
            "e30.e30.".to_owned(),
            "W10.e30.c2ln".to_owned(),
            "x".repeat(MAX_TOKEN_BYTES + 1),
        ] {
            let error = Decoded::parse(&token).unwrap_err();
            assert!(matches!(error, AuthError::InvalidJwt(_)), "{token}");
            assert_eq!(error.status(), Some(400));
        }
    }

    #[test]
    fn s13_a_token_ends_at_its_second() {
        let token = |claims| Decoded::parse(&unsigned(&json!({}), &claims)).unwrap();

        assert!(token(json!({ "exp": 100 })).check_expiry(99).is_ok());
        assert!(token(json!({ "exp": 100 })).check_expiry(100).is_err());
        assert!(token(json!({})).check_expiry(0).is_err());
    }
}
