//! Recognises `alter role … set`, `… reset` and `… password` of roles that all projects share.

use super::lexer::{Token, tokens};

/// The roles of callers, which belong to the whole cluster.
const API_ROLES: [&str; 4] = ["anon", "authenticated", "service_role", "authenticator"];
/// The role that owns users' objects. Sessions of the owner are meant, whose login is the project's.
const OWNER_ROLE: &str = "postgres";
/// What tools call the database of every project.
const DATABASE: &str = "postgres";

/// A change of a shared role. Not `Debug`, but in tests: it may hold a password.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(super) struct AlterRole {
    pub(super) role: Role,
    pub(super) change: Change,
}

/// Whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    Named(&'static str),
    /// `current_user`, which may be another role too.
    Current,
}

/// What is changed.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum Change {
    /// A setting and its values; several for a list such as `search_path`.
    Set(String, Vec<String>),
    /// A setting.
    Reset(String),
    ResetAll,
    /// The owner's password; `None` for `password null`.
    Password(Option<String>),
}

/// The change that the statement makes; `None` for every other statement.
pub(super) fn parse(statement: &str) -> Option<AlterRole> {
    let tokens = tokens(statement)?;
    let mut rest = tokens.as_slice();
    take(&mut rest, "alter")?;
    take(&mut rest, "role").or_else(|| take(&mut rest, "user"))?;
    let role = role(&mut rest)?;
    if take(&mut rest, "in").is_some() {
        take(&mut rest, "database")?;
        let database = identifier(&mut rest)?;
        (database == DATABASE).then_some(())?;
    }
    let change = if take(&mut rest, "set").is_some() {
        set(&mut rest)?
    } else if take(&mut rest, "reset").is_some() {
        reset(&mut rest)?
    } else {
        password(&mut rest, &role)?
    };
    rest.is_empty().then_some(AlterRole { role, change })
}

