//! What a service gets to know about the caller.
//!
//! REST, storage and auth read the verified caller that the edge hands over, so no token is made that
//! policies or functions of the database could read and return. Realtime and functions need a text:
//! a token of the project that lives as briefly as possible.

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use plinth_project::{
    Caller, CallerError, Credentials, IMPERSONATION_CLAIM, Project, ProjectService,
};
use plinth_token::{ANON_ROLE, SERVICE_ROLE};
use serde_json::{Map, Value};
use time::OffsetDateTime;

use super::{Subject, Target};
use crate::PlatformError;

/// A function checks the token when it is called.
const CALL_SECONDS: i64 = 300;
/// A socket lives for as long as its token. It is closed earlier when the operator's right to it ends.
const SOCKET_SECONDS: i64 = 24 * 3600;

/// The claims of a user, where the subject is one.
pub(crate) enum Proof {
    /// A role without a user.
    Role(&'static str),
    /// Claims to be signed.
    Claims(Map<String, Value>),
}

impl Proof {
    /// `user` are the claims of the subject's user, if it is one.
    pub(crate) fn of(
        subject: &Subject,
        user: Option<Map<String, Value>>,
        operator: &str,
    ) -> Result<Self, PlatformError> {
        let mut claims = match (subject, user) {
            (Subject::Service, _) => return Ok(Self::Role(SERVICE_ROLE)),
            (Subject::Anonymous, _) => return Ok(Self::Role(ANON_ROLE)),
            (Subject::Claims(claims), _) => claims.clone(),
            (Subject::User(_), Some(claims)) => claims,
            (Subject::User(_), None) => {
                return Err(PlatformError::internal("the user's claims are missing"));
            }
        };
        claims.remove("nbf");
        claims
            .entry("aud")
            .or_insert_with(|| Value::from("authenticated"));
        claims.insert(IMPERSONATION_CLAIM.to_owned(), operator.into());
        Ok(Self::Claims(claims))
    }

    /// The credentials as the edge would have verified them. Services that read a credential
    /// themselves find it in the headers; `Some` is the value of realtime's query parameter.
    pub(crate) fn attach(
        self,
        project: &Project,
        target: Target<'_>,
        headers: &mut HeaderMap,
    ) -> Result<(Credentials, Option<String>), PlatformError> {
        let (seconds, is_read_by_service) = match target.service {
            ProjectService::Realtime => (SOCKET_SECONDS, true),
            ProjectService::Functions => (CALL_SECONDS, true),
            _ => (CALL_SECONDS, false),
        };
        let claims = match self {
            Self::Role(role) if !is_read_by_service => {
                return Ok((credentials(Ok(Caller::for_service(role))), None));
            }
            Self::Role(role) => {
                let mut claims = Map::new();
                claims.insert("role".to_owned(), role.into());
                claims.insert("iss".to_owned(), "plinth".into());
                claims
            }
            Self::Claims(claims) => claims,
        };
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let token = sign(project, claims, now, seconds)?;
        let caller = Credentials::read_bearer(project, &token, now);
        let credentials = credentials(caller);
        match target.service {
            ProjectService::Realtime => Ok((credentials, Some(token))),
            ProjectService::Functions => {
                let value = HeaderValue::from_str(&format!("Bearer {token}"));
                headers.insert(AUTHORIZATION, value.map_err(PlatformError::caused_by)?);
                Ok((credentials, None))
            }
            _ => Ok((credentials, None)),
        }
    }
}

fn credentials(caller: Result<Caller, CallerError>) -> Credentials {
    Credentials {
        api_key: Some(caller.clone()),
        bearer: Some(caller),
    }
}

fn sign(
    project: &Project,
    mut claims: Map<String, Value>,
    now: i64,
    seconds: i64,
) -> Result<String, PlatformError> {
    claims.insert("iat".to_owned(), now.into());
    claims.insert("exp".to_owned(), (now + seconds).into());
    let signed = project.keys().keyset.sign(&claims);
    signed.map_err(PlatformError::caused_by)
}
