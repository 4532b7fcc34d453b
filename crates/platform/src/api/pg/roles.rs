//! `/pg/{ref}/roles`. Roles belong to the whole cluster. Those that Plinth made are only read, but for
//! settings of the roles that callers have, which become settings of this project alone.

use axum::{Json, extract::State, response::Response};
use plinth_catalog::{
    objects::Role,
    statements::{NewRole, RoleChanges},
};

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
};
use crate::{Platform, PlatformError, catalog::Created};

/// Roles that all projects share, and whose settings a project has for itself.
const SHARED: [&str; 5] = [
    "anon",
    "authenticated",
    "authenticator",
    "postgres",
    "service_role",
];
/// Roles of the services.
const SYSTEM: [&str; 2] = ["dashboard_user", "pgbouncer"];
const SYSTEM_PREFIXES: [&str; 3] = ["pg_", "plinth_", "supabase_"];
/// Logins of projects: `owner_<ref>`.
const LOGIN_PREFIXES: [&str; 7] = [
    "owner_",
    "migrator_",
    "authenticator_",
    "service_",
    "editor_",
    "reader_",
    "loader_",
];

/// Whether Plinth made the role.
fn is_system(name: &str) -> bool {
    let is_login = LOGIN_PREFIXES.iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|reference| {
            reference.len() == 20 && reference.bytes().all(|byte| byte.is_ascii_lowercase())
        })
    });
    is_login
        || SYSTEM.contains(&name)
        || SYSTEM_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

fn refuse(name: &str) -> PgFailure {
    PlatformError::Forbidden(format!(
        "The role {name} belongs to the system and cannot be changed"
    ))
    .into()
}

/// No extension has roles.
fn extension(_: &Role) -> Option<&str> {
    None
}

/// `GET /pg/{ref}/roles`.
pub(super) async fn list(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let params = &asked.params;
    let written = platform
        .catalogs()
        .with_list(
            &project,
            access,
            params.include_default_roles,
            |roles: &[Role]| serde_json::to_vec(&params.page(roles)),
        )
        .await?;
    lists::json_list(written)
}

/// `GET /pg/{ref}/roles/{id}`.
pub(super) async fn show(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Json<Role>, PgFailure> {
    lists::show::<Role>(platform, asked).await
}

/// `POST /pg/{ref}/roles`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewRole>,
) -> ChangeResult<Role> {
    let change = asked.begin(&platform).await?;
    if is_system(&new.name) {
        return Err(refuse(&new.name));
    }
    let statements = new.create()?;
    let created = Created::Role(&new.name);
    let outcome = change.finish_created("create a role", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/roles/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<RoleChanges>,
) -> ChangeResult<Role> {
    let id = asked.oid::<Role>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let is_shared = SHARED.contains(&old.name.as_str());
    if is_system(&old.name) || is_shared && !changes.is_of_settings() {
        return Err(refuse(&old.name));
    }
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter a role", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/roles/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Role> {
    let id = asked.oid::<Role>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    if is_system(&old.name) || SHARED.contains(&old.name.as_str()) {
        return Err(refuse(&old.name));
    }
    let statements = old.drop_sql();
    let outcome = change.finish_with("drop a role", statements, old);
    answer(outcome.await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_of_the_installation_are_known() {
        for name in [
            "owner_abcdefghijklmnopqrst",
            "supabase_admin",
            "pg_monitor",
            "plinth_reader",
        ] {
            assert!(is_system(name), "{name}");
        }
        for name in ["owner_of_it", "app", "service_desk", "anon"] {
            assert!(!is_system(name), "{name}");
        }
    }
}
