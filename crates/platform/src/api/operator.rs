//! Authentication of the platform API.
//!
//! Over TCP: a personal access token. On the machine itself: the control socket, which only the
//! OS user who started the server can open, and which therefore counts as owner (L7).

use std::time::Duration;

use axum::{
    extract::{FromRequestParts, MatchedPath},
    http::{header::AUTHORIZATION, request::Parts},
};
use plinth_project::{DatabaseAccess, ProjectName, ProjectRef, RequestId};
use time::OffsetDateTime;

use super::scopes::{RequiredScope, required_scope};
use crate::{Platform, PlatformError, StoredToken, TokenLimits};

/// How often the token of a streaming response is checked again.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// Marks requests that came in over the control socket. Only its listener sets it.
#[derive(Debug, Clone, Copy)]
pub struct ControlSocket;

/// A verified operator; it can only be obtained by authentication.
#[derive(Debug, Clone)]
pub struct Operator {
    name: String,
    /// Absent for the owner.
    token: Option<StoredToken>,
    request_id: Option<RequestId>,
}

impl Operator {
    /// Name for the audit log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For operations that no token may do.
    pub fn require_owner(&self) -> Result<(), PlatformError> {
        if self.is_owner() {
            Ok(())
        } else {
            Err(PlatformError::Forbidden(
                "An access token may not do this; use `plinth` on the server's own machine"
                    .to_owned(),
            ))
        }
    }

    /// Whether project zero may be accessed.
    pub(super) fn is_owner(&self) -> bool {
        self.token.is_none()
    }

    /// The personal access token; none for the owner.
    pub(super) fn token(&self) -> Option<&StoredToken> {
        self.token.as_ref()
    }

    /// Whether the operator is the owner, or the token is its own or was created by it.
    pub(super) fn may_manage(&self, token: &StoredToken) -> bool {
        self.token
            .as_ref()
            .is_none_or(|own| own.id == token.id || token.parent == Some(own.id))
    }

    /// Whether the operator has this scope.
    pub(super) fn has_scope(&self, scope: &str) -> bool {
        self.token
            .as_ref()
            .is_none_or(|token| token.limits.allow(scope))
    }

    /// For scopes beyond the one of the route.
    pub(super) fn require_scope(&self, scope: &str) -> Result<(), PlatformError> {
        match &self.token {
            Some(token) if !self.has_scope(scope) => Err(missing_scope(&token.limits, &[scope])),
            _ => Ok(()),
        }
    }

    /// What the operator may do in the database of a project that it can access.
    pub(super) fn database_access(&self, _project: &ProjectRef) -> DatabaseAccess {
        DatabaseAccess::Owner
    }

    /// Whether the operator may access a project.
    pub(super) fn can_access(&self, project: &ProjectRef) -> bool {
        self.token
            .as_ref()
            .is_none_or(|token| token.can_access(project))
    }

    pub(super) fn require_access(&self, project: &ProjectRef) -> Result<(), PlatformError> {
        if self.can_access(project) {
            Ok(())
        } else {
            Err(PlatformError::Forbidden(format!(
                "This access token is bound to other projects than {project}"
            )))
        }
    }

    /// Parses a project of `/v1`, which accepts refs only (F4), and checks access to it.
    pub(super) fn project_by_ref(
        &self,
        platform: &Platform,
        text: &str,
    ) -> Result<ProjectName, PlatformError> {
        let reference: Result<ProjectRef, _> = text.parse();
        let name = reference
            .map(ProjectName::Ref)
            .map_err(|_| PlatformError::no_project(text))?;
        self.with_access(platform, name)
    }

    /// Parses a project of `/platform`, which accepts aliases too, and checks access to it.
    pub(super) fn project_by_name(
        &self,
        platform: &Platform,
        text: &str,
    ) -> Result<ProjectName, PlatformError> {
        let name = text.parse().map_err(|_| PlatformError::no_project(text))?;
        self.with_access(platform, name)
    }

