//! Undoes changes of roles that all projects share.
//!
//! Every role may change its own settings and its password, and every user of a project may become
//! `anon`. Such entries have no effect: callers get the settings of their project's own table
//! ([`crate::RoleSettingsSource::Project`]), and no client can log in as these roles. They are
//! removed all the same, because they mislead readers.

use plinth_db::{DbError, QuotedIdent, describe};
use tokio_postgres::{Client, Row};

const FIND_CHANGES: &str = include_str!("shared_roles.sql");

/// What a change concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RoleChange {
    role: String,
    /// The setting; `None` for a password.
    setting: Option<String>,
    is_of_database: bool,
}

/// Removes entries of shared roles that are in no project's table, and passwords. Returns what was
/// removed, one phrase each. `admin` is a superuser; entries for its database are removed only if that
/// is the database of a project.
pub async fn undo_role_changes(admin: &Client) -> Result<Vec<String>, DbError> {
    let has_table = "select to_regclass('plinth_roles.settings') is not null";
    if !admin.query_one(has_table, &[]).await?.get::<_, bool>(0) {
        return Ok(Vec::new());
    }
    let mut undone = Vec::new();
    for row in &admin.query(FIND_CHANGES, &[]).await? {
        let change = RoleChange::from_row(row);
        let undo = change.undo_sql(row.get("database"));
        // Another session may be at it; what remains is found again.
        if let Err(error) = admin.batch_execute(&undo).await {
            tracing::debug!("undoing {change} failed: {}", describe(&error));
        } else if !row.get::<_, bool>("is_default") {
            undone.push(change.to_string());
        }
    }
    Ok(undone)
}

impl RoleChange {
    fn from_row(row: &Row) -> Self {
        Self {
            role: row.get("role"),
            setting: row.get("setting"),
            is_of_database: row.get("is_of_database"),
        }
    }

    fn undo_sql(&self, database: &str) -> String {
        let role = QuotedIdent::new(&self.role);
        let Some(setting) = &self.setting else {
            return format!("alter role {role} password null");
        };
        let parts: Vec<String> = setting
            .split('.')
            .map(|part| QuotedIdent::new(part).to_string())
            .collect();
        let database = if self.is_of_database {
            format!(" in database {}", QuotedIdent::new(database))
        } else {
            String::new()
        };
        format!("alter role {role}{database} reset {}", parts.join("."))
    }
}

impl std::fmt::Display for RoleChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let role = &self.role;
        match &self.setting {
            None => write!(f, "a password of role {role}"),
            Some(setting) if self.is_of_database => {
                write!(f, "{setting} of role {role} in this database")
            }
            Some(setting) => write!(f, "{setting} of role {role} in all databases"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(setting: Option<&str>, is_of_database: bool) -> RoleChange {
        RoleChange {
            role: "anon".to_owned(),
            setting: setting.map(str::to_owned),
            is_of_database,
        }
    }

    #[test]
    fn a_change_is_undone_where_it_was_made() {
        let check = |change: RoleChange, expected| assert_eq!(change.undo_sql("d"), expected);
        check(
            change(Some("pgrst.db_schemas"), true),
            "alter role \"anon\" in database \"d\" reset \"pgrst\".\"db_schemas\"",
        );
        check(
            change(Some("DateStyle"), false),
            "alter role \"anon\" reset \"DateStyle\"",
        );
        check(change(None, false), "alter role \"anon\" password null");
    }
}
