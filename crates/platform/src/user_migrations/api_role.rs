//! `alter role anon set …` in migrations (console contract F52).
//!
//! The API roles belong to the whole cluster, so changing them is nobody's right; yet migrations
//! do it all the time. What is meant is a setting for this project: the same statement with
//! `in database`, which the administrating role carries out.

use plinth_db::QuotedIdent;

const API_ROLES: [&str; 4] = ["anon", "authenticated", "service_role", "authenticator"];

/// The statement to run instead, when this one sets or resets something of an API role.
pub(super) fn in_database(statement: &str, database: &str) -> Option<String> {
    let text = strip_comments(statement);
    let mut rest = text.as_str();
    take_word(&mut rest, "alter")?;
    take_word(&mut rest, "role").or_else(|| take_word(&mut rest, "user"))?;
    let role = API_ROLES.iter().find(|role| take_name(&mut rest, role).is_some())?;
    let is_setting = ["set", "reset"]
        .iter()
        .any(|keyword| take_word(&mut { rest }, keyword).is_some());
    is_setting.then(|| {
        let database = QuotedIdent::new(database);
        format!("alter role {role} in database {database} {}", rest.trim_start())
    })
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

/// Leading comments only: what comes later belongs to the setting.
fn strip_comments(statement: &str) -> String {
    let mut rest = statement.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after).trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after).trim_start();
        } else {
            return rest.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(statement: &str, expected: Option<&str>) {
        assert_eq!(in_database(statement, "postgres").as_deref(), expected, "{statement}");
    }

    #[test]
    fn settings_of_api_roles_are_moved_into_the_database() {
        check(
            "alter role authenticator set pgrst.db_schemas = 'public, api'",
            Some(r#"alter role authenticator in database "postgres" set pgrst.db_schemas = 'public, api'"#),
        );
        check(
            "-- slow reports\nALTER ROLE \"anon\" SET statement_timeout TO '10s'",
            Some(r#"alter role anon in database "postgres" SET statement_timeout TO '10s'"#),
        );
        check("alter role anon reset all", Some(r#"alter role anon in database "postgres" reset all"#));
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
