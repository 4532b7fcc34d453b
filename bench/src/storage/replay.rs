//! What Plinth ran for one request, as bytes that do the same for another file.

use anyhow::{anyhow, ensure};
use bytes::{BufMut as _, BytesMut};
use postgres_protocol::{IsNull, message::frontend};

use super::small::{overwrite, places};
use crate::{socket::Socket, statements::Statement};

/// Transactions in the order in which they began.
#[derive(Clone)]
pub(crate) struct Replay {
    /// To be prepared under the name of their place.
    statements: Vec<String>,
    transactions: Vec<Transaction>,
}

/// One flush.
#[derive(Clone)]
struct Transaction {
    bytes: BytesMut,
    name_at: Vec<usize>,
    version_at: Vec<usize>,
}

impl Replay {
    /// Of everything that was seen, what is about this file: others work on the server, too.
    pub(crate) fn new(
        seen: &[Statement],
        name: &str,
        version: Option<&str>,
    ) -> anyhow::Result<Self> {
        let is_about_file = |statement: &Statement| {
            let mut values = statement.values.iter().flatten();
            values.any(|value| value.contains(name) || version.is_some_and(|it| value.contains(it)))
        };
        let mut replay = Self {
            statements: Vec::new(),
            transactions: Vec::new(),
        };
        for transaction in transactions(seen) {
            if transaction.iter().any(|statement| is_about_file(statement)) {
                let bytes = replay.bytes(&transaction)?;
                replay.transactions.push(Transaction {
                    name_at: places(&bytes, name.as_bytes()),
                    version_at: version.map_or_else(Vec::new, |it| places(&bytes, it.as_bytes())),
                    bytes,
                });
            }
        }
        ensure!(
            !replay.transactions.is_empty(),
            "nothing was seen of {name}"
        );
        Ok(replay)
    }

    /// How many transactions and statements there are.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.transactions.len(), self.statements.len())
    }

    /// To be done once on each connection.
    pub(crate) fn prepare(&self, socket: &mut Socket) -> anyhow::Result<()> {
        let mut out = BytesMut::new();
        for (number, sql) in self.statements.iter().enumerate() {
            frontend::parse(&statement_name(number), sql, [], &mut out)?;
        }
        frontend::sync(&mut out);
        socket.send(&out)?;
        socket.rows_until_ready(1)?;
        Ok(())
    }

    /// Runs all transactions about a file, whose name and version are as long as those that were
    /// seen; before the last one of several comes other work.
    pub(crate) fn run(
        &mut self,
        socket: &mut Socket,
        name: &str,
        version: &str,
        mut before_the_last: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<usize> {
        let last = self.transactions.len() - 1;
        let mut rows = 0;
        for (number, transaction) in self.transactions.iter_mut().enumerate() {
            if number == last {
                before_the_last()?;
            }
            overwrite(
                &mut transaction.bytes,
                &transaction.name_at,
                name.as_bytes(),
            );
            overwrite(
                &mut transaction.bytes,
                &transaction.version_at,
                version.as_bytes(),
            );
            socket.send(&transaction.bytes)?;
            rows += socket.rows_until_ready(1)?;
        }
        Ok(rows)
    }

    fn bytes(&mut self, transaction: &[&Statement]) -> anyhow::Result<BytesMut> {
        let mut out = BytesMut::new();
        for statement in transaction {
            let known = self.statements.iter().position(|sql| *sql == statement.sql);
            let number = known.unwrap_or_else(|| {
                self.statements.push(statement.sql.clone());
                self.statements.len() - 1
            });
            let write = |value: &Option<String>, out: &mut BytesMut| match value {
                Some(value) => {
                    out.put_slice(value.as_bytes());
                    Ok(IsNull::No)
                }
                None => Ok(IsNull::Yes),
            };
            // Values as text, results as the driver asks for them.
            let name = statement_name(number);
            frontend::bind("", &name, [0], &statement.values, write, [1], &mut out)
                .map_err(|_| anyhow!("the parameters cannot be written"))?;
            frontend::execute("", 0, &mut out)?;
        }
        frontend::sync(&mut out);
        Ok(out)
    }
}

fn statement_name(number: usize) -> String {
    format!("s{number}")
}

/// Statements of one session from BEGIN to the end, or one by itself.
fn transactions(seen: &[Statement]) -> Vec<Vec<&Statement>> {
    let begins = |statement: &Statement, words: &[&str]| {
        let sql = statement.sql.to_lowercase();
        words.iter().any(|word| sql.starts_with(word))
    };
    let mut open: Vec<Vec<&Statement>> = Vec::new();
    for statement in seen {
        let is_open = |transaction: &&mut Vec<&Statement>| {
            let (first, last) = (transaction[0], transaction[transaction.len() - 1]);
            first.session == statement.session
                && begins(first, &["begin"])
                && !begins(last, &["commit", "rollback"])
        };
        match open.iter_mut().find(is_open) {
            Some(transaction) => transaction.push(statement),
            None => open.push(vec![statement]),
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(session: u32, sql: &str, values: &[&str]) -> Statement {
        Statement {
            sql: sql.to_owned(),
            values: values
                .iter()
                .map(|value| Some((*value).to_owned()))
                .collect(),
            session: Some(session),
        }
    }

    #[test]
    fn sessions_are_distinguished_and_other_lines_left_out() {
        let seen = [
            statement(1, "begin", &[]),
            statement(2, "insert into pending values ($1)", &["v-1"]),
            statement(3, "select now()", &[]),
            statement(1, "select $1", &["a/0001"]),
            statement(1, "commit", &[]),
            statement(1, "begin", &[]),
            statement(1, "select 2", &[]),
            statement(1, "rollback", &[]),
        ];
        let replay = Replay::new(&seen, "a/0001", Some("v-1")).unwrap();
        let expected = [
            "begin",
            "select $1",
            "commit",
            "insert into pending values ($1)",
        ];
        assert_eq!(replay.statements, expected);
        assert_eq!(replay.counts(), (2, 4));
        assert_eq!(replay.transactions[0].name_at.len(), 1);
        assert_eq!(replay.transactions[1].version_at.len(), 1);
    }

    #[test]
    fn a_file_that_was_not_requested_is_rejected() {
        let seen = [statement(1, "select 1", &[])];
        assert!(Replay::new(&seen, "a/0001", None).is_err());
    }
}
