//! A token with a verified signature, and its time-dependent checks.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::algorithm::Algorithm;
use crate::error::{TimeClaim, TokenError};

/// A token with a verified signature. Cheap to clone.
///
/// It may have expired: call [`VerifiedToken::check`] on every request.
#[derive(Clone, Debug)]
pub struct VerifiedToken(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    claims_text: Box<str>,
    claims: Map<String, Value>,
    role: Option<String>,
    exp: Time,
    nbf: Time,
    iat: Time,
    audience: Audience,
    algorithm: Algorithm,
    kid: Option<String>,
}

/// Rules for a token's times and audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimRules<'a> {
    /// The current time in seconds since 1970.
    pub now: i64,
    /// Allowed clock skew in seconds.
    pub leeway: i64,
    /// Whether a token issued in the future (`iat`) is rejected.
    pub reject_issued_in_future: bool,
    /// The audience that the token must name, if it names any.
    pub audience: Option<&'a str>,
}

impl<'a> ClaimRules<'a> {
    /// The rules of REST (contract §4.1): 30 seconds of clock skew.
    pub fn rest(now: i64) -> Self {
        Self {
            now,
            leeway: 30,
            reject_issued_in_future: true,
            audience: None,
        }
    }

    /// The rules of all other services: `exp` and `nbf` to the second (auth contract §3.2).
    pub fn exact(now: i64) -> Self {
        Self {
            now,
            leeway: 0,
            reject_issued_in_future: false,
            audience: None,
        }
    }

    /// The same rules, and a token that names audiences must name this one.
    pub fn with_audience(self, audience: &'a str) -> Self {
        Self {
            audience: Some(audience),
            ..self
        }
    }

    fn check_expiry(&self, exp: i64) -> Result<(), TokenError> {
        // Without leeway a token ends at `exp` (RFC 7519). With leeway the last second counts as
        // inside it, as in REST's reference.
        let end = match self.leeway {
            0 => exp,
            leeway => exp.saturating_add(leeway).saturating_add(1),
        };
        if self.now < end {
            Ok(())
        } else {
            Err(TokenError::Expired)
        }
    }

    fn is_future(&self, time: i64) -> bool {
        self.now.saturating_add(self.leeway) < time
    }
}

impl VerifiedToken {
    /// Reads the claims of a token whose signature has been checked.
    pub(crate) fn read(
        payload: Vec<u8>,
        algorithm: Algorithm,
        kid: Option<String>,
    ) -> Result<Self, TokenError> {
        let claims_text = String::from_utf8(payload).map_err(|_| TokenError::ClaimsNotAnObject)?;
        let claims: Map<String, Value> =
            serde_json::from_str(&claims_text).map_err(|_| TokenError::ClaimsNotAnObject)?;
        Ok(Self(Arc::new(Parts {
            role: read_role(&claims),
            exp: Time::read(&claims, TimeClaim::Exp),
            nbf: Time::read(&claims, TimeClaim::Nbf),
            iat: Time::read(&claims, TimeClaim::Iat),
            audience: Audience::read(&claims),
            claims_text: claims_text.into_boxed_str(),
            claims,
            algorithm,
            kid,
        })))
    }

    /// Whether the token is valid now. Checks in the contract's order: `exp`, `nbf`, `iat`, `aud`.
    pub fn check(&self, rules: &ClaimRules<'_>) -> Result<(), TokenError> {
        if let Some(exp) = self.0.exp.get(TimeClaim::Exp)? {
            rules.check_expiry(exp)?;
        }
        if self
            .0
            .nbf
            .get(TimeClaim::Nbf)?
            .is_some_and(|nbf| rules.is_future(nbf))
        {
            return Err(TokenError::NotYetValid);
        }
        let issued = self.0.iat.get(TimeClaim::Iat)?;
        if rules.reject_issued_in_future && issued.is_some_and(|iat| rules.is_future(iat)) {
            return Err(TokenError::IssuedInFuture);
        }
        self.0.audience.check(rules.audience)
    }

