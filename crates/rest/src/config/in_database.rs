//! Settings that stand in the database (rest contract §9).
//!
//! Strongest first: those of the login role in this database, those of the login role, and those
//! that the `db-pre-config` function makes with `set_config`.

use plinth_db::QuotedIdent;
use postgres_types::Type;
use tokio_postgres::{Client, Error};

use super::apply::{IN_DATABASE, qualified};
use crate::schema_cache::QualifiedName;

const SQL: &str = include_str!("in_database.sql");

/// Names without `pgrst.`, with their values. `login` is the role whose settings count.
///
/// A `db_pre_config` that itself stands in the database is called at once, instead of `pre_config`.
pub(crate) async fn load_in_database(
    client: &Client,
    login: &str,
    pre_config: Option<&QualifiedName>,
) -> Result<Vec<(String, String)>, Error> {
    let of_role = list(client, login, false).await?;
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
    // What the function sets may hold until the end of its transaction only.
    client.batch_execute("begin read only").await?;
    let settings = async {
        client.batch_execute(&call(&function)).await?;
        list(client, login, true).await
    };
    let settings = settings.await;
    client.batch_execute("rollback").await?;
    settings
}

/// Who a connection belongs to.
pub(crate) async fn session_user(client: &Client) -> Result<String, Error> {
    name(client, "select session_user::text").await
}

/// As whom a connection acts.
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
    counts_session: bool,
) -> Result<Vec<(String, String)>, Error> {
    let names: Vec<String> = IN_DATABASE
        .iter()
        .map(|name| format!("pgrst.{name}"))
        .collect();
    let params = [
        (&login as _, Type::NAME),
        (&names as _, Type::TEXT_ARRAY),
        (&counts_session as _, Type::BOOL),
    ];
    let rows = client.query_typed(SQL, &params).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("name")?, row.try_get("value")?)))
        .collect()
}

fn call(function: &QualifiedName) -> String {
    let name = QuotedIdent::new(&function.name);
    match function.schema.is_empty() {
        true => format!("select {name}()"),
        false => format!("select {}.{name}()", QuotedIdent::new(&function.schema)),
    }
}
