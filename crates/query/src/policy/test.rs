//! Running a test.

use std::time::Instant;

use plinth_db::{OpenTransaction, QuotedIdent};

use crate::{
    QueryError, Rejection, Relation, RowSet,
    rows::{Output, push_assignments, push_new_row, push_where},
    sql::{Sql, separated},
};

use super::{
    catalog::{self, Policy},
    report::{Decision, Evaluation, PolicyReport, PolicyTest, SubjectClaims, Verb},
};

const MAX_ROWS: u32 = 100;

/// A row for which policies are evaluated.
struct Candidate {
    /// Its key, or its whole text.
    shown: Vec<Option<String>>,
    /// The row as one text.
    record: String,
    is_new: bool,
}

/// Runs a test. The transaction belongs to somebody who sees all rows and may become the subject; it has
/// to be rolled back afterwards.
pub async fn test_policies(
    tx: &mut OpenTransaction,
    test: &PolicyTest,
    subject: &SubjectClaims,
) -> Result<PolicyReport, QueryError> {
    if !(1..=MAX_ROWS).contains(&test.rows) {
        return Err(QueryError::Invalid(format!(
            "`rows` is between 1 and {MAX_ROWS}"
        )));
    }
    let relation = Relation::load(tx, &test.relation).await?;
    if test.without_triggers {
        let sql = format!("alter table {} disable trigger user", relation.sql());
        tx.batch_execute(&sql).await?;
    }
    let policies = catalog::load(tx, &relation, &subject.role).await?;
    let (candidates, matching) = candidates(tx, &relation, test).await?;

    tx.batch_execute("savepoint plinth_subject").await?;
    assume(tx, subject).await?;
    let security = catalog::row_security(tx, &relation, &subject.role, test.verb).await?;
    let mut outcomes = Vec::with_capacity(policies.len());
    for policy in policies {
        outcomes.push(evaluate(tx, &relation, test.verb, policy, &candidates).await?);
    }
    let operation = operate(tx, &relation, test).await;
    tx.batch_execute("rollback to savepoint plinth_subject")
        .await?;
    let mut report = PolicyReport {
        subject: subject.clone(),
        decision: Decision::Allowed,
        affected: 0,
        matching,
        visible: None,
        error: None,
        security,
        policies: outcomes,
    };
    match operation {
        Ok((affected, visible)) => {
            report.affected = affected;
            report.visible = visible;
        }
        Err(QueryError::Rejected(rejection)) => {
            report.decision = decision_of(&rejection);
            report.error = Some(*rejection);
        }
        Err(error) => return Err(error),
    }
    Ok(report)
}

fn decision_of(rejection: &Rejection) -> Decision {
    match (
        &*rejection.sqlstate,
        rejection.message.contains("row-level security"),
    ) {
        ("42501", true) => Decision::DeniedByPolicy,
        ("42501", false) => Decision::DeniedByGrant,
        _ => Decision::Failed,
    }
}

async fn assume(tx: &mut OpenTransaction, subject: &SubjectClaims) -> Result<(), QueryError> {
    let claims = serde_json::Value::Object(subject.claims.clone()).to_string();
    let mut sql = Sql::new();
    sql.push("select pg_catalog.set_config('request.jwt.claims', ");
    sql.typed_value(None, &claims)?;
    sql.push(", true), pg_catalog.set_config('role', ");
    sql.typed_value(None, &subject.role)?;
    sql.push(", true)").run(tx).await?;
    Ok(())
}

/// The rows in question as the operator sees them, and how many there are.
async fn candidates(
    tx: &mut OpenTransaction,
    relation: &Relation,
    test: &PolicyTest,
) -> Result<(Vec<Candidate>, u64), QueryError> {
    let mut found = Vec::new();
    let mut matching = 1;
    if test.verb != Verb::Insert {
        let mut sql = Sql::new();
        sql.push("select ").push(record_list(relation));
        sql.push(", pg_catalog.count(*) over () from ");
        sql.push(relation.sql()).push(" t");
        push_where(&mut sql, relation, &test.filters)?;
        sql.push(format_args!(" limit {}", test.rows));
        let rows = sql.run(tx).await?.rows;
        matching = rows
            .first()
            .and_then(|row| row.texts().last().flatten())
            .and_then(|count| std::str::from_utf8(count).ok()?.parse().ok())
            .unwrap_or(0);
        found.extend(
            rows.iter()
                .filter_map(|row| Candidate::read(row, relation, false)),
        );
    }
    // What the new rows would be, with defaults and triggers.
    let written = match test.verb {
        Verb::Select | Verb::Delete => return Ok((found, matching)),
        Verb::Insert => insert_sql(relation, test, &record_list(relation))?,
        Verb::Update => update_sql(relation, test, &record_list(relation))?,
    };
    tx.batch_execute("savepoint plinth_candidates").await?;
    let rows = written.run(tx).await;
    tx.batch_execute("rollback to savepoint plinth_candidates")
        .await?;
    match rows {
        Ok(reply) => {
            let rows = reply.rows.iter().take(test.rows as usize);
            found.extend(rows.filter_map(|row| Candidate::read(row, relation, true)));
        }
        // The operation itself will say so.
        Err(QueryError::Rejected(_)) => {}
        Err(error) => return Err(error),
    }
    Ok((found, matching))
}

