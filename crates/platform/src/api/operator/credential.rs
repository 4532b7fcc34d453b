//! From a request to an operator: the control socket, a personal access token, or an access token of project
//! zero, whose session is looked up.

use axum::http::{header::AUTHORIZATION, request::Parts};
use plinth_project::{Credentials, ProjectName};
use plinth_token::{ClaimRules, VerifiedToken};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{ControlSocket, Operator, Proof, RequestOrigin};
use crate::{
    Platform, PlatformError, StoredToken,
    members::Roles,
    operators::{NotOperator, OperatorUser, SessionProof},
};

/// The audience and the role that access tokens of users have.
const AUTHENTICATED: &str = "authenticated";

/// In access tokens of OAuth applications.
const CLIENT_CLAIM: &str = "client_id";
/// In access tokens that an operator made to act as a user.
const IMPERSONATION_CLAIM: &str = "plinth_impersonated_by";

const NOT_LIVE_TOKEN: PlatformError =
    PlatformError::Unauthorized("This access token is unknown, expired or revoked");
const NOT_LIVE_SESSION: PlatformError =
    PlatformError::Unauthorized("This session has ended, or the account is blocked: sign in again");

pub(super) async fn authenticate(
    parts: &Parts,
    platform: &Platform,
) -> Result<Operator, PlatformError> {
    let origin = RequestOrigin::read(parts);
    if parts.extensions.get::<ControlSocket>().is_some() {
        return Ok(Operator {
            name: "control socket".to_owned(),
            proof: Proof::ControlSocket,
            user: None,
            roles: Roles::of_owner(),
            origin,
            has_owner_logins: platform.cluster().has_owner_logins,
            allowed: None,
        });
    }
    let text = bearer(parts)?;
    if text.starts_with("sbp_") {
        let token = platform.find_token(text).await?.ok_or(NOT_LIVE_TOKEN)?;
        return Operator::of_token(platform, token, origin).await;
    }
    let claims = SessionClaims::verify(platform, text).await?;
    Operator::of_session(platform, claims, origin).await
}

fn bearer(parts: &Parts) -> Result<&str, PlatformError> {
    let header = parts.headers.get(AUTHORIZATION);
    let header = header.and_then(|value| value.to_str().ok());
    let Some((scheme, text)) = header.and_then(|header| header.split_once(' ')) else {
        return Err(PlatformError::Unauthorized(
            "A personal access token is needed: Authorization: Bearer sbp_… \
             (make one with `plinth tokens create`), or an operator's access token",
        ));
    };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(PlatformError::Unauthorized(
            "Only Bearer authorization is accepted",
        ));
    }
    Ok(text.trim())
}

/// Who an access token of project zero is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionClaims {
    user: Uuid,
    session: Uuid,
    expires_at: i64,
}

impl SessionClaims {
    /// Verifies it with project zero's keys alone. Whether the session lives is another question.
    async fn verify(platform: &Platform, text: &str) -> Result<Self, PlatformError> {
        const INVALID: PlatformError =
            PlatformError::Unauthorized("This access token is not valid, or expired");
        let project = platform.open(&ProjectName::Platform).await?;
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let caller = Credentials::read_bearer(&project, text, now).map_err(|_| INVALID)?;
        let token = caller.token().ok_or(INVALID)?;
        let rules = ClaimRules::exact(now).with_audience(AUTHENTICATED);
        token.check(&rules).map_err(|_| INVALID)?;
        Self::read(token).ok_or(INVALID)
    }

    /// API keys and ID tokens are signed by the same keys, but are of no session.
    fn read(token: &VerifiedToken) -> Option<Self> {
        let claims = token.claims();
        let is_of_user = token.role() == Some(AUTHENTICATED) && claims.contains_key("aud");
        // Of an application that acts for the user, or of an operator who does.
        let is_delegated = [CLIENT_CLAIM, IMPERSONATION_CLAIM]
            .iter()
            .any(|claim| claims.contains_key(*claim));
        if !is_of_user || is_delegated {
            return None;
        }
        Some(Self {
            user: token.sub()?.parse().ok()?,
            session: token.session_id()?.parse().ok()?,
            expires_at: token.exp()?,
        })
    }
}

impl Operator {
    pub(super) async fn of_token(
        platform: &Platform,
        token: StoredToken,
        origin: RequestOrigin,
    ) -> Result<Self, PlatformError> {
        let Some(user) = token.user else {
            return Ok(Self {
                name: format!("token {}", token.name),
                proof: Proof::Token(token),
                user: None,
                roles: Roles::of_owner(),
                origin,
                has_owner_logins: platform.cluster().has_owner_logins,
                allowed: None,
            });
        };
        let user = platform.find_operator(user).await?;
        // Of somebody who is no operator any more, nothing is left.
        let user = user.map_err(|_| NOT_LIVE_TOKEN)?;
        let roles = platform.roles_of(user.id).await?;
        Ok(Self {
            name: format!("token {} of {}", token.name, user.email),
            proof: Proof::Token(token),
            user: Some(user),
            roles,
            origin,
            has_owner_logins: platform.cluster().has_owner_logins,
            allowed: None,
        })
    }

    async fn of_session(
        platform: &Platform,
        claims: SessionClaims,
        origin: RequestOrigin,
    ) -> Result<Self, PlatformError> {
        let SessionClaims {
            user,
            session,
            expires_at,
        } = claims;
        let found = platform.find_signed_in(user, session, expires_at).await?;
        let (user, session) = found.map_err(refused)?;
        let roles = platform.roles_of(user.id).await?;
        Ok(Self::with_session(platform, user, session, roles, origin))
    }

    pub(super) fn with_session(
        platform: &Platform,
        user: OperatorUser,
        session: SessionProof,
        roles: Roles,
        origin: RequestOrigin,
    ) -> Self {
        Self {
            name: user.email.clone(),
            proof: Proof::Session(session),
            user: Some(user),
            roles,
            origin,
            has_owner_logins: platform.cluster().has_owner_logins,
            allowed: None,
        }
    }
}

fn refused(reason: NotOperator) -> PlatformError {
    match reason {
        NotOperator::Ended => NOT_LIVE_SESSION,
        NotOperator::Ordinary => PlatformError::Forbidden(
            "This account is no operator: an owner or admin invites operators".to_owned(),
        ),
    }
}

/// The user of an access token of project zero who need not be an operator, as whoever accepts an invitation.
/// `None` without a credential.
pub(in crate::api) async fn signed_in_user(
    parts: &Parts,
    platform: &Platform,
) -> Result<Option<OperatorUser>, PlatformError> {
    if parts.headers.get(AUTHORIZATION).is_none() {
        return Ok(None);
    }
    let claims = SessionClaims::verify(platform, bearer(parts)?).await?;
    let user = platform.find_invited(claims.user, claims.session).await?;
    user.map(Some).ok_or(NOT_LIVE_SESSION)
}

/// Whether a credential can only be an operator's: then it is none of a project.
pub(in crate::api) async fn is_operators(
    parts: &Parts,
    platform: &Platform,
) -> Result<bool, PlatformError> {
    if parts.extensions.get::<ControlSocket>().is_some() {
        return Ok(true);
    }
    match bearer(parts) {
        Ok(text) if text.starts_with("sbp_") => Ok(true),
        Ok(text) => match SessionClaims::verify(platform, text).await {
            Ok(_) => Ok(true),
            Err(PlatformError::Unauthorized(_)) => Ok(false),
            Err(error) => Err(error),
        },
        Err(_) => Ok(false),
    }
}
