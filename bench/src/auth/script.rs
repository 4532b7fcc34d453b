//! The statements that Plinth ran for one request, as a pgbench script: the same statements and values, but for
//! other users.

use anyhow::{Context as _, ensure};

use super::{CONNECTIONS, SESSIONS_PER_CONNECTION, scripted_client::Operation, users};
use crate::{
    pgbench::{Script, with_names},
    statements::Statement,
};

/// Number of the first token that pgbench shows; each has the number of its session, and its
/// child stands this far above it.
pub(crate) const FIRST_TOKEN: u64 = 500_000_000_000;
const GENERATION: u64 = CONNECTIONS as u64 * SESSIONS_PER_CONNECTION;

/// A recorded request of one user, and its result.
pub(crate) struct Recorded {
    pub(crate) user: u64,
    pub(crate) statements: Vec<Statement>,
    pub(crate) token: String,
    pub(crate) child: String,
}

/// Compares two requests of different users: values that differ depend on the user.
pub(crate) fn script(
    operation: Operation,
    first: u64,
    seen: &Recorded,
    other: &Recorded,
) -> anyhow::Result<Script> {
    let texts = |seen: &Recorded| -> Vec<String> {
        seen.statements.iter().map(|it| it.sql.clone()).collect()
    };
    ensure!(
        !seen.statements.is_empty() && texts(seen) == texts(other),
        "two requests ran different statements, or none: {:?}, {:?}",
        seen.statements,
        other.statements
    );
    let mut transaction = pick_user(operation, first);
    let mut values = vec![("step".to_owned(), "-1".to_owned())];
    for (number, (one, two)) in seen.statements.iter().zip(&other.statements).enumerate() {
        let mut expressions = Vec::new();
        for (at, value) in (1..).zip(one.values.iter().zip(&two.values)) {
            let name = format!("v{number}_{at}");
            expressions.push(match seen.stands_for(value)? {
                Value::Expression(expression) => expression,
                Value::Constant(value) => {
                    values.push((name.clone(), value));
                    format!(":{name}")
                }
            });
        }
        let expression = |parameter: usize| expressions.get(parameter - 1).cloned();
        let sql = with_names(&one.sql, |it| expression(it).unwrap_or_default());
        transaction.push_str(&format!("{sql};\n"));
    }
    let check = format!("{transaction}{}\n\\gset\n", proof(operation, &transaction)?);
    Ok(Script {
        transaction,
        check,
        values,
    })
}

/// Picks a user: for refreshes each client's sessions in turn, as the load generator does.
fn pick_user(operation: Operation, first: u64) -> String {
    let (each, last) = (SESSIONS_PER_CONNECTION, first + GENERATION - 1);
    let drawn = match operation {
        Operation::Refresh => format!(
            "\\set step :step + 1\n\
             \\set turn :client_id * {each} + :step % {each}\n\
             \\set token {FIRST_TOKEN} + :turn + (:step / {each}) * {GENERATION}\n\
             \\set child :token + {GENERATION}\n\
             \\set person {first} + :turn\n"
        ),
        _ => format!("\\set person random({first}, {last})\n"),
    };
    format!("{drawn}\\set session {} + :person\n", users::SESSION)
}

/// A statement that divides by zero unless the transaction did its work.
fn proof(operation: Operation, transaction: &str) -> anyhow::Result<String> {
    let condition = match operation {
        Operation::Refresh => "exists (select from auth.refresh_tokens t
             join auth.refresh_tokens p on p.token = t.parent
             where t.token = :child and not t.revoked and p.revoked)"
            .to_owned(),
        _ => {
            let lines = transaction.lines();
            let statement = lines.skip_while(|line| line.starts_with('\\'));
            let statement = statement.collect::<Vec<_>>().join("\n");
            let sql = statement.strip_suffix(';').context("no statement")?;
            format!(
                "(select pg_catalog.strpos(answer::text, 'person' || :person || '@') > 0
                  from ({sql}) as answer)"
            )
        }
    };
    Ok(format!("select 1 / ({condition})::int as is_right"))
}

/// What pgbench runs in the place of a value.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    Expression(String),
    Constant(String),
}

impl Recorded {
    /// A value of this request, beside that of another.
    fn stands_for(
        &self,
        (value, other): (&Option<String>, &Option<String>),
    ) -> anyhow::Result<Value> {
        let Some(value) = value else {
            return Ok(Value::Expression("null".to_owned()));
        };
        let known = [
            (users::user_id(self.user), "lpad(:person, 32, '0')::uuid"),
            (
                users::session_id(self.user),
                "lpad(:session, 32, '0')::uuid",
            ),
            (self.token.clone(), ":token"),
            (self.child.clone(), ":child"),
        ];
        if let Some((_, expression)) = known.iter().find(|(known, _)| known == value) {
            return Ok(Value::Expression((*expression).to_owned()));
        }
        if is_uuid(value) && Some(value) != other.as_ref() {
            return Ok(Value::Expression("gen_random_uuid()".to_owned()));
        }
        ensure!(
            !value.contains(&self.token) && !value.contains(&self.child),
            "a value that holds a token: {value}"
        );
        Ok(Value::Constant(value.clone()))
    }
}

fn is_uuid(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    value.len() == 36 && value.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(user: u64, token: &str, child: &str) -> Recorded {
        let value = |text: &str| Some(text.to_owned());
        let run = |sql: &str, values: Vec<Option<String>>| Statement {
            sql: sql.to_owned(),
            values,
            session: None,
        };
        let statements = vec![
            run("begin", Vec::new()),
            run(
                "insert into t values ($1, $2, $3, $4)",
                vec![value(child), value(token), None, value("node")],
            ),
            run(
                "update s set at = $2 where id = $1",
                vec![Some(users::session_id(user)), value(token)],
            ),
        ];
        Recorded {
            user,
            statements,
            token: token.to_owned(),
            child: child.to_owned(),
        }
    }

    #[test]
    fn what_belongs_to_a_user_varies_and_the_rest_stays() {
        let (one, two) = (seen(1, "aaa", "bbb"), seen(2, "ccc", "ddd"));
        let script = script(Operation::Refresh, 2049, &one, &two).unwrap();
        let expected = "begin;\ninsert into t values (:child, :token, null, :v1_4);\n\
                        update s set at = :token where id = lpad(:session, 32, '0')::uuid;\n";
        assert!(
            script.transaction.ends_with(expected),
            "{}",
            script.transaction
        );
        assert!(script.transaction.contains("\\set person 2049 + :turn\n"));
        let values = [("step", "-1"), ("v1_4", "node")];
        assert_eq!(
            script.values,
            values.map(|(n, v)| (n.to_owned(), v.to_owned()))
        );
    }

    #[test]
    fn requests_that_ran_different_statements_are_rejected() {
        let (one, mut two) = (seen(1, "aaa", "bbb"), seen(2, "ccc", "ddd"));
        two.statements.pop();
        assert!(script(Operation::Refresh, 1, &one, &two).is_err());
        two.statements.clear();
        assert!(script(Operation::Refresh, 1, &two, &two).is_err());
    }
}
