//! `GET /platform/me`: who the operator is, and what it may do where.

use axum::{Json, extract::State};
use serde::Serialize;
use uuid::Uuid;

use super::Operator;
use crate::{
    Platform, PlatformError,
    members::{Capability, Role},
};

/// The operator.
#[derive(Debug, Serialize)]
pub(super) struct Me {
    /// None for whoever runs the server, and for tokens made on its machine.
    user: Option<UserBody>,
    /// `session`, `token` or `control_socket`.
    credential: String,
    /// The access token, if one is used.
    token: Option<TokenSummary>,
    mfa: MfaState,
    instance: InstanceSummary,
    /// The role on the whole instance.
    role: Option<Role>,
    capabilities: Vec<Capability>,
    organizations: Vec<OrganizationRole>,
    /// Without those that follow from the role on the whole instance.
    projects: Vec<ProjectRole>,
}

/// A user of project zero.
#[derive(Debug, Serialize)]
struct UserBody {
    id: Uuid,
    email: String,
    name: Option<String>,
}

/// An access token.
#[derive(Debug, Serialize)]
struct TokenSummary {
    id: Uuid,
    name: String,
    read_only: bool,
}

/// The second factor.
#[derive(Debug, Serialize)]
struct MfaState {
    /// Whether this operator needs one.
    required: bool,
    /// Whether there is one.
    enrolled: bool,
    /// `aal1` or `aal2`.
    aal: String,
    /// Whether the operator can do nothing before a second factor is given.
    pending: bool,
    /// For how many seconds it counts as given just now, for what reveals or destroys.
    fresh_for_seconds: Option<i32>,
}

/// The installation.
#[derive(Debug, Serialize)]
struct InstanceSummary {
    name: String,
}

/// A role in an organization.
#[derive(Debug, Serialize)]
struct OrganizationRole {
    slug: String,
    role: Role,
    capabilities: Vec<Capability>,
}

/// A role on a project.
#[derive(Debug, Serialize)]
struct ProjectRole {
    r#ref: String,
    role: Role,
    capabilities: Vec<Capability>,
}

/// `GET /platform/me`: open to operators whose second factor is still missing, who learn nothing else.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
) -> Result<Json<Me>, PlatformError> {
    let mfa = mfa_state(&operator, &platform);
    let roles = operator.roles();
    let role = roles.on_instance().filter(|_| !mfa.pending);
    let mut organizations = Vec::new();
    let mut projects = Vec::new();
    if !mfa.pending {
        for (slug, role) in roles.organizations() {
            organizations.push(OrganizationRole {
                slug: slug.clone(),
                role: *role,
                capabilities: role.capabilities(),
            });
        }
        let visible = roles.projects().iter();
        for (project, role) in visible.filter(|(project, _)| operator.can_access(project)) {
            projects.push(ProjectRole {
                r#ref: project.to_string(),
                role: *role,
                capabilities: role.capabilities(),
            });
        }
        projects.sort_by(|a, b| a.r#ref.cmp(&b.r#ref));
    }
    let credential = match (operator.token(), operator.session()) {
        (Some(_), _) => "token",
        (None, Some(_)) => "session",
        (None, None) => "control_socket",
    };
    Ok(Json(Me {
        user: operator.user().map(|user| UserBody {
            id: user.id,
            email: user.email.clone(),
            name: user.name.clone(),
        }),
        credential: credential.to_owned(),
        token: operator.token().map(|token| TokenSummary {
            id: token.id,
            name: token.name.clone(),
            read_only: token.limits.read_only,
        }),
        mfa,
        instance: InstanceSummary {
            name: platform.instance_name().await?,
        },
        role,
        capabilities: role.map(Role::capabilities).unwrap_or_default(),
        organizations,
        projects,
    }))
}

fn mfa_state(operator: &Operator, platform: &Platform) -> MfaState {
    let required = operator
        .user()
        .is_some_and(|user| platform.needs_second_factor(user));
    // Whoever has no session proved itself in another way.
    let is_aal2 = operator.session().is_none_or(|session| session.is_aal2);
    MfaState {
        required,
        enrolled: operator.user().is_some_and(|user| user.has_second_factor),
        aal: if is_aal2 { "aal2" } else { "aal1" }.to_owned(),
        pending: required && !is_aal2,
        fresh_for_seconds: operator.session().and_then(|session| session.fresh_seconds),
    }
}
