//! Statements of owners that would change a role of the whole cluster, rewritten so that they change
//! this project alone.
//!
//! `alter role anon set …` is common in migrations of the hosted service, where a project has roles of
//! its own. Here it becomes a call of a function in the schema `plinth_roles`, which checks who calls
//! and what is set, within the same transaction. `alter role postgres password …` becomes a change of
//! the project's own login. Everything else is passed on as it is.
//!
//! This is text in, text out: the functions have the say, so a statement that is not recognised does
//! no harm.

mod alter_role;
mod lexer;

use std::borrow::Cow;

use crate::sql_statements::split;
use alter_role::{AlterRole, Change, Role};

/// One statement, if it is to be replaced. `code` begins with its first word.
pub(crate) fn rewrite_statement(code: &str) -> Option<String> {
    let is_candidate = code
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case("alter"));
    if !is_candidate {
        return None;
    }
    alter_role::parse(code).map(|change| render(&change, code))
}

/// A text of one or more statements as a client sends it, if any of them is to be replaced.
pub fn rewrite(sql: &str) -> Option<String> {
    if !mentions_alter_role(sql) {
        return None;
    }
    let statements = split(sql);
    // A backslash may be an escape, depending on a setting of the session; then a semicolon after it
    // could be part of a string.
    if statements.len() > 1 && sql.contains('\\') {
        return None;
    }
    let mut rewritten = String::new();
    let mut copied = 0;
    for statement in &statements {
        if let Some(replacement) = rewrite_statement(statement.code) {
            let start = offset_in(sql, statement.code);
            rewritten.push_str(&sql[copied..start]);
            rewritten.push_str(&replacement);
            copied = start + statement.code.len();
        }
    }
    if copied == 0 {
        return None;
    }
    rewritten.push_str(&sql[copied..]);
    Some(rewritten)
}

/// Cheap, since every statement of every client is asked.
fn mentions_alter_role(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let has = |word: &[u8]| {
        bytes
            .windows(word.len())
            .any(|window| window.eq_ignore_ascii_case(word))
    };
    has(b"alter") && (has(b"role") || has(b"user"))
}

/// Where a part of the text begins.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

fn render(AlterRole { role, change }: &AlterRole, original: &str) -> String {
    let role_name = match role {
        Role::Named(name) => literal(name),
        Role::Current => "current_user::text".to_owned(),
    };
    let call = match change {
        Change::Set(name, values) => {
            let values: Vec<String> = values.iter().map(|value| literal(value)).collect();
            format!(
                "set_setting({role_name}, {}, array[{}])",
                literal(name),
                values.join(", ")
            )
        }
        Change::Reset(name) => format!("reset_setting({role_name}, {})", literal(name)),
        Change::ResetAll => format!("reset_all({role_name})"),
        Change::Password(Some(password)) => format!("set_password({})", literal(password)),
        Change::Password(None) => "set_password(null)".to_owned(),
    };
    let call = format!("perform plinth_roles.{call};");
    match role {
        Role::Named(_) => block(&call),
        Role::Current => block(&format!(
            "if plinth_roles.is_shared(current_user::text) then {call} else execute {}; end if;",
            literal(original)
        )),
    }
}

fn block(body: &str) -> String {
    let mut tag = "$plinth$".to_owned();
    while body.contains(&tag) {
        tag.insert(tag.len() - 1, '_');
    }
    format!("do {tag} begin {body} end {tag}")
}

/// A string constant that means the same whatever `standard_conforming_strings` is.
fn literal(text: &str) -> String {
    let escaped: Cow<'_, str> = if text.contains('\\') {
        Cow::Owned(text.replace('\\', "\\\\"))
    } else {
        Cow::Borrowed(text)
    };
    let prefix = if text.contains('\\') { "E" } else { "" };
    format!("{prefix}'{}'", escaped.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_becomes_a_call() {
        assert_eq!(
            rewrite("alter role anon set statement_timeout = '3s'").as_deref(),
            Some(
                "do $plinth$ begin perform plinth_roles.set_setting('anon', \
                 'statement_timeout', array['3s']); end $plinth$"
            )
        );
    }

    #[test]
    fn only_the_statement_itself_is_replaced() {
        let sql = "begin; -- first\nselect 'alter role anon set a = 1;';\n\
                   ALTER ROLE anon RESET ALL ; commit";
        assert_eq!(
            rewrite(sql).as_deref(),
            Some(
                "begin; -- first\nselect 'alter role anon set a = 1;';\n\
                 do $plinth$ begin perform plinth_roles.reset_all('anon'); end $plinth$ ; commit"
            )
        );
    }

    #[test]
    fn values_cannot_leave_their_quotes() {
        for (value, expected) in [
            ("'it''s'", "'it''s'"),
            (r"E'a\\b'", r"E'a\\b'"),
            ("'$plinth$ end'", "'$plinth$ end'"),
        ] {
            let sql = format!("alter role anon set a.b = {value}");
            let rewritten = rewrite(&sql).expect("recognised");
            assert!(rewritten.contains(expected), "{rewritten}");
            let tag = rewritten.split(' ').nth(1).expect("a tag");
            assert_eq!(rewritten.matches(tag).count(), 2, "{rewritten}");
        }
    }

    #[test]
    fn what_may_be_part_of_a_string_is_left_alone() {
        for sql in [
            r"select 'a\'; alter role anon set a.b = 1; --'",
            "select 1",
            "create function f() returns void language sql as $$ alter role anon set a.b = 1 $$",
            "do $$ begin alter role anon set a.b = 1; end $$",
            "select * from alterations, roles",
        ] {
            assert_eq!(rewrite(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_current_role_is_changed_as_written_unless_it_is_shared() {
        let rewritten = rewrite("alter role current_user set a.b = 'c'").expect("recognised");
        assert!(
            rewritten.contains("else execute 'alter role current_user set a.b = ''c''';"),
            "{rewritten}"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_asked(sql in "(alter role anon set |[ -~\n$'\"é\\\\;]{0,20}){0,4}") {
            _ = rewrite(&sql);
        }
    }
}
