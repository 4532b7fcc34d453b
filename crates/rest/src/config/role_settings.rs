//! Settings of the roles that callers get (rest contract §4.2): `ALTER ROLE … SET` speaks of
//! sessions, and nobody opens a session as one of these roles.

use std::collections::HashMap;

use postgres_types::Type;
use tokio_postgres::{Client, Error};

use super::current_user;
use crate::schema_cache::Isolation;

/// Without the clause about parameters that are granted, which PostgreSQL has since version 15.
const SQL: &str = include_str!("role_settings.sql");
const MAY_BE_SET: &str = "pg_catalog.has_parameter_privilege($1, known.name, 'set')";

/// Of all roles that the login role may assume and that have settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoleSettings(HashMap<String, RoleSetting>);

/// What holds in transactions of one role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoleSetting {
    /// `default_transaction_isolation`
    pub(crate) isolation: Option<Isolation>,
    /// The others. They are made before the role is assumed, with the login role's rights.
    pub(crate) settings: Vec<(String, String)>,
}

impl RoleSettings {
    /// For whoever the connection belongs to.
    pub(crate) async fn load(client: &Client) -> Result<Self, Error> {
        let login = current_user(client).await?;
        Self::load_for(client, &login).await
    }

    /// For another login role than the connection's own.
    pub(crate) async fn load_for(client: &Client, login: &str) -> Result<Self, Error> {
        let version = "select current_setting('server_version_num')::int";
        let rows = client.query_typed(version, &[]).await?;
        let version: i32 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        let may_be_set = if version >= 150_000 {
            MAY_BE_SET
        } else {
            "false"
        };
        let sql = SQL.replace("MAY_BE_SET", may_be_set);
        let mut roles = HashMap::<String, RoleSetting>::new();
        for row in client.query_typed(&sql, &[(&login, Type::NAME)]).await? {
            let (name, value): (String, String) = (row.try_get("name")?, row.try_get("value")?);
            let role = roles.entry(row.try_get("role")?).or_default();
            match name == "default_transaction_isolation" {
                true => role.isolation = Some(isolation(&value)),
                false => role.settings.push((name, value)),
            }
        }
        Ok(Self(roles))
    }

    pub(crate) fn of(&self, role: &str) -> Option<&RoleSetting> {
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

    /// A login with two roles that it may assume, one of them through the other.
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

        let settings = RoleSettings::load_for(&admin, "reach_login").await;

        let settings = settings.expect("a list");
        let user = settings.of("reach_user").expect("it has settings");
        assert_eq!(user.isolation, Some(Isolation::RepeatableRead));
        assert_eq!(
            user.settings,
            [pair("statement_timeout", "8s"), pair("work_mem", "3MB")],
            "what only a superuser may set is left out"
        );
        let group = settings.of("reach_group").expect("it has one");
        assert_eq!(group.isolation, Some(Isolation::Serializable));
        assert!(group.settings.is_empty());
        assert_eq!(settings.of("reach_stranger"), None);
    }

    #[tokio::test]
    async fn a_parameter_that_was_granted_counts_too() {
        let db = TestDatabase::create().await;
        let admin = roles(&db, "granted").await;
        let grant = "grant set on parameter log_min_duration_sample to granted_login";
        admin.batch_execute(grant).await.expect("a grant");
        let login = db.connect_as("granted_login").await;

        let settings = RoleSettings::load(&login).await.expect("a list");

        let user = settings.of("granted_user").expect("it has settings");
        assert!(
            user.settings
                .contains(&pair("log_min_duration_sample", "12345")),
            "{user:?}"
        );
    }
}
