//! Authentication: the caller and the database role (rest contract §4.1).
//!
//! In the full server the gateway has verified the credentials with the project's keys; a
//! standalone service verifies bearer tokens itself. The result is an [`Identity`], or an error in
//! PostgREST's wording.

mod bearer;
mod token_error;

use http::request::Parts;
use plinth_project::{Caller, CallerError, Credentials};
use plinth_token::ClaimRules;

use crate::{RestConfig, RestError};

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    /// Whether the role is `db-anon-role`. A lack of privileges is then 401, not 403.
    pub(crate) is_anonymous: bool,
}

impl Identity {
    /// `now` is in seconds since 1970.
    pub(crate) fn from_request(
        parts: &Parts,
        config: &RestConfig,
        now: i64,
    ) -> Result<Self, RestError> {
        let caller = match &config.jwt {
            Some(jwt) => match bearer::find_token(&parts.headers) {
                Some(token) => Some(bearer::verify_caller(&token, jwt, config, now)?),
                None => None,
            },
            None => from_gateway(parts.extensions.get(), config, now)?,
        };
        let caller = match caller {
            Some(caller) => caller,
            None => {
                let role = config.anon_role.as_deref();
                Caller::anonymous(role.ok_or(RestError::AnonymousDisabled)?)
            }
        };
        let is_anonymous = config.anon_role.as_deref() == Some(caller.role());
        Ok(Self {
            caller,
            is_anonymous,
        })
    }
}

