//! `alter database … set` and `alter role … in database … set`. They belong to the cluster, not to the
//! database's files, so that a file-level copy lacks them.

use std::fmt;

use plinth_db::{QuotedIdent, QuotedLiteral};
use tokio_postgres::{Client, Row};

use crate::DumpError;

/// One default setting of sessions.
#[derive(Clone, PartialEq, Eq)]
pub struct Setting {
    /// For this role only; otherwise for all.
    pub role: Option<String>,
    /// The parameter.
    pub name: String,
    /// Its value, as stored.
    pub value: String,
}

/// Without the value, which may be a secret such as `app.settings.jwt_secret`.
impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting")
            .field("role", &self.role)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

const SETTINGS: &str = "
    select r.rolname::text as role, split_part(t.text, '=', 1) as name,
           substr(t.text, strpos(t.text, '=') + 1) as value
    from pg_catalog.pg_db_role_setting s
    join pg_catalog.pg_database d on d.oid = s.setdatabase
    left join pg_catalog.pg_roles r on r.oid = s.setrole
    cross join lateral unnest(s.setconfig) with ordinality t (text, at)
    where d.datname = $1
    order by r.rolname nulls first, t.at";

/// The default settings of a database; the client may be on any database.
pub async fn read_settings(client: &Client, database: &str) -> Result<Vec<Setting>, DumpError> {
    let rows = client.query(SETTINGS, &[&database]).await?;
    Ok(rows.iter().map(Setting::from_row).collect())
}

/// Statements for the same settings on another database, without roles for which `is_left_out` is true.
pub fn settings_sql(
    settings: &[Setting],
    database: &str,
    is_left_out: impl Fn(&str) -> bool,
) -> String {
    let database = QuotedIdent::new(database);
    let kept = |setting: &&Setting| !setting.role.as_deref().is_some_and(&is_left_out);
    let line = |setting: &Setting| {
        let whose = match &setting.role {
            Some(role) => format!("role {} in database {database}", QuotedIdent::new(role)),
            None => format!("database {database}"),
        };
        format!(
            "alter {whose} set {} to {};\n",
            parameter(&setting.name),
            value(&setting.name, &setting.value)
        )
    };
    settings.iter().filter(kept).map(line).collect()
}

impl Setting {
    fn from_row(row: &Row) -> Self {
        Self {
            role: row.get("role"),
            name: row.get("name"),
            value: row.get("value"),
        }
    }
}

/// Custom parameters have two parts, as in `app.tenant`.
fn parameter(name: &str) -> String {
    let parts: Vec<String> = name
        .split('.')
        .map(|part| QuotedIdent::new(part).to_string())
        .collect();
    parts.join(".")
}

/// Values of these are stored as lists with quoted elements; quoting the whole would make it one name.
const LISTS: [&str; 6] = [
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

fn value(name: &str, value: &str) -> String {
    if !LISTS.contains(&name.to_ascii_lowercase().as_str()) {
        return QuotedLiteral::new(value).to_string();
    }
    let parts: Vec<String> = split_list(value)
        .iter()
        .map(|part| QuotedLiteral::new(part).to_string())
        .collect();
    if parts.is_empty() {
        "''".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Splits a comma-separated list with optional double quotes.
fn split_list(list: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let (mut is_quoted, mut was_quoted) = (false, false);
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                part.push('"');
            }
            '"' => {
                is_quoted = !is_quoted;
                was_quoted = true;
            }
            ',' if !is_quoted => {
                parts.push(std::mem::take(&mut part));
                was_quoted = false;
            }
            letter if letter.is_whitespace() && !is_quoted => {}
            letter => part.push(letter),
        }
    }
    if !part.is_empty() || was_quoted {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(role: Option<&str>, name: &str, value: &str, expected: &str) {
        let setting = Setting {
            role: role.map(str::to_owned),
            name: name.to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(
            settings_sql(&[setting], "d", |role| role == "out"),
            expected
        );
    }

    #[test]
    fn values_are_quoted() {
        check(
            None,
            "app.it",
            "it's",
            "alter database \"d\" set \"app\".\"it\" to 'it''s';\n",
        );
        check(
            Some("anon"),
            "statement_timeout",
            "3s",
            "alter role \"anon\" in database \"d\" set \"statement_timeout\" to '3s';\n",
        );
    }

    #[test]
    fn lists_stay_lists() {
        let expected =
            "alter database \"d\" set \"search_path\" to '$user', 'public', 'it\"s, odd';\n";
        check(
            None,
            "search_path",
            "\"$user\", public, \"it\"\"s, odd\"",
            expected,
        );
        check(
            None,
            "search_path",
            "\"\"",
            "alter database \"d\" set \"search_path\" to '';\n",
        );
    }

    #[test]
    fn debug_prints_no_value() {
        let setting = Setting {
            role: None,
            name: "app.settings.jwt_secret".to_owned(),
            value: "open sesame".to_owned(),
        };

        assert!(!format!("{setting:?}").contains("open sesame"));
    }

    #[test]
    fn settings_of_roles_left_out_are_not_made() {
        check(Some("out"), "role", "postgres", "");
    }
}
