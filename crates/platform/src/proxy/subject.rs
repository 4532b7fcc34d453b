//! `x-plinth-as`: as whom a service is called.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use plinth_project::DatabaseAccess;
use plinth_token::{ANON_ROLE, SERVICE_ROLE};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::PlatformError;

/// Larger claims fit into no header of a token.
const MAX_CLAIMS_BYTES: usize = 4096;

/// Roles that every operator may take: they reach no further than the proxy's own.
const USUAL_ROLES: [&str; 3] = [ANON_ROLE, "authenticated", SERVICE_ROLE];

/// As whom a service is called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Subject {
    /// The service role.
    Service,
    /// Someone who is not signed in.
    Anonymous,
    /// A user, with the claims that a token of this user has.
    User(Uuid),
    /// Any claims.
    Claims(Map<String, Value>),
}

impl Subject {
    /// Reads the header's text.
    pub(crate) fn parse(text: &str) -> Result<Self, PlatformError> {
        let text = text.trim();
        match text.split_once(':') {
            None if text == "anon" => Ok(Self::Anonymous),
            None if text == "service" || text.is_empty() => Ok(Self::Service),
            Some(("user", id)) => match id.parse() {
                Ok(id) => Ok(Self::User(id)),
                Err(_) => Err(invalid("user:<id> needs the id of a user")),
            },
            Some(("claims", encoded)) => claims(encoded).map(Self::Claims),
            _ => Err(invalid(
                "it is anon, user:<id> or claims:<base64url of a JSON object>",
            )),
        }
    }

    /// Roles that the project made may have rights that operators do not have.
    pub(crate) fn check_role(&self, access: DatabaseAccess) -> Result<(), PlatformError> {
        let Self::Claims(claims) = self else {
            return Ok(());
        };
        let is_usual = match claims.get("role") {
            None => true,
            Some(Value::String(role)) => USUAL_ROLES.contains(&role.as_str()),
            Some(_) => return Err(invalid("the claim role is a text")),
        };
        if is_usual || access == DatabaseAccess::Owner {
            Ok(())
        } else {
            Err(PlatformError::Forbidden(format!(
                "Your role may call services as {} only",
                USUAL_ROLES.join(", ")
            )))
        }
    }

    /// For the audit log.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Service => SERVICE_ROLE.to_owned(),
            Self::Anonymous => ANON_ROLE.to_owned(),
            Self::User(id) => format!("user:{id}"),
            Self::Claims(claims) => {
                let claim = |name| claims.get(name).and_then(Value::as_str).unwrap_or("-");
                format!("claims: role {}, sub {}", claim("role"), claim("sub"))
            }
        }
    }
}

fn claims(encoded: &str) -> Result<Map<String, Value>, PlatformError> {
    if encoded.len() > MAX_CLAIMS_BYTES {
        return Err(invalid("the claims are too large"));
    }
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(encoded.trim_end_matches('='));
    let bytes = bytes.map_err(|_| invalid("the claims are not base64url"))?;
    serde_json::from_slice(&bytes).map_err(|_| invalid("the claims are no JSON object"))
}

fn invalid(reason: &str) -> PlatformError {
    PlatformError::Invalid(format!("x-plinth-as: {reason}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn encoded(claims: &Value) -> String {
        format!(
            "claims:{}",
            BASE64_URL_SAFE_NO_PAD.encode(claims.to_string())
        )
    }

    #[test]
    fn a_subject_is_read() {
        let id = "9b4e3c5e-8d1e-4e47-9f36-5c1f3f6f6b1d";
        let check =
            |text: &str, expected| assert_eq!(Subject::parse(text).ok(), expected, "{text}");
        check("anon", Some(Subject::Anonymous));
        check("", Some(Subject::Service));
        check(
            &format!("user:{id}"),
            Some(Subject::User(id.parse().expect("an id"))),
        );
        let Value::Object(claims) = json!({ "role": "anon", "a": [1] }) else {
            unreachable!()
        };
        check(
            &encoded(&json!({ "role": "anon", "a": [1] })),
            Some(Subject::Claims(claims)),
        );
        for text in [
            "user:",
            "user:1",
            "root",
            "anon:",
            "Anon",
            "claims:",
            "claims:%%%",
            "claims:W10",
            "claims:e30, claims:e30",
        ] {
            check(text, None);
        }
        let huge = json!({ "a": "x".repeat(MAX_CLAIMS_BYTES) });
        check(&encoded(&huge), None);
    }

    #[test]
    fn roles_of_the_project_are_for_its_developers() {
        let subject = |role: Value| Subject::parse(&encoded(&json!({ "role": role })));
        let check = |role: &str, access, expected| {
            let subject = subject(role.into()).expect("a subject");
            assert_eq!(subject.check_role(access).is_ok(), expected, "{role}");
        };
        check("authenticated", DatabaseAccess::Reader, true);
        check("service_role", DatabaseAccess::Editor, true);
        check("manager", DatabaseAccess::Editor, false);
        check("manager", DatabaseAccess::Owner, true);
        let odd = subject(json!(["anon"])).expect("a subject");
        assert!(odd.check_role(DatabaseAccess::Owner).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in ".*") {
            let _ = Subject::parse(&text);
            let _ = Subject::parse(&format!("claims:{text}"));
        }
    }
}
