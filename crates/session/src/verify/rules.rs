//! Requirements for the claims of a verified token (A18).

use plinth_client::auth::Claims;
use serde_json::Value;
use uuid::Uuid;

use super::VerifiedClaims;

/// Allowed clock skew for `nbf`.
const NOT_BEFORE_LEEWAY_S: i64 = 5;

/// Requirements for claims.
#[derive(Clone, Debug)]
pub(crate) struct ClaimRules {
    /// The expected issuer; any if `None`.
    pub(crate) issuer: Option<String>,
    /// The expected audience.
    pub(crate) audience: String,
    /// The accepted roles.
    pub(crate) roles: Vec<String>,
}

impl ClaimRules {
    /// The claims, if all are present and acceptable. Times are not checked.
    pub(crate) fn accept(&self, claims: &Claims) -> Option<VerifiedClaims> {
        let issuer = claims.get("iss").and_then(Value::as_str);
        if self.issuer.is_some() && issuer != self.issuer.as_deref() {
            return None;
        }
        if !self.is_for_us(claims.get("aud")?) {
            return None;
        }
        let role = claims.role()?;
        if !self.roles.iter().any(|allowed| allowed == role) {
            return None;
        }
        claims.session_id().filter(|id| !id.is_empty())?;
        let nbf = match claims.get("nbf") {
            None | Some(Value::Null) => None,
            Some(nbf) => Some(seconds(nbf)?),
        };
        Some(VerifiedClaims {
            user_id: Uuid::parse_str(claims.sub()?).ok()?,
            exp: seconds(claims.get("exp")?)?,
            nbf,
            claims: claims.clone(),
        })
    }

    fn is_for_us(&self, audience: &Value) -> bool {
        match audience {
            Value::String(name) => *name == self.audience,
            Value::Array(names) => names.iter().any(|name| name == self.audience.as_str()),
            _ => false,
        }
    }
}

impl VerifiedClaims {
    pub(super) fn has_begun(&self, now_s: i64) -> bool {
        self.nbf
            .is_none_or(|nbf| nbf <= now_s.saturating_add(NOT_BEFORE_LEEWAY_S))
    }
}

/// Whole seconds, fractions cut off.
fn seconds(value: &Value) -> Option<i64> {
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use plinth_client::auth::Decoded;
    use serde_json::json;

    use super::*;

    fn rules() -> ClaimRules {
        ClaimRules {
            issuer: Some("https://p.test/auth/v1".to_owned()),
            audience: "authenticated".to_owned(),
            roles: vec!["authenticated".to_owned()],
        }
    }

    fn good() -> Value {
        json!({
            "iss": "https://p.test/auth/v1",
            "aud": "authenticated",
            "sub": "0d0c5d4a-5c5f-4cbd-9a65-0e2ac5b2a3f1",
            "role": "authenticated",
            "session_id": "s",
            "exp": 1_700_000_000,
        })
    }

    fn accepted(claims: &Value) -> Option<VerifiedClaims> {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let token = format!("{}.{}.c2ln", part(&json!({})), part(claims));
        rules().accept(Decoded::parse(&token).unwrap().unverified())
    }

    fn check(change: Value, expected: bool) {
        let mut claims = good();
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        assert_eq!(accepted(&claims).is_some(), expected, "{change}");
    }

    #[test]
    fn every_claim_is_required() {
        assert!(accepted(&good()).is_some());
        for name in ["iss", "aud", "sub", "role", "session_id", "exp"] {
            let mut claims = good();
            claims.as_object_mut().unwrap().remove(name);
            assert!(accepted(&claims).is_none(), "{name}");
        }
    }

    #[test]
    fn every_claim_must_fit() {
        check(json!({ "iss": "https://p.test/auth/v1/" }), false);
        check(json!({ "aud": ["x", "authenticated"] }), true);
        check(json!({ "aud": "x" }), false);
        check(json!({ "aud": [] }), false);
        check(json!({ "aud": 1 }), false);
        check(json!({ "sub": "not a uuid" }), false);
        check(json!({ "sub": 7 }), false);
        for role in ["service_role", "anon", "supabase_admin", ""] {
            check(json!({ "role": role }), false);
        }
        check(json!({ "session_id": "" }), false);
        check(json!({ "exp": "1700000000" }), false);
        check(json!({ "exp": 1_700_000_000.5 }), true);
        check(json!({ "nbf": "soon" }), false);
        check(json!({ "nbf": null }), true);
    }

    #[test]
    fn a_token_may_begin_five_seconds_from_now() {
        let mut claims = good();
        claims["nbf"] = json!(1000);
        let claims = accepted(&claims).unwrap();

        assert!(claims.has_begun(995));
        assert!(!claims.has_begun(994));
    }
}
