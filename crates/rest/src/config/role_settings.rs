//! Settings of the roles of callers (rest contract §4.2). PostgreSQL applies `ALTER ROLE … SET`
//! when a session starts, but callers' roles are assumed within a session, so the service applies
//! them.

use std::collections::HashMap;

use plinth_project::RoleSettingsSource;
use postgres_types::Type;
use tokio_postgres::{Client, Error};

use super::{current_user, stored_settings::stored};
use crate::schema_cache::Isolation;

const SQL: &str = include_str!("role_settings.sql");
/// Replaces `MAY_BE_SET`, from PostgreSQL 15 on.
const MAY_BE_SET: &str = "pg_catalog.has_parameter_privilege($1, known.name, 'set')";

/// Settings of all roles that the login role can assume.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoleSettings(HashMap<String, RoleSetting>);

/// Settings for transactions of one role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoleSetting {
    /// `default_transaction_isolation`
    pub(crate) isolation: Option<Isolation>,
    /// The others. They are set before the role is assumed, with the login role's privileges.
    pub(crate) settings: Vec<(String, String)>,
}

impl RoleSettings {
    /// For the login role of the connection.
    pub(crate) async fn load(client: &Client, source: RoleSettingsSource) -> Result<Self, Error> {
        let login = current_user(client).await?;
        Self::load_for(client, &login, source).await
    }

    pub(crate) async fn load_for(
        client: &Client,
        login: &str,
        source: RoleSettingsSource,
    ) -> Result<Self, Error> {
        let version = "select current_setting('server_version_num')::int";
        let rows = client.query_typed(version, &[]).await?;
        let version: i32 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        let may_be_set = if version >= 150_000 {
            MAY_BE_SET
        } else {
            "false"
        };
        let sql = SQL
            .replace("MAY_BE_SET", may_be_set)
            .replace("STORED", stored(source));
        let mut roles = HashMap::<String, RoleSetting>::new();
        for row in client.query_typed(&sql, &[(&login, Type::NAME)]).await? {
            let (name, value): (String, String) = (row.try_get("name")?, row.try_get("value")?);
            let role = roles.entry(row.try_get("role")?).or_default();
            if name == "default_transaction_isolation" {
                role.isolation = Some(isolation(&value));
            } else {
                role.settings.push((name, value));
            }
        }
        Ok(Self(roles))
    }

    pub(crate) fn get(&self, role: &str) -> Option<&RoleSetting> {
        self.0.get(role)
    }
}

fn isolation(level: &str) -> Isolation {
    match level.to_lowercase().as_str() {
        "repeatable read" => Isolation::RepeatableRead,
        "serializable" => Isolation::Serializable,
        _ => Isolation::ReadCommitted,
    }
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;

    /// A login role that can assume two roles, one through the other.
    async fn roles(db: &TestDatabase, name: &str) -> Client {
        let admin = db.admin().await;
        let sql = format!(
            "create role {name}_login noinherit; create role {name}_group; \
             create role {name}_user; create role {name}_stranger; \
             grant {name}_group to {name}_login; grant {name}_user to {name}_group; \
             alter role {name}_user set statement_timeout = '5s'; \
             alter role {name}_user set work_mem = '3MB'; \
             alter role {name}_user set log_min_duration_sample = 12345; \
             alter role {name}_user set default_transaction_isolation = 'repeatable read'; \
             alter role {name}_user in database {} set statement_timeout = '8s'; \
             alter role {name}_group set default_transaction_isolation = 'serializable'; \
             alter role {name}_stranger set work_mem = '9MB'",
            db.name()
        );
        admin.batch_execute(&sql).await.expect("the roles");
        admin
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[tokio::test]
    async fn roles_within_reach_have_their_settings_and_those_of_this_database_win() {
        let db = TestDatabase::create().await;
        let admin = roles(&db, "reach").await;

        let catalog = RoleSettingsSource::Catalog;
        let settings = RoleSettings::load_for(&admin, "reach_login", catalog).await;

        let settings = settings.expect("a list");
        let user = settings.get("reach_user").expect("it has settings");
        assert_eq!(user.isolation, Some(Isolation::RepeatableRead));
        assert_eq!(
            user.settings,
            [pair("statement_timeout", "8s"), pair("work_mem", "3MB")],
            "what only a superuser may set is left out"
        );
        let group = settings.get("reach_group").expect("it has one");
        assert_eq!(group.isolation, Some(Isolation::Serializable));
        assert!(group.settings.is_empty());
        assert_eq!(settings.get("reach_stranger"), None);
    }

    #[tokio::test]
    async fn in_a_project_only_its_own_table_counts() {
        let db = TestDatabase::create().await;
        let admin = roles(&db, "project").await;
        let sql = "insert into plinth_roles.settings \
                   values ('project_user', 'work_mem', '5MB'), ('project_stranger', 'x.y', '1')";
        admin.batch_execute(sql).await.expect("settings");

        let project = RoleSettingsSource::Project;
        let settings = RoleSettings::load_for(&admin, "project_login", project).await;

        let settings = settings.expect("a list");
        let user = settings.get("project_user").expect("it has settings");
        assert_eq!(user.isolation, None);
        assert_eq!(user.settings, [pair("work_mem", "5MB")]);
        assert_eq!(settings.get("project_group"), None);
        assert_eq!(settings.get("project_stranger"), None);
    }

    #[tokio::test]
    async fn a_parameter_that_was_granted_counts_too() {
        let db = TestDatabase::create().await;
        let admin = roles(&db, "granted").await;
        let grant = "grant set on parameter log_min_duration_sample to granted_login";
        admin.batch_execute(grant).await.expect("a grant");
        let login = db.connect_as("granted_login").await;

        let settings = RoleSettings::load(&login, RoleSettingsSource::Catalog).await;
        let settings = settings.expect("a list");

        let user = settings.get("granted_user").expect("it has settings");
        assert!(
            user.settings
                .contains(&pair("log_min_duration_sample", "12345")),
            "{user:?}"
        );
    }
}
