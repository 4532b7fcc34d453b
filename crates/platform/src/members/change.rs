//! Changes of memberships: who may make them, and that an owner is left.
//!
//! Changes are serialised by a lock on the row of the instance, and whoever makes one is judged after it is
//! held: two owners cannot remove each other at once.

use tokio_postgres::Transaction;
use uuid::Uuid;

use super::{Capability, MemberScope, Role, Roles};
use crate::{Platform, PlatformError};

/// Whoever changes members.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The user; none for whoever runs the server.
    pub user: Option<Uuid>,
    /// The access token that is used: none may give or take admin and owner.
    pub token: Option<Uuid>,
    /// For the audit log.
    pub name: String,
}

impl Actor {
    pub(super) async fn roles(&self, tables: &Transaction<'_>) -> Result<Roles, PlatformError> {
        match self.user {
            Some(user) => Roles::load(tables, user).await,
            None => Ok(Roles::of_owner()),
        }
    }

    /// Whether a change from one role to another is allowed to somebody with the role `own`.
    pub(super) fn check(
        &self,
        own: Option<Role>,
        change: [Option<Role>; 2],
    ) -> Result<(), PlatformError> {
        let Some(own) = own.filter(|own| own.can(Capability::Admin)) else {
            return Err(PlatformError::Forbidden(
                "Only admins and owners manage members".to_owned(),
            ));
        };
        let highest = change.into_iter().flatten().max();
        if highest > Some(own) {
            return Err(PlatformError::Forbidden(format!(
                "Your role is {own}: you can neither give nor take a higher one"
            )));
        }
        if self.token.is_some() && highest >= Some(Role::Admin) {
            return Err(PlatformError::Forbidden(
                "An access token can neither give nor take the roles admin and owner".to_owned(),
            ));
        }
        Ok(())
    }
}

/// Until the end of the transaction, nobody else changes members.
pub(crate) async fn lock_members(tables: &Transaction<'_>) -> Result<(), PlatformError> {
    let sql = "select from platform.instance for update";
    tables.query(sql, &[]).await?;
    Ok(())
}

/// The operators who count as owners: their accounts can sign in.
const COUNT_OWNERS: &str = "
    select count(*)
    from platform.members m
    join auth.users u on u.id = m.user_id
    where m.role = 'owner' and m.organization is not distinct from $1 and m.project is not distinct from $2
      and u.deleted_at is null and (u.banned_until is null or u.banned_until <= now())";

impl Platform {
    /// Gives a user a role, another one, or none. Returns the role before.
    pub async fn change_member(
        &self,
        actor: &Actor,
        scope: &MemberScope,
        user: Uuid,
        wanted: Option<Role>,
        is_new: bool,
    ) -> Result<Option<Role>, PlatformError> {
        let mut client = self.admin().await?;
        let tables = client.transaction().await?;
        lock_members(&tables).await?;
        let roles = actor.roles(&tables).await?;
        let own = roles.on(scope);
        let before = find_role(&tables, scope, user).await?;
        let is_leaving = wanted.is_none() && actor.user == Some(user) && actor.token.is_none();
        if !is_leaving {
            actor.check(own, [before, wanted])?;
        }
        match (before, is_new) {
            (None, false) => {
                return Err(PlatformError::NotFound(format!(
                    "The user {user} is no member here"
                )));
            }
            (Some(_), true) => {
                return Err(PlatformError::Conflict(format!(
                    "The user {user} is a member already; change the role instead"
                )));
            }
            _ => {}
        }
        set_role(&tables, scope, user, wanted, &actor.name).await?;
        let is_owner_less = before == Some(Role::Owner) && wanted != Some(Role::Owner);
        // Whoever owns the instance can put an organization or a project into order.
        let may_leave_none = *scope != MemberScope::Instance
            && roles.on_instance() == Some(Role::Owner)
            && actor.user != Some(user);
        if is_owner_less && !may_leave_none && count_owners(&tables, scope).await? == 0 {
            return Err(PlatformError::LastOwner);
        }
        tables.commit().await?;
        Ok(before)
    }
}

pub(super) async fn find_role(
    tables: &Transaction<'_>,
    scope: &MemberScope,
    user: Uuid,
) -> Result<Option<Role>, PlatformError> {
    let sql = "select role from platform.members
               where organization is not distinct from $1 and project is not distinct from $2
                 and user_id = $3";
    let row = tables
        .query_opt(sql, &[&scope.organization(), &scope.project_text(), &user])
        .await?;
    row.map(|row| {
        row.get::<_, &str>(0)
            .parse()
            .map_err(PlatformError::internal)
    })
    .transpose()
}

/// Without any check.
pub(crate) async fn set_role(
    tables: &Transaction<'_>,
    scope: &MemberScope,
    user: Uuid,
    role: Option<Role>,
    by: &str,
) -> Result<(), PlatformError> {
    let (organization, project) = (scope.organization(), scope.project_text());
    match role {
        Some(role) => {
            let sql = "insert into platform.members (organization, project, user_id, role, created_by)
                       values ($1, $2, $3, $4, $5)
                       on conflict (organization, project, user_id) do update set role = excluded.role";
            let params: plinth_db::Params<'_> =
                &[&organization, &project, &user, &role.as_str(), &by];
            tables.execute(sql, params).await?;
        }
        None => {
            let sql = "delete from platform.members
                       where organization is not distinct from $1 and project is not distinct from $2
                         and user_id = $3";
            tables
                .execute(sql, &[&organization, &project, &user])
                .await?;
        }
    }
    Ok(())
}

async fn count_owners(tables: &Transaction<'_>, scope: &MemberScope) -> Result<i64, PlatformError> {
    let row = tables
        .query_one(
            COUNT_OWNERS,
            &[&scope.organization(), &scope.project_text()],
        )
        .await?;
    Ok(row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: Role, is_token: bool, before: Option<Role>, wanted: Option<Role>) -> bool {
        let actor = Actor {
            user: Some(Uuid::nil()),
            token: is_token.then(Uuid::nil),
            name: String::new(),
        };
        actor.check(Some(own), [before, wanted]).is_ok()
    }

    #[test]
    fn nobody_gives_or_takes_a_role_above_his_own() {
        use Role::{Admin, Developer, Editor, Owner, Reader};
        for role in Role::ALL {
            assert!(check(Owner, false, None, Some(role)));
            assert!(check(Owner, false, Some(role), None));
        }
        assert!(check(Admin, false, Some(Reader), Some(Admin)));
        assert!(!check(Admin, false, None, Some(Owner)));
        assert!(!check(Admin, false, Some(Owner), None));
        assert!(!check(Admin, false, Some(Owner), Some(Reader)));
        for own in [Reader, Editor, Developer] {
            assert!(!check(own, false, None, Some(Reader)), "{own}");
        }
    }

    #[test]
    fn a_token_gives_and_takes_lower_roles_only() {
        assert!(check(
            Role::Owner,
            true,
            Some(Role::Reader),
            Some(Role::Developer)
        ));
        for role in [Role::Admin, Role::Owner] {
            assert!(!check(Role::Owner, true, None, Some(role)));
            assert!(!check(Role::Owner, true, Some(role), None));
            assert!(!check(Role::Owner, true, Some(role), Some(Role::Reader)));
        }
    }
}
