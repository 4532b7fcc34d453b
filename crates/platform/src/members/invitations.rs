//! Invitations: bound to an address, valid for a week, used once.

use plinth_token::{Secret, credential_hash, generate_password};
use time::OffsetDateTime;
use tokio_postgres::{Row, Transaction};
use uuid::Uuid;

use super::{
    Actor, MemberScope, Role,
    change::{find_role, lock_members, set_role},
};
use crate::{Platform, PlatformError, accounts::OPERATOR, projects::parse_ref, tokens::IS_LIVE};

/// An invitation that is neither accepted nor revoked.
#[derive(Debug, Clone)]
pub struct Invitation {
    /// Its row.
    pub id: Uuid,
    /// Where the role will be.
    pub scope: MemberScope,
    /// Who is invited.
    pub email: String,
    /// The role.
    pub role: Role,
    /// Who invited.
    pub created_by: Option<String>,
    /// When.
    pub created_at: OffsetDateTime,
    /// Until when.
    pub expires_at: OffsetDateTime,
}

/// How an invitation is accepted.
#[derive(Debug, Clone)]
pub enum Acceptance {
    /// By a signed-in user with that address.
    Account(Uuid, String),
    /// By somebody who has no account with that address yet.
    NewAccount {
        /// The password of the new account.
        password: Secret,
    },
}

const COLUMNS: &str =
    "id, organization, project, email, role, created_by, created_at, expires_at, inviter, token";

impl Invitation {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        let scope = match (
            row.get("organization"),
            row.get::<_, Option<&str>>("project"),
        ) {
            (Some(slug), _) => MemberScope::Organization(slug),
            (None, Some(project)) => MemberScope::Project(parse_ref(project)?),
            (None, None) => MemberScope::Instance,
        };
        Ok(Self {
            id: row.get("id"),
            scope,
            email: row.get("email"),
            role: row
                .get::<_, &str>("role")
                .parse()
                .map_err(PlatformError::internal)?,
            created_by: row.get("created_by"),
            created_at: row.get("created_at"),
            expires_at: row.get("expires_at"),
        })
    }
}

fn not_valid() -> PlatformError {
    PlatformError::NotFound(
        "This invitation is not valid (any more): it was used or revoked, or is older than a week"
            .to_owned(),
    )
}

fn checked_email(email: &str) -> Result<String, PlatformError> {
    let email = email.trim().to_lowercase();
    let parts = email.split_once('@');
    let is_address = parts.is_some_and(|(name, host)| {
        !name.is_empty() && !host.is_empty() && !host.contains('@') && email.len() <= 254
    });
    let is_clean = !email.chars().any(|c| c.is_control() || c.is_whitespace());
    if is_address && is_clean {
        Ok(email)
    } else {
        Err(PlatformError::Invalid(format!(
            "{email:?} is no e-mail address"
        )))
    }
}

impl Platform {
    /// The pending invitations, newest first.
    pub async fn list_invitations(
        &self,
        scope: &MemberScope,
    ) -> Result<Vec<Invitation>, PlatformError> {
        let sql = format!(
            "select {COLUMNS} from platform.invitations
             where accepted_at is null and revoked_at is null and expires_at > now()
               and organization is not distinct from $1 and project is not distinct from $2
             order by created_at desc"
        );
        let tables = self.tables().await?;
        let rows = tables
            .query(&sql, &[&scope.organization(), &scope.project_text()])
            .await?;
        rows.iter().map(Invitation::from_row).collect()
    }

