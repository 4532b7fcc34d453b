//! Tests as a file for pgTAP.

use plinth_db::QuotedLiteral;

use crate::{
    QueryError, Relation,
    rows::{push_assignments, push_new_row, push_where},
    sql::{Sql, qualified},
};

use super::report::{Decision, PolicyTest, SubjectClaims, Verb};

/// A test with its subject and what is expected of it.
pub struct PgtapCase<'a> {
    /// Its name.
    pub name: &'a str,
    /// The table, as it is now.
    pub relation: &'a Relation,
    /// What is done.
    pub test: &'a PolicyTest,
    /// As whom.
    pub subject: &'a SubjectClaims,
    /// What is expected.
    pub decision: Decision,
    /// How many rows are expected, if that matters.
    pub affected: Option<u64>,
}

/// A file that runs these tests with pgTAP.
pub fn pgtap(cases: &[PgtapCase<'_>]) -> Result<String, QueryError> {
    let mut file = format!(
        "begin;\ncreate extension if not exists pgtap with schema extensions;\n\
         select extensions.plan({});\n",
        cases.len()
    );
    for case in cases {
        file.push('\n');
        file.push_str(&case_text(case)?);
    }
    file.push_str("\nselect * from extensions.finish();\nrollback;\n");
    Ok(file)
}

fn case_text(case: &PgtapCase<'_>) -> Result<String, QueryError> {
    let claims = serde_json::Value::Object(case.subject.claims.clone()).to_string();
    let statement = QuotedLiteral::new(&statement(case)?);
    let name = QuotedLiteral::new(case.name);
    let assertion = match (case.decision, case.affected) {
        (Decision::Allowed, None) => format!("extensions.lives_ok({statement}, {name})"),
        // An insert is of one row.
        (Decision::Allowed, Some(_)) if case.test.verb == Verb::Insert => {
            format!("extensions.lives_ok({statement}, {name})")
        }
        (Decision::Allowed, Some(count)) => {
            format!("extensions.results_eq({statement}, array[{count}::bigint], {name})")
        }
        (Decision::DeniedByGrant | Decision::DeniedByPolicy, _) => {
            format!("extensions.throws_ok({statement}, '42501', null, {name})")
        }
        (Decision::Failed, _) => format!("extensions.throws_ok({statement}, null, null, {name})"),
    };
    Ok(format!(
        "select set_config('request.jwt.claims', {}, true), set_config('role', {}, true);\n\
         select {assertion};\n\
         reset role;\n",
        QuotedLiteral::new(&claims),
        QuotedLiteral::new(&case.subject.role),
    ))
}

/// The operation; it returns how many rows it read or changed.
fn statement(case: &PgtapCase<'_>) -> Result<String, QueryError> {
    let (relation, test) = (case.relation, case.test);
    let table = qualified(&test.relation.schema, &test.relation.name);
    let mut sql = Sql::inline();
    match test.verb {
        Verb::Select => {
            sql.push(format_args!("select count(*) from {table} t"));
            push_where(&mut sql, relation, &test.filters)?;
            return Ok(sql.into_text());
        }
        Verb::Insert => push_new_row(&mut sql, relation, &test.values)?,
        Verb::Update => {
            sql.push(format_args!("update {table} as t set "));
            push_assignments(&mut sql, relation, &test.values)?;
            push_where(&mut sql, relation, &test.filters)?;
        }
        Verb::Delete => {
            sql.push(format_args!("delete from {table} as t"));
            push_where(&mut sql, relation, &test.filters)?;
        }
    }
    let text = sql.into_text();
    Ok(match case.affected {
        // What `insert` returns has to pass `select` policies too.
        Some(_) if test.verb != Verb::Insert => {
            format!("with changed as ({text} returning 1) select count(*) from changed")
        }
        _ => text,
    })
}