    /// All claims.
    pub fn claims(&self) -> &Map<String, Value> {
        &self.0.claims
    }

    /// The claims as JSON text, exactly as the token carried them.
    pub fn claims_text(&self) -> &str {
        &self.0.claims_text
    }

    /// The claims as JSON text with `role` set to the effective role, which is what `request.jwt.claims`
    /// shows. Borrowed in the usual case that the token has the same role.
    pub fn claims_text_as(&self, role: &str) -> Cow<'_, str> {
        if self.0.claims.get("role").and_then(Value::as_str) == Some(role) {
            return Cow::Borrowed(&self.0.claims_text);
        }
        let mut claims = self.0.claims.clone();
        claims.insert("role".to_owned(), Value::from(role));
        Cow::Owned(Value::Object(claims).to_string())
    }

    /// The `role` claim. A non-string is returned as JSON.
    pub fn role(&self) -> Option<&str> {
        self.0.role.as_deref()
    }

    /// The subject: a user's id. API keys have none.
    pub fn sub(&self) -> Option<&str> {
        self.text_claim("sub")
    }

    /// The session that the token belongs to.
    pub fn session_id(&self) -> Option<&str> {
        self.text_claim("session_id")
    }

    /// The authenticator assurance level: `aal1` or `aal2`.
    pub fn aal(&self) -> Option<&str> {
        self.text_claim("aal")
    }

    /// When the token ends, in seconds since 1970.
    pub fn exp(&self) -> Option<i64> {
        match self.0.exp {
            Time::At(seconds) => Some(seconds),
            Time::Absent | Time::NotANumber => None,
        }
    }

    /// The algorithm it was signed with.
    pub fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }

    /// The key id in the token's header.
    pub fn kid(&self) -> Option<&str> {
        self.0.kid.as_deref()
    }

    fn text_claim(&self, name: &str) -> Option<&str> {
        self.0.claims.get(name).and_then(Value::as_str)
    }
}

fn read_role(claims: &Map<String, Value>) -> Option<String> {
    match claims.get("role")? {
        Value::Null => None,
        Value::String(role) => Some(role.clone()),
        other => Some(other.to_string()),
    }
}

/// A time claim. Invalid ones are reported by `check`, not when the token is read, to keep the contract's
/// order of errors.
#[derive(Clone, Copy, Debug)]
enum Time {
    Absent,
    At(i64),
    NotANumber,
}

impl Time {
    /// Fractions are rounded down; out-of-range values are clamped.
    fn read(claims: &Map<String, Value>, claim: TimeClaim) -> Self {
        match claims.get(claim.name()) {
            None | Some(Value::Null) => Self::Absent,
            Some(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
                (Some(seconds), _) => Self::At(seconds),
                (None, Some(seconds)) => Self::At(seconds.floor() as i64),
                (None, None) => Self::NotANumber,
            },
            Some(_) => Self::NotANumber,
        }
    }

    fn get(self, claim: TimeClaim) -> Result<Option<i64>, TokenError> {
        match self {
            Self::Absent => Ok(None),
            Self::At(seconds) => Ok(Some(seconds)),
            Self::NotANumber => Err(TokenError::NotANumber(claim)),
        }
    }
}

/// The `aud` claim. Absent, null and `[]` mean any audience.
#[derive(Debug)]
enum Audience {
    AnyOf(Vec<String>),
    Invalid,
}

impl Audience {
    fn read(claims: &Map<String, Value>) -> Self {
        match claims.get("aud") {
            None | Some(Value::Null) => Self::AnyOf(Vec::new()),
            Some(Value::String(name)) => Self::AnyOf(vec![name.clone()]),
            Some(Value::Array(names)) => names
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map_or(Self::Invalid, Self::AnyOf),
            Some(_) => Self::Invalid,
        }
    }

