//! `alter role anon set …` in migrations and seeds (console contract F52).
//!
//! Such a statement is run as a change of this project alone ([`crate::owner_sql`]), in the same
//! transaction. A setting that only superusers make is left out with a notice, because migrations of
//! the hosted service have such statements.

use tokio_postgres::{Client, Error, error::SqlState};

use super::Statement;
use crate::owner_sql::rewrite_statement;

/// Runs one statement. Returns a notice if it was carried out otherwise than written.
pub(super) async fn run_statement(
    client: &Client,
    statement: &Statement<'_>,
    is_in_transaction: bool,
) -> Result<Option<String>, Error> {
    let Some(rewritten) = rewrite_statement(statement.code) else {
        client.batch_execute(statement.text).await?;
        return Ok(None);
    };
    let shown = shown(statement.code);
    if !is_in_transaction {
        return notice(client.batch_execute(&rewritten).await, &shown);
    }
    client.batch_execute("savepoint plinth_role").await?;
    let done = client.batch_execute(&rewritten).await;
    let end = match &done {
        Ok(()) => "release savepoint plinth_role",
        Err(_) => "rollback to savepoint plinth_role; release savepoint plinth_role",
    };
    client.batch_execute(end).await?;
    notice(done, &shown)
}

fn notice(done: Result<(), Error>, shown: &str) -> Result<Option<String>, Error> {
    match done {
        Ok(()) => Ok(Some(format!("carried out for this project only: {shown}"))),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            let reason = plinth_db::describe(&error);
            Ok(Some(format!("not carried out: {shown}: {reason}")))
        }
        Err(error) => Err(error),
    }
}

/// A password must not be shown.
fn shown(code: &str) -> String {
    let is_password = |word: &str| word.eq_ignore_ascii_case("password");
    let mut words = code.split_whitespace();
    let shown: Vec<&str> = words
        .by_ref()
        .take_while(|word| !is_password(word))
        .collect();
    if shown.len() == code.split_whitespace().count() {
        code.to_owned()
    } else {
        format!("{} password …", shown.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let statement = "alter role postgres  with password 'open sesame'";
        assert_eq!(shown(statement), "alter role postgres with password …");
        let statement = "alter role anon set a.b = 'x  y'";
        assert_eq!(shown(statement), statement);
    }
}
