//! `alter role anon set …` in migrations (console contract F52).
//!
//! The API roles belong to the whole cluster, so changing them is nobody's right; yet migrations
//! do it all the time. What is meant is a setting for this project: the same statement with
//! `in database`, which the administrating role carries out. It does so only for settings that
//! every user may make ([`MovedStatement::setting`] says which one it is).

use plinth_db::QuotedIdent;

const API_ROLES: [&str; 4] = ["anon", "authenticated", "service_role", "authenticator"];

/// A statement that the administrating role runs in the user's stead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MovedStatement {
    /// Its text.
    pub(super) sql: String,
    /// The setting's name in lower case; `all` for `reset all`.
    pub(super) setting: String,
}

/// The statement to run instead, when this one sets or resets something of an API role.
pub(super) fn in_database(statement: &str, database: &str) -> Option<MovedStatement> {
    let mut rest = statement;
    take_word(&mut rest, "alter")?;
    take_word(&mut rest, "role").or_else(|| take_word(&mut rest, "user"))?;
    let role = API_ROLES
        .iter()
        .find(|role| take_name(&mut rest, role).is_some())?;
    let action = rest.trim_start();
    let mut name = action;
    take_word(&mut name, "set").or_else(|| take_word(&mut name, "reset"))?;
    let database = QuotedIdent::new(database);
    Some(MovedStatement {
        sql: format!("alter role {role} in database {database} {action}"),
        setting: setting_name(name),
    })
}

/// `Statement_Timeout = …` and `"statement_timeout" to …` name the same setting.
fn setting_name(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_.\"$".contains(c)));
    text[..end.unwrap_or(text.len())]
        .replace('"', "")
        .to_ascii_lowercase()
}

fn take_word(rest: &mut &str, word: &str) -> Option<()> {
    let trimmed = rest.trim_start();
    let head = trimmed.get(..word.len())?;
    let tail = &trimmed[word.len()..];
    let ends = !tail.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (head.eq_ignore_ascii_case(word) && ends).then(|| *rest = tail)
}

fn take_name(rest: &mut &str, name: &str) -> Option<()> {
    let quoted = format!("\"{name}\"");
    if let Some(tail) = rest.trim_start().strip_prefix(&quoted) {
        *rest = tail;
        return Some(());
    }
    take_word(rest, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(statement: &str, expected: Option<&str>) {
        let moved = in_database(statement, "postgres").map(|moved| moved.sql);
        assert_eq!(moved.as_deref(), expected, "{statement}");
    }

    #[test]
    fn the_setting_is_named_whatever_its_spelling() {
        for (statement, expected) in [
            (
                "alter role anon set statement_timeout = '3s'",
                "statement_timeout",
            ),
            (
                "alter role anon set \"Statement_Timeout\" to 3",
                "statement_timeout",
            ),
            (
                "alter role anon set pgrst.db_schemas='a'",
                "pgrst.db_schemas",
            ),
            ("alter role anon reset all", "all"),
        ] {
            let moved = in_database(statement, "postgres").expect(statement);
            assert_eq!(moved.setting, expected);
        }
    }

    #[test]
    fn settings_of_api_roles_are_moved_into_the_database() {
        check(
            "alter role authenticator set pgrst.db_schemas = 'public, api'",
            Some(
                r#"alter role authenticator in database "postgres" set pgrst.db_schemas = 'public, api'"#,
            ),
        );
        check(
            "ALTER ROLE \"anon\" SET statement_timeout TO '10s'",
            Some(r#"alter role anon in database "postgres" SET statement_timeout TO '10s'"#),
        );
        check(
            "alter role anon reset all",
            Some(r#"alter role anon in database "postgres" reset all"#),
        );
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        check("alter role anon with login", None);
        check("alter role anonymous set x = 1", None);
        check("alter role anon in database postgres set x = 1", None);
        check("alter table anon set schema x", None);
        check("select 1", None);
    }
}
