//! A table once more, with or without its rows.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements,
    names::{Relation, literal},
    privileges::role_sql,
};
use crate::objects::{Column, Constraint, ConstraintKind, IdentityGeneration, Policy, Table};

/// What the copy of a table is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Duplicate {
    /// Its name.
    pub name: String,
    /// Its schema; that of the original if absent.
    #[serde(default)]
    pub schema: Option<String>,
    /// Whether it gets the rows.
    #[serde(default)]
    pub with_data: bool,
}

/// A table and what is copied with it.
pub struct Original<'a> {
    /// The table.
    pub table: &'a Table,
    /// Its columns.
    pub columns: &'a [Column],
    /// Its constraints.
    pub constraints: &'a [Constraint],
    /// Its policies.
    pub policies: &'a [Policy],
}

impl Duplicate {
    /// The schema of the copy.
    pub fn schema<'a>(&'a self, original: &'a Table) -> &'a str {
        self.schema.as_deref().unwrap_or(&original.schema)
    }

    /// Columns, defaults, checks, indexes, comments, foreign keys and policies are copied; triggers and
    /// grants are not. Row-level security is on if it is on for the original.
    pub fn create(&self, original: &Original<'_>) -> Result<Statements, StatementError> {
        let old = Relation::new(&original.table.schema, &original.table.name);
        let new = Relation::checked("a table", self.schema(original.table), &self.name)?;
        let mut statements = vec![format!("create table {new} (like {old} including all)")];
        if original.table.rls_enabled {
            statements.push(format!("alter table {new} enable row level security"));
        }
        if original.table.rls_forced {
            statements.push(format!("alter table {new} force row level security"));
        }
        if self.with_data {
            statements.extend(rows(original, old, new)?);
        }
        // After the rows, so that they are checked once.
        let foreign_keys = original.constraints.iter();
        for key in foreign_keys.filter(|key| key.kind == ConstraintKind::ForeignKey) {
            let name = QuotedIdent::new(&key.name);
            // PostgreSQL's own text.
            let definition = &key.definition;
            statements.push(format!(
                "alter table {new} add constraint {name} {definition}"
            ));
        }
        for policy in original.policies {
            statements.push(policy_sql(policy, new)?);
        }
        Ok(statements)
    }
}

fn rows(
    original: &Original<'_>,
    old: Relation<'_>,
    new: Relation<'_>,
) -> Result<Statements, StatementError> {
    let stored = original
        .columns
        .iter()
        .filter(|column| !column.is_generated);
    let columns: Vec<String> = stored
        .map(|column| QuotedIdent::new(&column.name).to_string())
        .collect();
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns.join(", ");
    let always = original
        .columns
        .iter()
        .any(|column| column.identity_generation == Some(IdentityGeneration::Always));
    let overriding = if always {
        "overriding system value "
    } else {
        ""
    };
    let mut statements = vec![format!(
        "insert into {new} ({columns}) {overriding}select {columns} from only {old}"
    )];
    let numbered = original.columns.iter().filter(|column| column.is_identity);
    for column in numbered {
        let name = QuotedIdent::new(&column.name);
        let (table, text) = (literal(&new.to_string())?, literal(&column.name)?);
        statements.push(format!(
            "select setval(pg_get_serial_sequence({table}, {text}), max({name})) from {new} \
             having max({name}) is not null"
        ));
    }
    Ok(statements)
}

fn policy_sql(policy: &Policy, table: Relation<'_>) -> Result<String, StatementError> {
    let roles = policy.roles.iter().map(|role| role_sql(role));
    let mut sql = format!(
        "create policy {} on {table} as {} for {} to {}",
        QuotedIdent::new(&policy.name),
        policy.action.as_sql(),
        policy.command.as_sql(),
        roles.collect::<Result<Vec<_>, _>>()?.join(", ")
    );
    // PostgreSQL's own text.
    if let Some(expression) = &policy.definition {
        sql += &format!(" using ({expression})");
    }
    if let Some(expression) = &policy.check {
        sql += &format!(" with check ({expression})");
    }
    Ok(sql)
}
