//! Claims that an access token must have, whatever a hook returns.

use serde_json::Value;

use crate::{AuthError, model::Object};

const REQUIRED: [&str; 10] = [
    "aud",
    "exp",
    "iat",
    "sub",
    "email",
    "phone",
    "role",
    "aal",
    "session_id",
    "is_anonymous",
];

/// Types of known claims, required or not.
const KINDS: [(&str, Kind); 16] = [
    ("aud", Kind::TextOrList),
    ("exp", Kind::Integer),
    ("jti", Kind::Text),
    ("iat", Kind::Integer),
    ("iss", Kind::Text),
    ("nbf", Kind::Integer),
    ("sub", Kind::Text),
    ("email", Kind::Text),
    ("phone", Kind::Text),
    ("app_metadata", Kind::Object),
    ("user_metadata", Kind::Object),
    ("role", Kind::Text),
    ("aal", Kind::Text),
    ("amr", Kind::TextsOrObjects),
    ("session_id", Kind::Text),
    ("client_id", Kind::Text),
];

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Integer,
    Object,
    TextOrList,
    TextsOrObjects,
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Integer => is_integer(value),
            Self::Object => value.is_object(),
            Self::TextOrList => value.is_string() || value.is_array(),
            Self::TextsOrObjects => value
                .as_array()
                .is_some_and(|items| items.iter().all(|i| i.is_string() || i.is_object())),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "an integer",
            Self::Object => "an object",
            Self::TextOrList => "a string or an array",
            Self::TextsOrObjects => "an array of strings or objects",
        }
    }
}

/// `1.0` counts too.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// The claims in a hook's response, if they are valid for a token.
pub(super) fn from_response(mut response: Object) -> Result<Object, AuthError> {
    let claims = match response.remove("claims") {
        Some(Value::Object(claims)) => claims,
        Some(_) => return Err(AuthError::hook_claims_not_object()),
        None => return Err(AuthError::hook_claims_missing()),
    };
    let problems = problems(&claims);
    if problems.is_empty() {
        Ok(claims)
    } else {
        Err(AuthError::hook_claims_invalid(&problems.concat()))
    }
}

fn problems(claims: &Object) -> Vec<String> {
    let missing = REQUIRED.iter().filter(|name| !claims.contains_key(**name));
    let missing = missing.map(|name| format!("- {name} is required\n"));
    let misfits = KINDS.iter().filter_map(|(name, kind)| {
        let value = claims.get(*name)?;
        (!kind.fits(value)).then(|| format!("- {name} must be {}\n", kind.name()))
    });
    missing.chain(misfits).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Code;

    fn good() -> Value {
        json!({
            "aud": "authenticated", "exp": 1, "iat": 1, "sub": "s", "email": "", "phone": "",
            "role": "authenticated", "aal": "aal1", "session_id": "s", "is_anonymous": false,
            "amr": [{ "method": "password" }], "app_metadata": {}, "own": [1],
        })
    }

    fn check(claims: Value) -> Result<Object, AuthError> {
        let Value::Object(response) = json!({ "claims": claims }) else {
            unreachable!()
        };
        from_response(response)
    }

    #[test]
    fn complete_claims_pass_with_whatever_was_added() {
        let claims = check(good()).expect("good");
        assert_eq!(claims.get("own"), Some(&json!([1])));
    }

    #[test]
    fn every_required_claim_is_missed() {
        for name in REQUIRED {
            let mut claims = good();
            claims.as_object_mut().expect("an object").remove(name);

            let error = check(claims).expect_err(name);

            assert_eq!(error.status().as_u16(), 500);
            assert_eq!(error.code(), Code::UnexpectedFailure);
            assert!(error.to_string().contains(&format!("{name} is required")));
        }
    }

    #[test]
    fn every_claim_has_its_kind() {
        for (name, _) in KINDS {
            let mut claims = good();
            claims[name] = json!(1.5);

            let error = check(claims).expect_err(name);

            assert!(
                error.to_string().contains(&format!("{name} must be")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_response_without_claims_is_rejected() {
        from_response(Object::new()).expect_err("nothing");
        check(Value::Null).expect_err("null");
    }
}