    /// Invites, and replaces a pending invitation of the same address. The token is shown once.
    pub async fn invite(
        &self,
        actor: &Actor,
        scope: &MemberScope,
        email: &str,
        role: Role,
    ) -> Result<(Invitation, Secret), PlatformError> {
        let email = checked_email(email)?;
        let token = generate_password();
        let mut client = self.admin().await?;
        let tables = client.transaction().await?;
        lock_members(&tables).await?;
        actor.check(actor.roles(&tables).await?.on(scope), [None, Some(role)])?;
        let (organization, project) = (scope.organization(), scope.project_text());
        let member = "select exists (
                select from platform.members m join auth.users u on u.id = m.user_id
                where m.organization is not distinct from $1 and m.project is not distinct from $2
                  and u.email = $3 and u.deleted_at is null)";
        let member = tables
            .query_one(member, &[&organization, &project, &email])
            .await?;
        if member.get(0) {
            return Err(PlatformError::Conflict(format!(
                "{email} is a member already"
            )));
        }
        let replace = "update platform.invitations set revoked_at = now()
                       where organization is not distinct from $1 and project is not distinct from $2
                         and email = $3 and accepted_at is null and revoked_at is null";
        tables
            .execute(replace, &[&organization, &project, &email])
            .await?;
        let insert = format!(
            "insert into platform.invitations
                (organization, project, email, role, hash, inviter, created_by, token, expires_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, now() + interval '7 days')
             returning {COLUMNS}"
        );
        let params: plinth_db::Params<'_> = &[
            &organization,
            &project,
            &email,
            &role.as_str(),
            &credential_hash(token.expose()),
            &actor.user,
            &actor.name,
            &actor.token,
        ];
        let row = tables.query_one(&insert, params).await?;
        let invitation = Invitation::from_row(&row)?;
        tables.commit().await?;
        Ok((invitation, token))
    }

    /// Revokes a pending invitation.
    pub async fn revoke_invitation(
        &self,
        actor: &Actor,
        scope: &MemberScope,
        id: Uuid,
    ) -> Result<Invitation, PlatformError> {
        let mut client = self.admin().await?;
        let tables = client.transaction().await?;
        lock_members(&tables).await?;
        let sql = format!(
            "update platform.invitations set revoked_at = now()
             where id = $3 and accepted_at is null and revoked_at is null
               and organization is not distinct from $1 and project is not distinct from $2
             returning {COLUMNS}"
        );
        let row = tables
            .query_opt(&sql, &[&scope.organization(), &scope.project_text(), &id])
            .await?;
        let row = row.ok_or_else(|| {
            PlatformError::NotFound(format!("There is no pending invitation {id}"))
        })?;
        let invitation = Invitation::from_row(&row)?;
        let own = actor.roles(&tables).await?.on(scope);
        actor.check(own, [Some(invitation.role), None])?;
        tables.commit().await?;
        Ok(invitation)
    }

    /// What an invitation is about, for the page that accepts it.
    pub async fn show_invitation(&self, token: &str) -> Result<Invitation, PlatformError> {
        let sql = format!(
            "select {COLUMNS} from platform.invitations
             where hash = $1 and accepted_at is null and revoked_at is null and expires_at > now()"
        );
        let tables = self.tables().await?;
        let row = tables.query_opt(&sql, &[&credential_hash(token)]).await?;
        row.as_ref()
            .map_or_else(|| Err(not_valid()), Invitation::from_row)
    }

    /// Accepts an invitation and returns it with the user, whose account is created if there is none.
    pub async fn accept_invitation(
        &self,
        token: &str,
        acceptance: &Acceptance,
    ) -> Result<(Invitation, Uuid), PlatformError> {
        // Before a connection of its own and the lock: whoever guesses gets neither.
        self.show_invitation(token).await?;
        let mut client = self.admin().await?;
        let tables = client.transaction().await?;
        lock_members(&tables).await?;
        let sql = format!(
            "update platform.invitations set accepted_at = now()
             where hash = $1 and accepted_at is null and revoked_at is null and expires_at > now()
             returning {COLUMNS}"
        );
        let row = tables.query_opt(&sql, &[&credential_hash(token)]).await?;
        let row = row.ok_or_else(not_valid)?;
        let invitation = Invitation::from_row(&row)?;
        check_inviter(&tables, &invitation, row.get("inviter"), row.get("token")).await?;
        let user = match acceptance {
            Acceptance::Account(user, email) if email.to_lowercase() == invitation.email => *user,
            Acceptance::Account(..) => {
                return Err(PlatformError::Forbidden(
                    "This invitation is for another e-mail address".to_owned(),
                ));
            }
            Acceptance::NewAccount { password } => {
                self.create_account(&invitation.email, password).await?
            }
        };
        // A lower role than the one that is there is not forced on anybody.
        let before = find_role(&tables, &invitation.scope, user).await?;
        let by = invitation.created_by.as_deref().unwrap_or_default();
        let role = before.max(Some(invitation.role));
        set_role(&tables, &invitation.scope, user, role, by).await?;
        let accepted = "update platform.invitations set accepted_by = $2 where id = $1";
        tables.execute(accepted, &[&invitation.id, &user]).await?;
        self.mark_operator(user).await?;
        tables.commit().await?;
        Ok((invitation, user))
    }
}

/// Whoever invited must still be allowed to give the role: the account, its role, and the token if one was used.
async fn check_inviter(
    tables: &Transaction<'_>,
    invitation: &Invitation,
    inviter: Option<Uuid>,
    token: Option<Uuid>,
) -> Result<(), PlatformError> {
    let sql = format!(
        "select ($1::uuid is null or exists (
                    select from auth.users u
                    where u.id = $1 and u.deleted_at is null
                      and coalesce(u.banned_until <= now(), true)
                      and u.raw_app_meta_data ->> 'role' = $3))
            and ($2::uuid is null or exists (
                    select from platform.tokens where id = $2 and {IS_LIVE}))"
    );
    let row = tables
        .query_one(&sql, &[&inviter, &token, &OPERATOR])
        .await?;
    if !row.get::<_, bool>(0) {
        return Err(not_valid());
    }
    let actor = Actor {
        user: inviter,
        token,
        name: String::new(),
    };
    let own = actor.roles(tables).await?.on(&invitation.scope);
    actor
        .check(own, [None, Some(invitation.role)])
        .map_err(|_| not_valid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_in_lower_case_and_without_tricks() {
        assert_eq!(
            checked_email(" Ada@Example.COM ").expect("an address"),
            "ada@example.com"
        );
        assert!(checked_email("o'brien+\"x\"@example.com").is_ok());
        for text in [
            "", "@", "a@", "@b", "a@b@c", "a b@c", "a\u{0}@b", "a\n@b", "ada",
        ] {
            assert!(checked_email(text).is_err(), "{text:?}");
        }
        assert!(checked_email(&format!("{}@b.c", "a".repeat(260))).is_err());
    }
}
