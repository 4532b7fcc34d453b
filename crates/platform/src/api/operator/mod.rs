//! The operator behind a call, and what it may do.
//!
//! [`Operator`] can only be obtained by authentication ([`credential`]) and after the row of the call in the
//! access table was checked ([`authorize`]). Everything is read from the database for each request.

mod authorize;
mod credential;
mod liveness;

use std::net::IpAddr;

use axum::{
    extract::{FromRequestParts, MatchedPath, RawPathParams},
    http::request::Parts,
};
use plinth_project::{ClientAddress, DatabaseAccess, ProjectName, ProjectRef, RequestId};
use uuid::Uuid;

use super::access::{self, Access, missing_scope};
use crate::{
    Platform, PlatformError, StoredToken,
    audit::Change,
    members::{Actor, Capability, Role, Roles},
    operators::{OperatorUser, SessionProof},
};

use authorize::Target;
pub(super) use credential::{is_operators, signed_in_user};

/// Marks requests that came in over the control socket. Only its listener sets it.
#[derive(Debug, Clone, Copy)]
pub struct ControlSocket;

/// Where a request came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOrigin {
    pub(crate) address: Option<IpAddr>,
    pub(crate) request_id: Option<String>,
}

impl RequestOrigin {
    pub(super) fn read(parts: &Parts) -> Self {
        let address = parts.extensions.get::<ClientAddress>();
        let request_id = parts.extensions.get::<RequestId>();
        Self {
            address: address.map(|address| address.ip),
            request_id: request_id.map(ToString::to_string),
        }
    }
}

/// How an operator proved who it is.
#[derive(Debug, Clone)]
enum Proof {
    ControlSocket,
    Token(StoredToken),
    Session(SessionProof),
}

/// A verified operator.
#[derive(Debug, Clone)]
pub struct Operator {
    /// For the audit log.
    name: String,
    proof: Proof,
    /// None for whoever runs the server, and for tokens made over the control socket.
    user: Option<OperatorUser>,
    roles: Roles,
    origin: RequestOrigin,
    /// Whether sessions as `postgres` are those of a login that may do nothing else.
    has_owner_logins: bool,
    /// The call that was allowed, for checking it again while its response is sent.
    allowed: Option<(&'static Access, Target)>,
}

impl Operator {
    /// Name for the audit log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user of project zero, if there is one.
    pub fn user_id(&self) -> Option<Uuid> {
        self.user.as_ref().map(|user| user.id)
    }

    pub(super) fn user(&self) -> Option<&OperatorUser> {
        self.user.as_ref()
    }

    pub(super) fn roles(&self) -> &Roles {
        &self.roles
    }

    pub(crate) fn origin(&self) -> &RequestOrigin {
        &self.origin
    }

    /// The id of the operator's request.
    pub fn request_id(&self) -> Option<String> {
        self.origin.request_id.clone()
    }

    /// The personal access token, if one is used.
    pub(crate) fn token(&self) -> Option<&StoredToken> {
        match &self.proof {
            Proof::Token(token) => Some(token),
            Proof::ControlSocket | Proof::Session(_) => None,
        }
    }

    pub(super) fn session(&self) -> Option<&SessionProof> {
        match &self.proof {
            Proof::Session(session) => Some(session),
            Proof::ControlSocket | Proof::Token(_) => None,
        }
    }

    pub(super) fn is_control_socket(&self) -> bool {
        matches!(self.proof, Proof::ControlSocket)
    }

    /// Whoever changes members.
    pub(super) fn actor(&self) -> Actor {
        Actor {
            user: self.user_id(),
            token: self.token().map(|token| token.id),
            name: self.name.clone(),
        }
    }

    /// Whether project zero may be accessed: its keys and tables would give a token all rights.
    pub(super) fn is_owner(&self) -> bool {
        self.token().is_none() && self.roles.on_instance() == Some(Role::Owner)
    }

    /// For operations that no token and no other role may do.
    pub fn require_owner(&self) -> Result<(), PlatformError> {
        match (self.is_owner(), self.token()) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(PlatformError::Forbidden(
                "An access token may not do this; use the console, or `plinth` on the server's own machine"
                    .to_owned(),
            )),
            (false, None) => Err(PlatformError::Forbidden(
                "Only an owner of the instance may do this".to_owned(),
            )),
        }
    }

    /// Whether the operator manages this token: it is its own, or one that it created.
    pub(super) fn may_manage(&self, token: &StoredToken) -> bool {
        match &self.proof {
            Proof::ControlSocket => true,
            Proof::Token(own) => own.id == token.id || token.parent == Some(own.id),
            Proof::Session(_) => self.is_owner() || token.user == self.user_id(),
        }
    }

    /// Whether the operator has this scope; only tokens have limits.
    pub(super) fn has_scope(&self, scope: &str) -> bool {
        self.token().is_none_or(|token| token.limits.allow(scope))
    }

    /// For scopes beyond the one of the route.
    pub(super) fn require_scope(&self, scope: &str) -> Result<(), PlatformError> {
        match self.token() {
            Some(token) if !self.has_scope(scope) => Err(missing_scope(&token.limits, &[scope])),
            _ => Ok(()),
        }
    }

    /// For what a parameter of a call reveals or destroys: a capability, and a fresh second factor.
    pub(super) fn require_sensitive(
        &self,
        capability: Capability,
        project: &ProjectRef,
    ) -> Result<(), PlatformError> {
        self.require(capability, project)?;
        self.require_fresh()
    }

    pub(super) fn require_fresh(&self) -> Result<(), PlatformError> {
        match self.session() {
            Some(session) if !session.is_fresh => Err(PlatformError::StepUpRequired),
            _ => Ok(()),
        }
    }