/// The row as one text, then its key.
fn record_list(relation: &Relation) -> String {
    let keys = relation.key_columns().map(|column| {
        let text = column.whole_text(&format!("t.{}", QuotedIdent::new(&column.name)));
        format!(", {text}")
    });
    format!("t::pg_catalog.text{}", separated(keys, ""))
}

impl Candidate {
    fn read(row: &plinth_db::Row, relation: &Relation, is_new: bool) -> Option<Self> {
        let mut texts = row
            .texts()
            .map(|text| text.map(|text| String::from_utf8_lossy(text).into_owned()));
        let record = texts.next()??;
        let shown = match relation.key.len() {
            0 => vec![Some(record.clone())],
            width => texts.take(width).collect(),
        };
        Some(Self {
            shown,
            record,
            is_new,
        })
    }
}

/// Evaluates a policy as the subject, for each row by itself: one may fail.
async fn evaluate(
    tx: &mut OpenTransaction,
    relation: &Relation,
    verb: Verb,
    policy: Policy,
    candidates: &[Candidate],
) -> Result<super::PolicyOutcome, QueryError> {
    let (is_about_old, is_about_new) = (policy.is_about_old(verb), policy.is_about_new(verb));
    let check = policy.check();
    let mut outcome = policy.outcome;
    outcome.applies = is_about_old || is_about_new;
    let begun = Instant::now();
    for candidate in candidates {
        let expression = match candidate.is_new {
            true if is_about_new => check.as_deref(),
            false if is_about_old => outcome.using.as_deref(),
            _ => continue,
        };
        let (value, error) = match expression {
            None => (Some(true), None),
            Some(expression) => value_of(tx, relation, expression, &candidate.record).await?,
        };
        outcome.evaluations.push(Evaluation {
            row: candidate.shown.clone(),
            is_new: candidate.is_new,
            value,
            error,
        });
    }
    outcome.microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(outcome)
}

/// The value of an expression for a row that is made of its text, under the table's own name.
async fn value_of(
    tx: &mut OpenTransaction,
    relation: &Relation,
    expression: &str,
    record: &str,
) -> Result<(Option<bool>, Option<String>), QueryError> {
    let mut sql = Sql::new();
    sql.push(format_args!("select ({expression}) from (select (("));
    sql.typed_value(None, record)?;
    sql.push(format_args!(
        ")::{}).*) {}",
        relation.sql(),
        QuotedIdent::new(&relation.name.name)
    ));
    tx.batch_execute("savepoint plinth_policy").await?;
    match sql.run(tx).await {
        Ok(reply) => {
            tx.batch_execute("release savepoint plinth_policy").await?;
            let value = reply.rows.first().and_then(|row| row.raw(0));
            Ok((value.map(|value| &*value == b"t"), None))
        }
        Err(QueryError::Rejected(rejection)) => {
            tx.batch_execute("rollback to savepoint plinth_policy")
                .await?;
            Ok((None, Some(rejection.message)))
        }
        Err(error) => Err(error),
    }
}

/// The operation itself.
async fn operate(
    tx: &mut OpenTransaction,
    relation: &Relation,
    test: &PolicyTest,
) -> Result<(u64, Option<RowSet>), QueryError> {
    match test.verb {
        Verb::Select => {
            let mut sql = Sql::new();
            sql.push("select pg_catalog.count(*) from ");
            sql.push(relation.sql()).push(" t");
            push_where(&mut sql, relation, &test.filters)?;
            let rows = sql.run(tx).await?.rows;
            let count = rows.first().and_then(|row| row.raw(0)).unwrap_or_default();
            let count = std::str::from_utf8(&count)
                .ok()
                .and_then(|text| text.parse().ok());
            let output = Output::all(relation);
            let mut sql = Sql::new();
            sql.push("select ").push(output.select_list());
            sql.push(" from ").push(relation.sql()).push(" t");
            push_where(&mut sql, relation, &test.filters)?;
            sql.push(format_args!(" limit {}", test.rows));
            let rows = sql.run(tx).await?.rows;
            Ok((count.unwrap_or(0), Some(output.read(&rows))))
        }
        Verb::Insert => {
            let reply = insert_sql(relation, test, "")?.run(tx).await?;
            Ok((reply.affected, None))
        }
        Verb::Update => {
            let reply = update_sql(relation, test, "")?.run(tx).await?;
            Ok((reply.affected, None))
        }
        Verb::Delete => {
            let mut sql = Sql::new();
            sql.push("delete from ").push(relation.sql()).push(" as t");
            push_where(&mut sql, relation, &test.filters)?;
            Ok((sql.run(tx).await?.affected, None))
        }
    }
}

fn insert_sql(relation: &Relation, test: &PolicyTest, returning: &str) -> Result<Sql, QueryError> {
    let mut sql = Sql::new();
    push_new_row(&mut sql, relation, &test.values)?;
    if !returning.is_empty() {
        sql.push(" returning ").push(returning);
    }
    Ok(sql)
}

fn update_sql(relation: &Relation, test: &PolicyTest, returning: &str) -> Result<Sql, QueryError> {
    if test.values.is_empty() {
        return Err(QueryError::Invalid(
            "`values` says what rows are updated to".to_owned(),
        ));
    }
    let mut sql = Sql::new();
    sql.push("update ").push(relation.sql()).push(" as t set ");
    push_assignments(&mut sql, relation, &test.values)?;
    push_where(&mut sql, relation, &test.filters)?;
    if !returning.is_empty() {
        sql.push(" returning ").push(returning);
    }
    Ok(sql)
}