fn role(rest: &mut &[Token<'_>]) -> Option<Role> {
    if take(rest, "current_user").is_some() || take(rest, "current_role").is_some() {
        return Some(Role::Current);
    }
    let name = identifier(rest)?;
    let mut shared = API_ROLES.into_iter().chain([OWNER_ROLE]);
    shared.find(|shared| *shared == name).map(Role::Named)
}

fn set(rest: &mut &[Token<'_>]) -> Option<Change> {
    if take(rest, "time").is_some() {
        take(rest, "zone")?;
        let zone = value(rest)?;
        let is_default = ["default", "local"].contains(&zone.to_ascii_lowercase().as_str());
        let name = "timezone".to_owned();
        return Some(if is_default {
            Change::Reset(name)
        } else {
            Change::Set(name, vec![zone])
        });
    }
    let name = setting_name(rest)?;
    if take(rest, "to").is_none() {
        take_symbol(rest, '=')?;
    }
    if take(rest, "default").is_some() {
        return Some(Change::Reset(name));
    }
    let mut values = vec![value(rest)?];
    while take_symbol(rest, ',').is_some() {
        values.push(value(rest)?);
    }
    Some(Change::Set(name, values))
}

fn reset(rest: &mut &[Token<'_>]) -> Option<Change> {
    if take(rest, "all").is_some() {
        return Some(Change::ResetAll);
    }
    if take(rest, "time").is_some() {
        take(rest, "zone")?;
        return Some(Change::Reset("timezone".to_owned()));
    }
    setting_name(rest).map(Change::Reset)
}

/// Only of `postgres`, and only alone: other options are not the owner's to change.
fn password(rest: &mut &[Token<'_>], role: &Role) -> Option<Change> {
    (*role == Role::Named(OWNER_ROLE)).then_some(())?;
    _ = take(rest, "with");
    _ = take(rest, "encrypted");
    take(rest, "password")?;
    if take(rest, "null").is_some() {
        return Some(Change::Password(None));
    }
    match rest.split_first()? {
        (Token::Text(password), tail) => {
            *rest = tail;
            Some(Change::Password(Some(password.clone())))
        }
        _ => None,
    }
}

/// `statement_timeout`, or `pgrst.db_schemas`.
fn setting_name(rest: &mut &[Token<'_>]) -> Option<String> {
    let mut name = identifier(rest)?;
    while take_symbol(rest, '.').is_some() {
        name.push('.');
        name.push_str(&identifier(rest)?);
    }
    Some(name)
}

fn value(rest: &mut &[Token<'_>]) -> Option<String> {
    let is_negative = take_symbol(rest, '-').is_some();
    let has_sign = is_negative || take_symbol(rest, '+').is_some();
    let (first, tail) = rest.split_first()?;
    let value = match first {
        Token::Number(number) if is_negative => format!("-{number}"),
        Token::Number(number) => (*number).to_owned(),
        Token::Text(text) if !has_sign => text.clone(),
        Token::Word(_) | Token::Quoted(_) if !has_sign => return identifier(rest),
        _ => return None,
    };
    *rest = tail;
    Some(value)
}

/// Without quotes in lower case, as PostgreSQL reads it.
fn identifier(rest: &mut &[Token<'_>]) -> Option<String> {
    let (first, tail) = rest.split_first()?;
    let name = match first {
        Token::Word(word) => word.to_ascii_lowercase(),
        Token::Quoted(name) => name.clone(),
        _ => return None,
    };
    *rest = tail;
    Some(name)
}

fn take(rest: &mut &[Token<'_>], keyword: &str) -> Option<()> {
    let (first, tail) = rest.split_first()?;
    first.is(keyword).then(|| *rest = tail)
}

fn take_symbol(rest: &mut &[Token<'_>], symbol: char) -> Option<()> {
    let (first, tail) = rest.split_first()?;
    (*first == Token::Symbol(symbol)).then(|| *rest = tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(statement: &str, role: &'static str, change: Change) {
        let expected = AlterRole {
            role: Role::Named(role),
            change,
        };
        assert_eq!(parse(statement), Some(expected), "{statement}");
    }

    fn set(name: &str, values: &[&str]) -> Change {
        let values = values.iter().map(|value| (*value).to_owned());
        Change::Set(name.to_owned(), values.collect())
    }

    #[test]
    fn settings_are_recognised_in_any_spelling() {
        check(
            "alter role anon set statement_timeout = '3s'",
            "anon",
            set("statement_timeout", &["3s"]),
        );
        check(
            "ALTER  USER \"authenticated\" /* ! */ SET Statement_Timeout TO 3000",
            "authenticated",
            set("statement_timeout", &["3000"]),
        );
        check(
            "alter role authenticator set pgrst.db_schemas = 'public, api'",
            "authenticator",
            set("pgrst.db_schemas", &["public, api"]),
        );
        check(
            "alter role postgres in database postgres set search_path to \"My\", public, ''",
            "postgres",
            set("search_path", &["My", "public", ""]),
        );
        check(
            "alter role anon set time zone 'Europe/Berlin'",
            "anon",
            set("timezone", &["Europe/Berlin"]),
        );
        check(
            "alter role anon set geqo_seed = -0.5",
            "anon",
            set("geqo_seed", &["-0.5"]),
        );
        check(
            "alter role anon set row_security = on",
            "anon",
            set("row_security", &["on"]),
        );
    }

    #[test]
    fn resets_are_recognised() {
        check("alter role anon reset all", "anon", Change::ResetAll);
        check(
            "alter role anon reset work_mem",
            "anon",
            Change::Reset("work_mem".to_owned()),
        );
        check(
            "alter role anon set work_mem to default",
            "anon",
            Change::Reset("work_mem".to_owned()),
        );
    }

    #[test]
    fn the_owners_password_is_recognised() {
        let secret = || Change::Password(Some("se'cret".to_owned()));
        check(
            "alter role postgres password 'se''cret'",
            "postgres",
            secret(),
        );
        check(
            "alter user postgres with encrypted password $$se'cret$$",
            "postgres",
            secret(),
        );
        check(
            "alter role postgres password null",
            "postgres",
            Change::Password(None),
        );
    }

    #[test]
    fn the_current_role_may_be_a_shared_one() {
        let found = parse("alter role current_user set work_mem = '1MB'").expect("recognised");
        assert_eq!(found.role, Role::Current);
    }

    #[test]
    fn other_statements_are_not() {
        for statement in [
            "alter role anon with login",
            "alter role anon password 'x'",
            "alter role postgres login password 'x'",
            "alter role postgres password 'x' valid until 'infinity'",
            "alter role anonymous set x = 1",
            "alter role \"Anon\" set x = 1",
            "alter role anon in database other set x = 1",
            "alter role all set x = 1",
            "alter role anon rename to nobody",
            "alter role anon set x from current",
            "alter role anon set x",
            "alter role anon set x = 1, ",
            "alter role anon set x = 1 garbage",
            "alter role anon set x = (select 1)",
            "alter table anon set schema x",
            "select 1",
            "",
        ] {
            assert_eq!(parse(statement), None, "{statement}");
        }
    }
}