    fn check(&self, required: Option<&str>) -> Result<(), TokenError> {
        match (self, required) {
            (Self::Invalid, _) => Err(TokenError::InvalidAudience),
            (Self::AnyOf(names), Some(required))
                if !names.is_empty() && !names.iter().any(|name| name == required) =>
            {
                Err(TokenError::AudienceMismatch)
            }
            (Self::AnyOf(_), _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn token(claims: Value) -> VerifiedToken {
        VerifiedToken::read(claims.to_string().into_bytes(), Algorithm::Es256, None).unwrap()
    }

    fn check_rest(claims: Value, expected: Result<(), TokenError>) {
        assert_eq!(
            token(claims.clone()).check(&ClaimRules::rest(NOW)),
            expected,
            "{claims}"
        );
    }

    fn check_exact(claims: Value, expected: Result<(), TokenError>) {
        assert_eq!(
            token(claims.clone()).check(&ClaimRules::exact(NOW)),
            expected,
            "{claims}"
        );
    }

    #[test]
    fn rest_forgives_clocks_that_differ_by_thirty_seconds() {
        check_rest(json!({ "exp": NOW - 30 }), Ok(()));
        check_rest(json!({ "exp": NOW - 31 }), Err(TokenError::Expired));
        check_rest(json!({ "nbf": NOW + 30 }), Ok(()));
        check_rest(json!({ "nbf": NOW + 31 }), Err(TokenError::NotYetValid));
        check_rest(json!({ "iat": NOW + 30 }), Ok(()));
        check_rest(json!({ "iat": NOW + 31 }), Err(TokenError::IssuedInFuture));
    }

    #[test]
    fn without_leeway_a_token_ends_at_its_exp() {
        check_exact(json!({ "exp": NOW + 1 }), Ok(()));
        check_exact(json!({ "exp": NOW }), Err(TokenError::Expired));
        check_exact(json!({ "nbf": NOW }), Ok(()));
        check_exact(json!({ "nbf": NOW + 1 }), Err(TokenError::NotYetValid));
        check_exact(json!({ "iat": NOW + 1000 }), Ok(()));
    }

    #[test]
    fn a_token_without_times_is_always_valid() {
        check_rest(json!({}), Ok(()));
        check_exact(
            json!({ "exp": null, "nbf": null, "iat": null, "aud": null }),
            Ok(()),
        );
    }

    #[test]
    fn fractions_are_cut_off_downwards_and_huge_numbers_do_not_wrap() {
        check_exact(json!({ "exp": NOW as f64 + 0.9 }), Err(TokenError::Expired));
        check_exact(json!({ "exp": NOW as f64 + 1.5 }), Ok(()));
        check_exact(json!({ "nbf": NOW as f64 + 0.9 }), Ok(()));
        check_rest(json!({ "exp": u64::MAX }), Ok(()));
        check_rest(json!({ "exp": i64::MAX }), Ok(()));
        check_rest(json!({ "exp": 1e300 }), Ok(()));
        check_rest(json!({ "exp": i64::MIN }), Err(TokenError::Expired));
        check_rest(json!({ "nbf": -1e300 }), Ok(()));
    }

    #[test]
    fn times_that_are_not_numbers_are_named() {
        check_exact(
            json!({ "exp": "soon" }),
            Err(TokenError::NotANumber(TimeClaim::Exp)),
        );
        check_exact(
            json!({ "nbf": [] }),
            Err(TokenError::NotANumber(TimeClaim::Nbf)),
        );
        check_exact(
            json!({ "iat": true }),
            Err(TokenError::NotANumber(TimeClaim::Iat)),
        );
    }

    #[test]
    fn the_first_failure_in_the_contracts_order_is_reported() {
        let mut claims = json!({ "exp": 1, "nbf": NOW + 99, "iat": "x", "aud": 7 });

        check_rest(claims.clone(), Err(TokenError::Expired));
        claims["exp"] = json!(NOW);
        check_rest(claims.clone(), Err(TokenError::NotYetValid));
        claims["nbf"] = json!(NOW);
        check_rest(claims.clone(), Err(TokenError::NotANumber(TimeClaim::Iat)));
        claims["iat"] = json!(NOW);
        check_rest(claims, Err(TokenError::InvalidAudience));
    }

    #[test]
    fn a_required_audience_must_be_among_the_named_ones() {
        let rules = ClaimRules::rest(NOW).with_audience("ours");
        let check = |aud: Value, expected| {
            assert_eq!(
                token(json!({ "aud": aud })).check(&rules),
                expected,
                "{aud}"
            );
        };

        check(json!("ours"), Ok(()));
        check(json!(["theirs", "ours"]), Ok(()));
        check(json!([]), Ok(()));
        check(json!(null), Ok(()));
        check(json!("theirs"), Err(TokenError::AudienceMismatch));
        check(json!(["theirs"]), Err(TokenError::AudienceMismatch));
        check(json!(""), Err(TokenError::AudienceMismatch));
        check(json!(["ours", 1]), Err(TokenError::InvalidAudience));
        check(json!({ "ours": true }), Err(TokenError::InvalidAudience));
        assert_eq!(token(json!({})).check(&rules), Ok(()));
    }

    #[test]
    fn claims_are_readable_and_keep_their_text() {
        let text = r#"{ "sub":"u1", "role":"authenticated","session_id":"s1","aal":"aal2","exp":9.7,"z":1 }"#;
        let token = VerifiedToken::read(text.into(), Algorithm::Hs256, Some("k".into())).unwrap();

        assert_eq!(token.claims_text(), text);
        assert_eq!(token.claims()["z"], 1);
        assert_eq!(token.sub(), Some("u1"));
        assert_eq!(token.role(), Some("authenticated"));
        assert_eq!(token.session_id(), Some("s1"));
        assert_eq!(token.aal(), Some("aal2"));
        assert_eq!(token.exp(), Some(9));
        assert_eq!(token.kid(), Some("k"));
        assert_eq!(token.algorithm(), Algorithm::Hs256);
    }

    #[test]
    fn a_role_that_is_not_a_string_is_given_as_json() {
        assert_eq!(token(json!({ "role": 7 })).role(), Some("7"));
        assert_eq!(token(json!({ "role": ["a"] })).role(), Some(r#"["a"]"#));
        assert_eq!(token(json!({ "role": null })).role(), None);
        assert_eq!(token(json!({ "sub": 7 })).sub(), None);
    }

    #[test]
    fn claims_for_the_database_carry_the_effective_role() {
        let silent = token(json!({ "sub": "u1" }));
        let plain = token(json!({ "role": "editor" }));
        let odd = token(json!({ "role": 7 }));

        assert_eq!(
            silent.claims_text_as("anon"),
            r#"{"role":"anon","sub":"u1"}"#
        );
        assert!(matches!(plain.claims_text_as("editor"), Cow::Borrowed(_)));
        assert_eq!(odd.claims_text_as("7"), r#"{"role":"7"}"#);
    }

    #[test]
    fn claims_must_be_a_json_object() {
        for payload in [
            "",
            "[]",
            "null",
            "7",
            r#""text""#,
            "{",
            "{}{}",
            "\u{feff}{}",
        ] {
            let result = VerifiedToken::read(payload.into(), Algorithm::Hs256, None);
            assert_eq!(
                result.unwrap_err(),
                TokenError::ClaimsNotAnObject,
                "{payload}"
            );
        }
        let not_text = VerifiedToken::read(vec![b'{', 0xff, b'}'], Algorithm::Hs256, None);
        assert_eq!(not_text.unwrap_err(), TokenError::ClaimsNotAnObject);
    }
}
