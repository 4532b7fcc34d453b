//! `alter database … set` and `alter role … in database … set`. They hang on the database and
//! not in it, so that no copy of its files carries them.

use plinth_db::{QuotedIdent, QuotedLiteral};
use tokio_postgres::{Client, Row};

use crate::DumpError;

/// One setting that sessions start with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// For this role only; for everybody otherwise.
    pub role: Option<String>,
    /// The parameter.
    pub name: String,
    /// Its value, as stored.
    pub value: String,
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

/// What sessions on a database start with, whichever database the client is on.
pub async fn read_settings(client: &Client, database: &str) -> Result<Vec<Setting>, DumpError> {
    let rows = client.query(SETTINGS, &[&database]).await?;
    Ok(rows.iter().map(Setting::from_row).collect())
}

/// Makes the same settings on another database, but for roles that `is_left_out` names.
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

/// Parameters of one's own have two parts, as in `app.tenant`.
fn parameter(name: &str) -> String {
    let parts: Vec<String> = name
        .split('.')
        .map(|part| QuotedIdent::new(part).to_string())
        .collect();
    parts.join(".")
}

/// Values of these are stored as quoted lists; quoted once more they would be one name.
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
    match parts.is_empty() {
        true => "''".to_owned(),
        false => parts.join(", "),
    }
}

/// Names separated by commas, some in double quotes.
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
    fn settings_of_roles_left_out_are_not_made() {
        check(Some("out"), "role", "postgres", "");
    }
}