    /// Project zero is for the owner only: its keys and tables would give a token all rights.
    fn with_access(
        &self,
        platform: &Platform,
        name: ProjectName,
    ) -> Result<ProjectName, PlatformError> {
        let reference = platform.reference_of(&name);
        if reference == platform.references().platform {
            self.require_owner()?;
        }
        self.require_access(&reference)?;
        Ok(name)
    }

    /// Completes when the operator's token has expired or was revoked; never for the owner.
    pub(super) async fn until_token_ends(self, platform: Platform) {
        let Some(token) = self.token else {
            return std::future::pending().await;
        };
        loop {
            let left = token.expires_at.map(|at| at - OffsetDateTime::now_utc());
            let delay = match left.map(Duration::try_from) {
                Some(Ok(left)) if !left.is_zero() => left.min(TOKEN_CHECK_INTERVAL),
                Some(_) => return,
                None => TOKEN_CHECK_INTERVAL,
            };
            tokio::time::sleep(delay).await;
            // An unreachable database does not end the stream.
            if matches!(platform.is_live(&token).await, Ok(false)) {
                return;
            }
        }
    }

    /// The id of the operator's request.
    pub fn request_id(&self) -> Option<String> {
        self.request_id.as_ref().map(ToString::to_string)
    }
}

impl FromRequestParts<Platform> for Operator {
    type Rejection = PlatformError;

    async fn from_request_parts(
        parts: &mut Parts,
        platform: &Platform,
    ) -> Result<Self, PlatformError> {
        let request_id = parts.extensions.get::<RequestId>().cloned();
        if parts.extensions.get::<ControlSocket>().is_some() {
            return Ok(Self {
                name: "control socket".to_owned(),
                token: None,
                request_id,
            });
        }
        let header = parts
            .headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let Some((scheme, text)) = header.and_then(|header| header.split_once(' ')) else {
            return Err(PlatformError::Unauthorized(
                "A personal access token is needed: Authorization: Bearer sbp_… \
                 (make one with `plinth tokens create`)",
            ));
        };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(PlatformError::Unauthorized(
                "Only Bearer authorization is accepted",
            ));
        }
        let Some(token) = platform.find_token(text.trim()).await? else {
            return Err(PlatformError::Unauthorized(
                "This access token is unknown, expired or revoked",
            ));
        };
        let route = parts.extensions.get::<MatchedPath>();
        let route = route.map_or("", MatchedPath::as_str);
        check_scope(&token.limits, required_scope(&parts.method, route))?;
        Ok(Self {
            name: format!("token {}", token.name),
            token: Some(token),
            request_id,
        })
    }
}

/// Whether a token has the scope of a call; access to the project is checked separately.
fn check_scope(limits: &TokenLimits, required: RequiredScope) -> Result<(), PlatformError> {
    match required {
        RequiredScope::Nothing => Ok(()),
        RequiredScope::OneOf(scopes) if scopes.iter().any(|scope| limits.allow(scope)) => Ok(()),
        RequiredScope::OneOf(scopes) => Err(missing_scope(limits, scopes)),
        RequiredScope::OnAllProjects(scope) if !limits.allow(scope) => {
            Err(missing_scope(limits, &[scope]))
        }
        RequiredScope::OnAllProjects(_) if limits.projects.is_none() => Ok(()),
        RequiredScope::OnAllProjects(_) => Err(PlatformError::Forbidden(
            "This access token is bound to projects, and this concerns all of them".to_owned(),
        )),
        RequiredScope::Unrestricted if *limits == TokenLimits::default() => Ok(()),
        RequiredScope::Unrestricted => Err(PlatformError::Forbidden(
            "Only an access token without limits may do this".to_owned(),
        )),
    }
}

fn missing_scope(limits: &TokenLimits, scopes: &[&str]) -> PlatformError {
    let scopes = scopes.join(" or ");
    PlatformError::Forbidden(if limits.read_only {
        format!("This access token is read-only; this needs the scope {scopes}")
    } else {
        format!("This access token may not do this; it needs the scope {scopes}")
    })
}