/// The gateway has verified the token; `jwt-aud` and `jwt-role-claim-key` are checked here.
fn from_gateway(
    credentials: Option<&Credentials>,
    config: &RestConfig,
    now: i64,
) -> Result<Option<Caller>, RestError> {
    let caller = match credentials.map(Credentials::caller) {
        None | Some(Err(CallerError::Missing)) => return Ok(None),
        Some(caller) => caller?,
    };
    let Some(token) = caller.token() else {
        return Ok(Some(caller));
    };
    if let Some(audience) = &config.jwt_aud {
        token.check(&ClaimRules::rest(now).with_audience(audience))?;
    }
    // The gateway has taken the role from the default claim.
    if config.role_claim.is_default() {
        return Ok(Some(caller));
    }
    bearer::caller_of(token.clone(), config).map(Some)
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request, header::AUTHORIZATION};
    use plinth_token::KeySet;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::PostgrestConfig;

    const SECRET: &str = "reallyreallyreallyreallyverysafe";
    const NOW: i64 = 1_800_000_000;

    fn config(pairs: &[(&str, &str)]) -> RestConfig {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = format!("PGRST_{}", name.replace('-', "_").to_uppercase());
            (name, (*value).to_owned())
        });
        PostgrestConfig::load(None, pairs.collect::<Vec<_>>())
            .expect("good settings")
            .rest
    }

    fn usual() -> RestConfig {
        config(&[("jwt-secret", SECRET), ("db-anon-role", "anonymous")])
    }

    fn sign(claims: &Value) -> String {
        let keys = KeySet::builder().legacy_secret(SECRET).build();
        keys.expect("a good secret").sign(claims).expect("signed")
    }

    fn identify(config: &RestConfig, authorization: Option<&str>) -> Result<Identity, RestError> {
        let mut request = Request::new(());
        if let Some(text) = authorization {
            let value = HeaderValue::from_str(text).expect("a header");
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Identity::from_request(&request.into_parts().0, config, NOW)
    }

    #[track_caller]
    fn rejected(config: &RestConfig, authorization: &str) -> (u16, String, String, Value) {
        let error = identify(config, Some(authorization)).expect_err("rejected");
        let rendered = error.render();
        (
            rendered.status.as_u16(),
            rendered.code,
            rendered.message,
            rendered.details,
        )
    }

    #[track_caller]
    fn check_rejected(token: &str, code: &str, message: &str, details: Option<&str>) {
        let expected = (
            401,
            code.to_owned(),
            message.to_owned(),
            details.map_or(Value::Null, Value::from),
        );
        assert_eq!(rejected(&usual(), &format!("Bearer {token}")), expected);
    }

    #[test]
    fn without_a_token_the_role_is_anonymous() {
        for header in [None, Some("Basic abc"), Some("Bearerx y")] {
            let identity = identify(&usual(), header).expect("anonymous");

            assert_eq!(identity.caller.role(), "anonymous");
            assert_eq!(identity.caller.claims(), r#"{"role":"anonymous"}"#);
            assert!(identity.is_anonymous);
        }
    }

    #[test]
    fn a_good_token_gives_its_role_and_claims() {
        let token = sign(&json!({ "role": "author", "id": "jdoe" }));
        for scheme in ["Bearer", "bearer", "BEARER"] {
            let identity = identify(&usual(), Some(&format!("{scheme} {token}"))).expect("author");

            assert_eq!(identity.caller.role(), "author");
            assert!(!identity.is_anonymous);
            let claims: Value = serde_json::from_str(identity.caller.claims()).expect("JSON");
            assert_eq!(claims, json!({ "role": "author", "id": "jdoe" }));
        }
    }

    #[test]
    fn a_token_without_a_role_is_anonymous() {
        let token = sign(&json!({ "id": "jdoe" }));
        let identity = identify(&usual(), Some(&format!("Bearer {token}"))).expect("anonymous");

        assert_eq!(identity.caller.role(), "anonymous");
        assert!(identity.is_anonymous);
        assert_eq!(
            identity.caller.claims(),
            r#"{"id":"jdoe","role":"anonymous"}"#
        );
    }

    #[test]
    fn tokens_that_cannot_be_decoded_are_rejected_in_postgrests_words() {
        let good = sign(&json!({ "role": "author" }));
        let (head, _) = good.rsplit_once('.').expect("three parts");
        let payload = head.split_once('.').expect("two parts").1;
        let with_header = |header: &str| format!("{header}.{payload}.AAAA");
        let key_error = "No suitable key or wrong key type";
        let crypto = "JWT cryptographic operation failed";
        let check = |token: &str, message: &str, details| {
            check_rejected(token, "PGRST301", message, details);
        };

        check("", "Empty JWT is sent in Authorization header", None);
        check("a.b", "Expected 3 parts in JWT; got 2", None);
        check("a.b.c.d.e", "Expected 3 parts in JWT; got 5", None);
        check(
            &format!("{head}.AAAA"),
            key_error,
            Some("None of the keys was able to decode the JWT"),
        );
        // {"alg":"RS256"}
        check(
            &with_header("eyJhbGciOiJSUzI1NiJ9"),
            key_error,
            Some("No suitable key was found to decode the JWT"),
        );
        // {"alg":"HS256","kid":"x"}
        check(
            &with_header("eyJhbGciOiJIUzI1NiIsImtpZCI6IngifQ"),
            key_error,
            Some("No suitable key was found to decode the JWT"),
        );
        // {"alg":"none"}
        check(
            &with_header("eyJhbGciOiJub25lIn0"),
            "Wrong or unsupported encoding algorithm",
            Some("JWT is unsecured but expected 'alg' was not 'none'"),
        );
        // {"alg":"XX"}
        check(&with_header("eyJhbGciOiJYWCJ9"), crypto, None);
        check(&with_header("!!"), crypto, None);
        check(&format!("{head}.!!"), crypto, None);
    }

    #[test]
    fn claims_that_do_not_hold_are_rejected_in_postgrests_words() {
        let check = |claims: Value, message: &str| {
            check_rejected(&sign(&claims), "PGRST303", message, None);
        };

        check(json!([]), "Parsing claims failed");
        check(json!({ "exp": NOW - 31 }), "JWT expired");
        check(json!({ "nbf": NOW + 31 }), "JWT not yet valid");
        check(json!({ "iat": NOW + 31 }), "JWT issued at future");
        for claim in ["exp", "nbf", "iat"] {
            check(
                json!({ claim: "x" }),
                &format!("The JWT '{claim}' claim must be a number"),
            );
        }
        check(
            json!({ "aud": 7 }),
            "The JWT 'aud' claim must be a string or an array of strings",
        );
    }

    #[test]
    fn an_audience_is_required_only_when_one_is_configured() {
        let strict = config(&[
            ("jwt-secret", SECRET),
            ("db-anon-role", "anonymous"),
            ("jwt-aud", "ours"),
        ]);
        let theirs = format!("Bearer {}", sign(&json!({ "aud": ["theirs"] })));
        let ours = format!("Bearer {}", sign(&json!({ "aud": ["theirs", "ours"] })));

        assert!(identify(&usual(), Some(&theirs)).is_ok());
        assert!(identify(&strict, Some(&ours)).is_ok());
        assert_eq!(rejected(&strict, &theirs).2, "JWT not in audience");
    }

    #[test]
    fn the_role_stands_where_the_settings_say() {
        let config = config(&[
            ("jwt-secret", SECRET),
            ("jwt-role-claim-key", "$.app.roles[?(@ != \"other\")]"),
        ]);
        let token = sign(&json!({ "app": { "roles": ["other", "author"] }, "role": "x" }));

        let identity = identify(&config, Some(&format!("Bearer {token}"))).expect("author");

        assert_eq!(identity.caller.role(), "author");
    }

    #[test]
    fn without_an_anonymous_role_a_token_with_a_role_is_needed() {
        let config = config(&[("jwt-secret", SECRET)]);
        let roleless = format!("Bearer {}", sign(&json!({})));

        for header in [None, Some(roleless.as_str())] {
            let error = identify(&config, header).expect_err("rejected");
            assert!(matches!(error, RestError::AnonymousDisabled), "{error}");
        }
    }

    #[test]
    fn without_a_secret_every_token_is_our_own_mistake() {
        let config = config(&[("db-anon-role", "anonymous")]);

        for token in ["", "a.b.c"] {
            let (status, code, message, _) = rejected(&config, &format!("Bearer {token}"));
            assert_eq!(
                (status, code.as_str(), message.as_str()),
                (500, "PGRST300", "Server lacks JWT secret")
            );
        }
        assert!(identify(&config, None).is_ok());
    }
}
