//! Settings in the database (rest contract §9).
//!
//! In order of precedence: those of the login role in this database, those of the login role, and
//! those that the `db-pre-config` function makes with `set_config`. In a project of the platform only
//! those count that its owner made for this project.

use plinth_db::QuotedIdent;
use plinth_project::RoleSettingsSource;
use postgres_types::Type;
use tokio_postgres::{Client, Error};

use super::{
    apply::{IN_DATABASE, qualified},
    stored_settings::stored,
};
use crate::schema_cache::QualifiedName;

const SQL: &str = include_str!("in_database.sql");

/// Names, without `pgrst.`, and values. `login` is the role whose settings count.
///
/// A `db_pre_config` in the database replaces `pre_config`, already for this load.
pub(crate) async fn load_in_database(
    client: &Client,
    login: &str,
    source: RoleSettingsSource,
    pre_config: Option<&QualifiedName>,
) -> Result<Vec<(String, String)>, Error> {
    let of_role = list(client, login, source, false).await?;
    let own = of_role.iter().find(|(name, _)| name == "db_pre_config");
    let own = own.map(|(_, function)| function.as_str());
    let function = match own {
        Some("") => None,
        Some(function) => Some(qualified(function)),
        None => pre_config.cloned(),
    };
    let Some(function) = function else {
        return Ok(of_role);
    };
    // The function may use transaction-local settings.
    client.batch_execute("begin read only").await?;
    let settings = async {
        client.batch_execute(&call(&function)).await?;
        list(client, login, source, true).await
    };
    let settings = settings.await;
    client.batch_execute("rollback").await?;
    settings
}

pub(crate) async fn session_user(client: &Client) -> Result<String, Error> {
    name(client, "select session_user::text").await
}

pub(crate) async fn current_user(client: &Client) -> Result<String, Error> {
    name(client, "select current_user::text").await
}

async fn name(client: &Client, sql: &str) -> Result<String, Error> {
    let rows = client.query_typed(sql, &[]).await?;
    rows.first().map_or(Ok(String::new()), |row| row.try_get(0))
}

async fn list(
    client: &Client,
    login: &str,
    source: RoleSettingsSource,
    includes_session: bool,
) -> Result<Vec<(String, String)>, Error> {
    let names: Vec<String> = IN_DATABASE
        .iter()
        .map(|name| format!("pgrst.{name}"))
        .collect();
    let params = [
        (&login as _, Type::NAME),
        (&names as _, Type::TEXT_ARRAY),
        (&includes_session as _, Type::BOOL),
    ];
    let sql = SQL.replace("STORED", stored(source));
    let rows = client.query_typed(&sql, &params).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("name")?, row.try_get("value")?)))
        .collect()
}

fn call(function: &QualifiedName) -> String {
    let name = QuotedIdent::new(&function.name);
    if function.schema.is_empty() {
        format!("select {name}()")
    } else {
        format!("select {}.{name}()", QuotedIdent::new(&function.schema))
    }
}
