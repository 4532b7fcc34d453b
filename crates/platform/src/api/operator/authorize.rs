//! Whether an operator may make a call, by its row in the access table.

use axum::extract::RawPathParams;
use plinth_project::{ProjectName, ProjectRef};

use super::{Operator, Proof};
use crate::{
    Platform, PlatformError,
    api::access::{Access, Needs, check_scope},
    audit::Change,
    members::{Capability, Role},
};

/// What a call is about, by its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Nothing in particular.
    None,
    /// A project, and whether only its ref is accepted as its name.
    Project(String, bool),
    Branch(String),
    Organization(String),
}

impl Target {
    pub(super) fn read(row: &Access, params: &RawPathParams) -> Self {
        let param = |wanted: &str| {
            let mut params = params.iter();
            let found = params.find(|(name, _)| *name == wanted);
            found.map_or("", |(_, value)| value).to_owned()
        };
        match row.needs {
            Needs::OnProject(_) => Self::Project(param("ref"), row.route.starts_with("/v1/")),
            Needs::OnBranch(_) => Self::Branch(param("id")),
            Needs::SeesOrganization | Needs::InOrganization(_) => Self::Organization(param("slug")),
            _ => Self::None,
        }
    }

    /// Adds it to an entry of the audit log.
    pub(super) fn describe(&self, platform: &Platform, change: Change) -> Change {
        match self {
            Self::Project(text, _) => match text.parse::<ProjectName>() {
                Ok(name) => change.project(&platform.reference_of(&name)),
                Err(_) => change,
            },
            Self::Organization(slug) => {
                change.scope(&crate::members::MemberScope::Organization(slug.clone()))
            }
            Self::Branch(_) | Self::None => change,
        }
    }
}

impl Operator {
    /// Checks scope, second factor, capability and freshness, in this order.
    pub(super) async fn authorize(
        &self,
        platform: &Platform,
        row: &Access,
        target: &Target,
    ) -> Result<(), PlatformError> {
        if let Some(token) = self.token() {
            check_scope(&token.limits, row.scope)?;
        }
        self.check_second_factor(platform, row.needs)?;
        self.check_capability(platform, row.needs, target).await?;
        if row.is_sensitive || is_about_operators(platform, row, target) {
            self.require_fresh()?;
        }
        Ok(())
    }

    fn check_second_factor(&self, platform: &Platform, needs: Needs) -> Result<(), PlatformError> {
        let (Proof::Session(session), Some(user)) = (&self.proof, &self.user) else {
            return Ok(());
        };
        let is_proven = session.is_aal2 || !platform.needs_second_factor(user);
        if is_proven || needs == Needs::Enrolling {
            Ok(())
        } else {
            Err(PlatformError::SecondFactorRequired)
        }
    }

    async fn check_capability(
        &self,
        platform: &Platform,
        needs: Needs,
        target: &Target,
    ) -> Result<(), PlatformError> {
        match (needs, target) {
            (Needs::Nothing | Needs::Enrolling | Needs::SignedIn, _) => Ok(()),
            (Needs::OnProject(capability), Target::Project(text, by_ref_only)) => {
                self.check_project(platform, capability, text, *by_ref_only)
                    .await
            }
            (Needs::OnBranch(capability), Target::Branch(id)) => {
                let reference = branch_or_main(platform, id).await?;
                self.check_reference(platform, capability, &reference).await
            }
            (Needs::SeesOrganization, Target::Organization(slug)) => {
                if self.roles.sees_organization(slug) {
                    return Ok(());
                }
                platform.load_organization(slug).await?;
                check_role(None, Capability::SignedIn, "in this organization")
            }
            (Needs::InOrganization(capability), Target::Organization(slug)) => {
                if self.roles.in_organization(slug).is_none() {
                    platform.load_organization(slug).await?;
                }
                self.require_in_organization(capability, slug)
            }
            (Needs::OnInstance(capability), _) => {
                check_role(self.roles.on_instance(), capability, "on this instance")
            }
            (Needs::Somewhere(capability), _) => {
                if self.roles.all().any(|role| role.can(capability)) {
                    Ok(())
                } else {
                    check_role(self.roles.highest(), capability, "")
                }
            }
            (Needs::ControlSocket, _) if self.is_control_socket() => Ok(()),
            (Needs::ControlSocket, _) => Err(PlatformError::Forbidden(
                "Only `plinth` on the server's own machine may do this".to_owned(),
            )),
            (needs, target) => Err(PlatformError::internal(format!(
                "the access table is wrong: {needs:?} with {target:?}"
            ))),
        }
    }

    async fn check_project(
        &self,
        platform: &Platform,
        capability: Capability,
        text: &str,
        by_ref_only: bool,
    ) -> Result<(), PlatformError> {
        let name = match text.parse() {
            Ok(ProjectName::Ref(reference)) => ProjectName::Ref(reference),
            Ok(alias) if !by_ref_only => alias,
            _ => return Err(PlatformError::no_project(text)),
        };
        let reference = platform.reference_of(&name);
        self.check_reference(platform, capability, &reference).await
    }

    async fn check_reference(
        &self,
        platform: &Platform,
        capability: Capability,
        reference: &ProjectRef,
    ) -> Result<(), PlatformError> {
        if *reference == platform.references().platform {
            self.require_owner()?;
        }
        if self.roles.on_project(reference).is_none() {
            // A project that is not there is not found, for everybody.
            platform
                .load_project(&ProjectName::Ref(reference.clone()))
                .await?;
        }
        self.require(capability, reference)
    }
}

/// In project zero, every change could make a session fresh, and mails have operators' sign-in links.
fn is_about_operators(platform: &Platform, row: &Access, target: &Target) -> bool {
    let Target::Project(text, _) = target else {
        return false;
    };
    let name = text.parse::<ProjectName>();
    let is_zero =
        name.is_ok_and(|name| platform.reference_of(&name) == platform.references().platform);
    is_zero && (row.method != "GET" || row.route.contains("/mailbox"))
}

/// The project of a branch, by the branch's id or ref; the ref of another project is its main branch.
async fn branch_or_main(platform: &Platform, id: &str) -> Result<ProjectRef, PlatformError> {
    match platform.load_branch(id).await {
        Ok(branch) => Ok(branch.reference),
        Err(PlatformError::NotFound(message)) => {
            id.parse().map_err(|_| PlatformError::NotFound(message))
        }
        Err(error) => Err(error),
    }
}

/// Whether a role is enough.
pub(super) fn check_role(
    role: Option<Role>,
    capability: Capability,
    place: &str,
) -> Result<(), PlatformError> {
    match role {
        Some(role) if role.can(capability) => Ok(()),
        Some(role) => {
            let needed = Role::least_with(capability);
            Err(PlatformError::Forbidden(
                format!("Your role {place} is {role}; this needs {needed}").replace("  ", " "),
            ))
        }
        None => Err(PlatformError::Forbidden(
            format!("You are not a member {place}")
                .trim_end()
                .to_owned(),
        )),
    }
}
