//! Checks a project's logins, and restores what is not as Plinth made it.
//!
//! Users' code runs in sessions of these logins, and every role may change its own password and
//! settings: a trigger that runs `set role none; alter role service_<ref> password …` would lock
//! Plinth out of the project.

use plinth_db::{DbError, QuotedIdent};
use plinth_token::matches_scram_verifier;
use tokio_postgres::{Client, Row};

use super::{
    LoginKind, Logins, create_one_sql, enter_one_sql, kinds, password_sql, reserve_connections_sql,
};
use crate::{Cluster, ProjectRef};

const INSPECT: &str = include_str!("inspect.sql");
/// What a session as `postgres` needs, as [`INSPECT`] renders it.
const START_AS_POSTGRES: &str = "in this database: role=postgres";

/// Restores what differs and returns what that was, one phrase each. `admin` is the administrating
/// role on any database of the cluster; `is_rejected` says that PostgreSQL has rejected a login, which
/// counts where stored passwords cannot be read.
pub(crate) async fn restore(
    admin: &mut Client,
    cluster: &Cluster,
    reference: &ProjectRef,
    database: &str,
    logins: &Logins,
    is_rejected: bool,
) -> Result<Vec<String>, DbError> {
    let found = inspect(admin, cluster, reference, database).await?;
    let mut differences = Vec::new();
    let (mut sql, mut reserving) = (String::new(), String::new());
    for kind in kinds(cluster) {
        let name = kind.role_name(reference);
        let row = found.iter().find(|login| login.name == name);
        let mut of_login = differences_of(row, kind, cluster, logins);
        if is_rejected && !cluster.is_superuser && of_login.is_empty() {
            of_login.push("was rejected");
        }
        if of_login.is_empty() {
            continue;
        }
        sql.push_str(&restore_sql(cluster, kind, reference, database));
        reserving.push_str(&reserve_connections_sql(cluster, kind, reference));
        // The owner chooses its password; a login that is new needs one.
        if kind != LoginKind::Owner || row.is_none() {
            sql.push_str(&password_sql(kind, reference, logins.password(kind)));
        }
        // An earlier version did not make it, and nobody can have dropped it.
        if row.is_some() || !kind.is_of_operators() {
            differences.push(format!("{name} {}", of_login.join(" and ")));
        }
    }
    sql.push_str(&reserving);
    if !sql.is_empty() {
        let transaction = admin.transaction().await?;
        transaction.batch_execute(&sql).await?;
        transaction.commit().await?;
    }
    Ok(differences)
}

/// A login as the catalog has it.
struct FoundLogin {
    name: String,
    has_attributes: bool,
    connection_limit: i32,
    may_connect: bool,
    member_of: Vec<String>,
    settings: Vec<String>,
    /// The stored password; `None` where it is not set or cannot be read.
    verifier: Option<String>,
}

impl FoundLogin {
    fn from_row(row: &Row) -> Self {
        Self {
            name: row.get("name"),
            has_attributes: row.get("has_attributes"),
            connection_limit: row.get("connection_limit"),
            may_connect: row.get("may_connect"),
            member_of: row.get("member_of"),
            settings: row.get("settings"),
            verifier: row.get("verifier"),
        }
    }
}

async fn inspect(
    admin: &Client,
    cluster: &Cluster,
    reference: &ProjectRef,
    database: &str,
) -> Result<Vec<FoundLogin>, DbError> {
    // Only superusers can read stored passwords.
    let (catalog, password) = if cluster.is_superuser {
        ("pg_catalog.pg_authid", "login.rolpassword")
    } else {
        ("pg_catalog.pg_roles", "null::text")
    };
    let sql = INSPECT
        .replace("PASSWORD", password)
        .replace("CATALOG", catalog);
    let names: Vec<String> = kinds(cluster)
        .map(|kind| kind.role_name(reference))
        .collect();
    let rows = admin.query(&sql, &[&names, &database]).await?;
    Ok(rows.iter().map(FoundLogin::from_row).collect())
}

fn differences_of(
    found: Option<&FoundLogin>,
    kind: LoginKind,
    cluster: &Cluster,
    logins: &Logins,
) -> Vec<&'static str> {
    let Some(found) = found else {
        return vec!["was missing"];
    };
    let limit = kind.connection_limit(cluster);
    let has_limit = limit.is_none_or(|limit| i64::from(found.connection_limit) == i64::from(limit));
    let checks = [
        (found.has_attributes, "had other attributes"),
        (has_limit, "had another connection limit"),
        (found.may_connect, "could not connect"),
        (may_assume(found, kind, cluster), "lacked a membership"),
        (has_own_settings(found, kind), "had other settings"),
        (
            has_password(found, kind, cluster, logins),
            "had another password",
        ),
    ];
    let failed = checks.into_iter().filter(|(is_right, _)| !is_right);
    failed.map(|(_, difference)| difference).collect()
}

fn may_assume(found: &FoundLogin, kind: LoginKind, cluster: &Cluster) -> bool {
    let reserved = cluster.has_reserved_connections() && kind.has_reserved_connections();
    let reserved = reserved.then_some("pg_use_reserved_connections");
    let mut expected = kind.assumes().iter().copied().chain(reserved);
    expected.all(|role| found.member_of.iter().any(|member| member == role))
}

/// The owner's own settings are the owner's business.
fn has_own_settings(found: &FoundLogin, kind: LoginKind) -> bool {
    let starts = found.settings.iter().any(|text| text == START_AS_POSTGRES);
    match kind {
        LoginKind::Owner => starts,
        LoginKind::Migrator => starts && found.settings.len() == 1,
        _ => found.settings.is_empty(),
    }
}

fn has_password(found: &FoundLogin, kind: LoginKind, cluster: &Cluster, logins: &Logins) -> bool {
    if kind == LoginKind::Owner || !cluster.is_superuser {
        return true;
    }
    let verifier = found.verifier.as_deref().unwrap_or_default();
    matches_scram_verifier(logins.password(kind), verifier) == Some(true)
}

fn restore_sql(
    cluster: &Cluster,
    kind: LoginKind,
    reference: &ProjectRef,
    database: &str,
) -> String {
    let name = QuotedIdent::new(&kind.role_name(reference));
    let db = QuotedIdent::new(database);
    let mut sql = create_one_sql(cluster, kind, reference);
    // Only a superuser may name the other attributes, and no other role can have set them.
    let attributes = if cluster.is_superuser {
        "nosuperuser noreplication nobypassrls nocreaterole nocreatedb"
    } else {
        "nocreaterole nocreatedb"
    };
    sql.push_str(&format!(
        "alter role {name} login noinherit {attributes} valid until 'infinity';\n"
    ));
    if kind != LoginKind::Owner {
        sql.push_str(&format!(
            "alter role {name} reset all;\nalter role {name} in database {db} reset all;\n"
        ));
    }
    sql.push_str(&enter_one_sql(kind, reference, &db));
    sql
}
