//! The members of an organization, a project or the instance.

use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{MemberScope, Role};
use crate::{Platform, PlatformError};

/// Where a membership comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberSource {
    /// The whole instance.
    Instance,
    /// The organization.
    Organization,
    /// The project, or the one that it is a branch of.
    Project,
}

impl MemberSource {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Organization => "organization",
            Self::Project => "project",
        }
    }
}

/// An operator with a role.
#[derive(Debug, Clone)]
pub struct Member {
    /// The user of project zero.
    pub user_id: Uuid,
    /// The address; none if the account is gone.
    pub email: Option<String>,
    /// The name that the user chose.
    pub name: Option<String>,
    /// The role.
    pub role: Role,
    /// Where it comes from.
    pub source: MemberSource,
    /// Whether there is a second factor.
    pub has_second_factor: bool,
    /// Whether the account may not sign in.
    pub is_banned: bool,
    /// When the user was last seen.
    pub last_active_at: Option<OffsetDateTime>,
    /// When the role was given.
    pub created_at: OffsetDateTime,
}

impl Member {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        Ok(Self {
            user_id: row.get("user_id"),
            email: row.get("email"),
            name: row.get("name"),
            role: row
                .get::<_, &str>("role")
                .parse()
                .map_err(PlatformError::internal)?,
            source: match row.get("source") {
                "project" => MemberSource::Project,
                "organization" => MemberSource::Organization,
                _ => MemberSource::Instance,
            },
            has_second_factor: row.get("has_second_factor"),
            is_banned: row.get("is_banned"),
            last_active_at: row.get("last_active_at"),
            created_at: row.get("created_at"),
        })
    }
}

/// $1: the organization, $2: the projects (the project and those that it is a branch of).
const LIST: &str = "
    select m.user_id, m.role, m.created_at, u.email::text as email,
           coalesce(u.raw_user_meta_data ->> 'full_name', u.raw_user_meta_data ->> 'name') as name,
           case when m.project is not null then 'project'
                when m.organization is not null then 'organization'
                else 'instance' end as source,
           exists (select from auth.mfa_factors f
                   where f.user_id = m.user_id and f.status = 'verified') as has_second_factor,
           u.id is null or u.deleted_at is not null
             or coalesce(u.banned_until > now(), false) as is_banned,
           greatest(u.last_sign_in_at,
                    (select max(coalesce(s.refreshed_at at time zone 'utc', s.created_at))
                     from auth.sessions s where s.user_id = m.user_id),
                    (select max(t.last_used_at) from platform.tokens t where t.user_id = m.user_id)
           ) as last_active_at
    from platform.members m
    left join auth.users u on u.id = m.user_id
    where (m.organization is null and m.project is null)
       or m.organization = $1 or m.project = any($2)
    order by u.email, m.user_id, source";

impl Platform {
    /// The members, with those that inherit their role from above.
    pub async fn list_members(&self, scope: &MemberScope) -> Result<Vec<Member>, PlatformError> {
        let tables = self.tables().await?;
        let (organization, projects): (Option<String>, Vec<String>) = match scope {
            MemberScope::Instance => (None, Vec::new()),
            MemberScope::Organization(slug) => (Some(slug.clone()), Vec::new()),
            MemberScope::Project(project) => {
                let sql = "with recursive ancestors as (
                               select $1::text as ref
                               union
                               select b.parent_ref
                               from ancestors a join platform.branches b on b.ref = a.ref)
                           select a.ref, p.organization
                           from ancestors a join platform.projects p on p.ref = a.ref";
                let rows = tables.query(sql, &[&project.as_str()]).await?;
                let organization = rows.first().map(|row| row.get("organization"));
                (
                    organization,
                    rows.iter().map(|row| row.get("ref")).collect(),
                )
            }
        };
        let rows = tables.query(LIST, &[&organization, &projects]).await?;
        rows.iter().map(Member::from_row).collect()
    }

    /// Whether somebody received a mail at the address of an account.
    pub(crate) async fn is_address_proven(&self, user: Uuid) -> Result<bool, PlatformError> {
        let sql = "select exists (select from auth.users
                                  where id = $1 and email_confirmed_at is not null
                                    and (raw_app_meta_data ->> 'email_unproven') is distinct from 'true')";
        let row = self.tables().await?.query_one(sql, &[&user]).await?;
        Ok(row.get(0))
    }

    /// The account with an address.
    pub(crate) async fn find_account(&self, email: &str) -> Result<Option<Uuid>, PlatformError> {
        let sql = "select id from auth.users
                   where email = $1 and not is_sso_user and deleted_at is null";
        let email = email.trim().to_lowercase();
        let row = self.tables().await?.query_opt(sql, &[&email]).await?;
        Ok(row.map(|row| row.get(0)))
    }
}
