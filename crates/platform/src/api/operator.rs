//! Who may use the platform API.
//!
//! Over TCP: a personal access token. On the machine itself: the control socket, which only the
//! OS user who started the server can open, and which therefore counts as owner (L7).

use std::time::Duration;

use axum::{
    extract::{FromRequestParts, MatchedPath},
    http::{header::AUTHORIZATION, request::Parts},
};
use plinth_project::{ProjectName, ProjectRef, RequestId};
use time::OffsetDateTime;

use super::scopes::{Needs, needed};
use crate::{Platform, PlatformError, StoredToken, TokenLimits};

/// How often a long answer asks whether its token is still good.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// Marks requests that came in over the control socket. Only its listener sets it.
#[derive(Debug, Clone, Copy)]
pub struct ControlSocket;

/// Whoever operates the platform: the only way to obtain one is to be checked.
#[derive(Debug, Clone)]
pub struct Operator {
    name: String,
    /// Absent for the owner.
    token: Option<StoredToken>,
    request_id: Option<RequestId>,
}

impl Operator {
    /// For the audit trail.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Some things a token must not do.
    pub fn must_be_owner(&self) -> Result<(), PlatformError> {
        match self.is_owner() {
            true => Ok(()),
            false => Err(PlatformError::Forbidden(
                "An access token may not do this; use `plinth` on the server's own machine"
                    .to_owned(),
            )),
        }
    }

    /// Whether project zero is within reach.
    pub(super) fn is_owner(&self) -> bool {
        self.token.is_none()
    }

    /// Who asks by a token.
    pub(super) fn token(&self) -> Option<&StoredToken> {
        self.token.as_ref()
    }

    /// Whether the token is the operator's own or made by it, or the operator looks after all.
    pub(super) fn may_manage(&self, token: &StoredToken) -> bool {
        self.token
            .as_ref()
            .is_none_or(|own| own.id == token.id || token.parent == Some(own.id))
    }

    /// Whether the operator may do what needs this scope.
    pub(super) fn has(&self, scope: &str) -> bool {
        self.token
            .as_ref()
            .is_none_or(|token| token.limits.allow(scope))
    }

    /// For what a call needs beyond its route.
    pub(super) fn must_have(&self, scope: &str) -> Result<(), PlatformError> {
        match &self.token {
            Some(token) if !self.has(scope) => Err(lacks(&token.limits, &[scope])),
            _ => Ok(()),
        }
    }

    /// Whether a project is one that the operator may know of.
    pub(super) fn reaches(&self, project: &ProjectRef) -> bool {
        self.token
            .as_ref()
            .is_none_or(|token| token.reaches(project))
    }

    pub(super) fn must_reach(&self, project: &ProjectRef) -> Result<(), PlatformError> {
        match self.reaches(project) {
            true => Ok(()),
            false => Err(PlatformError::Forbidden(format!(
                "This access token is bound to other projects than {project}"
            ))),
        }
    }

    /// `/v1` takes refs only (F4).
    pub(super) fn reference(
        &self,
        platform: &Platform,
        text: &str,
    ) -> Result<ProjectName, PlatformError> {
        let reference: Result<ProjectRef, _> = text.parse();
        let name = reference
            .map(ProjectName::Ref)
            .map_err(|_| PlatformError::no_project(text))?;
        self.within_reach(platform, name)
    }

    /// `/platform` takes aliases too.
    pub(super) fn named(
        &self,
        platform: &Platform,
        text: &str,
    ) -> Result<ProjectName, PlatformError> {
        let name = text.parse().map_err(|_| PlatformError::no_project(text))?;
        self.within_reach(platform, name)
    }

    /// Project zero's keys and tables would make a token an owner.
    fn within_reach(
        &self,
        platform: &Platform,
        name: ProjectName,
    ) -> Result<ProjectName, PlatformError> {
        let reference = platform.reference_of(&name);
        if reference == platform.references().platform {
            self.must_be_owner()?;
        }
        self.must_reach(&reference)?;
        Ok(name)
    }

    /// Ends when the operator's rights have: a token that expired or was revoked.
    pub(super) async fn ends(self, platform: Platform) {
        let Some(token) = self.token else {
            return std::future::pending().await;
        };
        loop {
            let left = token.expires_at.map(|at| at - OffsetDateTime::now_utc());
            let pause = match left.map(Duration::try_from) {
                Some(Ok(left)) if !left.is_zero() => left.min(LOOK_AGAIN),
                Some(_) => return,
                None => LOOK_AGAIN,
            };
            tokio::time::sleep(pause).await;
            // A database that does not answer takes nothing away.
            if matches!(platform.is_live(&token).await, Ok(false)) {
                return;
            }
        }
    }

    /// The request in which the operator acts.
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
        check(&token.limits, needed(&parts.method, route))?;
        Ok(Self {
            name: format!("token {}", token.name),
            token: Some(token),
            request_id,
        })
    }
}

/// Whether a token may make a call at all; what it reaches is a question of its own.
fn check(limits: &TokenLimits, needs: Needs) -> Result<(), PlatformError> {
    match needs {
        Needs::Nothing => Ok(()),
        Needs::OneOf(scopes) if scopes.iter().any(|scope| limits.allow(scope)) => Ok(()),
        Needs::OneOf(scopes) => Err(lacks(limits, scopes)),
        Needs::Everywhere(scope) if !limits.allow(scope) => Err(lacks(limits, &[scope])),
        Needs::Everywhere(_) if limits.projects.is_none() => Ok(()),
        Needs::Everywhere(_) => Err(PlatformError::Forbidden(
            "This access token is bound to projects, and this concerns all of them".to_owned(),
        )),
        Needs::NoLimits if *limits == TokenLimits::default() => Ok(()),
        Needs::NoLimits => Err(PlatformError::Forbidden(
            "Only an access token without limits may do this".to_owned(),
        )),
    }
}

fn lacks(limits: &TokenLimits, scopes: &[&str]) -> PlatformError {
    let scopes = scopes.join(" or ");
    PlatformError::Forbidden(match limits.read_only {
        true => format!("This access token is read-only; this needs the scope {scopes}"),
        false => format!("This access token may not do this; it needs the scope {scopes}"),
    })
}