    /// Whether the operator has a capability on a project.
    pub(crate) fn can(&self, capability: Capability, project: &ProjectRef) -> bool {
        self.require(capability, project).is_ok()
    }

    /// For capabilities beyond the one of the route.
    pub(crate) fn require(
        &self,
        capability: Capability,
        project: &ProjectRef,
    ) -> Result<(), PlatformError> {
        self.require_access(project)?;
        authorize::check_role(
            self.roles.on_project(project),
            capability,
            "on this project",
        )
    }

    /// The same in an organization.
    pub(super) fn require_in_organization(
        &self,
        capability: Capability,
        slug: &str,
    ) -> Result<(), PlatformError> {
        let role = self.roles.in_organization(slug);
        authorize::check_role(role, capability, "in this organization")
    }

    /// What the operator may do in the database of a project that it can access.
    pub(crate) fn database_access(&self, project: &ProjectRef) -> DatabaseAccess {
        let may_write = self.has_scope("database_write");
        match self.roles.on_project(project) {
            Some(Role::Owner | Role::Admin | Role::Developer) if may_write => {
                if self.may_run_as_postgres() {
                    DatabaseAccess::Owner
                } else {
                    DatabaseAccess::Editor
                }
            }
            Some(Role::Editor) if may_write => DatabaseAccess::Editor,
            _ => DatabaseAccess::Reader,
        }
    }

    /// On an external cluster with a `postgres` of its own, a session as `postgres` is one of the
    /// administrating role, and `reset role` leads to it: only owners of the instance may have that.
    fn may_run_as_postgres(&self) -> bool {
        self.has_owner_logins || self.roles.on_instance() == Some(Role::Owner)
    }

    /// For SQL of the operator that runs as `postgres`.
    pub(super) fn require_postgres(&self) -> Result<(), PlatformError> {
        if self.may_run_as_postgres() {
            return Ok(());
        }
        Err(PlatformError::Forbidden(
            "This cluster has a role postgres of its own, so SQL runs with the rights of the administrating \
             role: only an owner of the instance may do this"
                .to_owned(),
        ))
    }

    /// Writes down that a handler refused what was tried.
    pub(super) async fn audit_refusal(
        &self,
        platform: &Platform,
        change: Change,
        error: &PlatformError,
    ) {
        if is_refusal(error) || matches!(error, PlatformError::LastOwner) {
            platform.audit_change(self, change.denied()).await;
        }
    }

    /// Whether the operator may access a project.
    pub(super) fn can_access(&self, project: &ProjectRef) -> bool {
        let is_bound_to_it = self.token().is_none_or(|token| token.can_access(project));
        is_bound_to_it && self.roles.on_project(project).is_some()
    }

    pub(super) fn require_access(&self, project: &ProjectRef) -> Result<(), PlatformError> {
        if self.token().is_some_and(|token| !token.can_access(project)) {
            return Err(PlatformError::Forbidden(format!(
                "This access token is bound to other projects than {project}"
            )));
        }
        if self.roles.on_project(project).is_none() {
            return Err(PlatformError::Forbidden(format!(
                "You are not a member of project {project}"
            )));
        }
        Ok(())
    }

    /// Whether what belongs to no project is visible.
    pub(crate) fn sees_instance(&self) -> bool {
        let is_bound = self
            .token()
            .is_some_and(|token| token.limits.projects.is_some());
        self.roles.on_instance().is_some() && !is_bound
    }

    /// Whether rows of a project, as tables name it, may be shown.
    pub(crate) fn can_see(&self, platform: &Platform, project: &str) -> bool {
        let Ok(project) = project.parse() else {
            return false;
        };
        (project != platform.references().platform || self.is_owner()) && self.can_access(&project)
    }

    /// The projects whose rows may be shown, those in the trash included; `None` for all.
    pub(crate) async fn visible_projects(
        &self,
        platform: &Platform,
    ) -> Result<Option<Vec<String>>, PlatformError> {
        if self.is_owner() {
            return Ok(None);
        }
        let mut references = platform.list_references().await?;
        references.retain(|reference| self.can_see(platform, reference));
        Ok(Some(references))
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
}

impl FromRequestParts<Platform> for Operator {
    type Rejection = PlatformError;

    async fn from_request_parts(
        parts: &mut Parts,
        platform: &Platform,
    ) -> Result<Self, PlatformError> {
        let route = parts.extensions.get::<MatchedPath>();
        let route = route.map_or("", MatchedPath::as_str).to_owned();
        let mut operator = credential::authenticate(parts, platform).await?;
        let Some(row) = access::find(&parts.method, &route) else {
            return Err(PlatformError::Forbidden(format!(
                "{} {route} is closed: nobody said who may call it",
                parts.method
            )));
        };
        let params = RawPathParams::from_request_parts(parts, platform).await;
        let params = params.map_err(|rejection| PlatformError::Invalid(rejection.body_text()))?;
        let target = Target::read(row, &params);
        match operator.authorize(platform, row, &target).await {
            Ok(()) => {
                operator.allowed = Some((row, target));
                Ok(operator)
            }
            Err(error) => {
                if row.is_privileged() && is_refusal(&error) {
                    let change = Change::new("denied")
                        .target(format!("{} {route}", row.method))
                        .after(serde_json::json!({ "message": error.to_string() }))
                        .denied();
                    let change = target.describe(platform, change);
                    platform.audit_change(&operator, change).await;
                }
                Err(error)
            }
        }
    }
}

/// Whether somebody tried more than he may. That a second factor is not fresh is ordinary.
fn is_refusal(error: &PlatformError) -> bool {
    matches!(
        error,
        PlatformError::Forbidden(_) | PlatformError::SecondFactorRequired
    )
}
