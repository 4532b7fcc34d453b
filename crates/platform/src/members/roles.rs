//! The roles that one operator has, as the database has them now.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use plinth_project::ProjectRef;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::{MemberScope, Role};
use crate::{Platform, PlatformError, projects::parse_ref};

/// $1: the user. Memberships, those that projects inherit from their organization, those of branches from
/// their parents, and the organizations that a member of a project may see.
const LOAD: &str = "
    with recursive own as (
        select organization, project, role from platform.members where user_id = $1
    ), reachable as (
        select p.ref, o.role
        from own o join platform.projects p on p.organization = o.organization or p.ref = o.project
        union
        select b.ref, r.role
        from reachable r join platform.branches b on b.parent_ref = r.ref
    )
    select 'instance' as kind, '' as name, role from own where organization is null and project is null
    union all
    select 'organization', organization, role from own where organization is not null
    union all
    select 'project', ref, role from reachable
    union all
    select distinct 'seen', p.organization, 'reader'
    from reachable r join platform.projects p on p.ref = r.ref";

/// The roles of an operator. The role on a project is the highest of those on the project, on its
/// organization and on the instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    instance: Option<Role>,
    organizations: BTreeMap<String, Role>,
    projects: HashMap<ProjectRef, Role>,
    /// Organizations with a project on which there is a role.
    seen: BTreeSet<String>,
}

impl Roles {
    /// Those of whoever runs the server.
    pub(crate) fn of_owner() -> Self {
        Self {
            instance: Some(Role::Owner),
            ..Self::default()
        }
    }

    pub(crate) async fn load(
        client: &impl GenericClient,
        user: Uuid,
    ) -> Result<Self, PlatformError> {
        let mut roles = Self::default();
        for row in &client.query(LOAD, &[&user]).await? {
            let (kind, name): (&str, &str) = (row.get("kind"), row.get("name"));
            let role: Role = row
                .get::<_, &str>("role")
                .parse()
                .map_err(PlatformError::internal)?;
            match kind {
                "instance" => roles.instance = roles.instance.max(Some(role)),
                "organization" => {
                    let known = roles.organizations.entry(name.to_owned()).or_insert(role);
                    *known = role.max(*known);
                }
                "project" => {
                    let known = roles.projects.entry(parse_ref(name)?).or_insert(role);
                    *known = role.max(*known);
                }
                _ => _ = roles.seen.insert(name.to_owned()),
            }
        }
        Ok(roles)
    }

    /// On the whole instance.
    pub fn on_instance(&self) -> Option<Role> {
        self.instance
    }

    /// In an organization.
    pub fn in_organization(&self, slug: &str) -> Option<Role> {
        self.organizations.get(slug).copied().max(self.instance)
    }

    /// On a project.
    pub fn on_project(&self, project: &ProjectRef) -> Option<Role> {
        self.projects.get(project).copied().max(self.instance)
    }

    /// Where a membership would be.
    pub fn on(&self, scope: &MemberScope) -> Option<Role> {
        match scope {
            MemberScope::Instance => self.instance,
            MemberScope::Organization(slug) => self.in_organization(slug),
            MemberScope::Project(project) => self.on_project(project),
        }
    }

    /// Whether the organization is to be seen: there is a role in it, or on one of its projects.
    pub fn sees_organization(&self, slug: &str) -> bool {
        self.in_organization(slug).is_some() || self.seen.contains(slug)
    }

    /// The roles in organizations, without that on the instance.
    pub fn organizations(&self) -> &BTreeMap<String, Role> {
        &self.organizations
    }

    /// The roles on projects, without that on the instance.
    pub fn projects(&self) -> &HashMap<ProjectRef, Role> {
        &self.projects
    }

    /// The highest role anywhere.
    pub fn highest(&self) -> Option<Role> {
        let roles = self.organizations.values().chain(self.projects.values());
        roles.copied().max().max(self.instance)
    }

    /// All roles anywhere.
    pub(crate) fn all(&self) -> impl Iterator<Item = Role> {
        let roles = self.organizations.values().chain(self.projects.values());
        roles.copied().chain(self.instance)
    }
}

impl Platform {
    /// The roles of a user of project zero.
    pub async fn roles_of(&self, user: Uuid) -> Result<Roles, PlatformError> {
        Roles::load(&*self.tables().await?, user).await
    }
}
