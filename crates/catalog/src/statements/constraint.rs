//! Constraints of tables, foreign keys among them.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements, behavior,
    fragment::in_parentheses,
    names::{Relation, comment_on, name_list, new_name},
    present,
};
use crate::objects::{Constraint, ConstraintKind, ReferentialAction};

/// A new foreign key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewForeignKey {
    /// Its name; PostgreSQL gives it one if absent.
    #[serde(default)]
    pub name: Option<String>,
    /// Its columns.
    pub columns: Vec<String>,
    /// The schema of the referenced table; `public` if absent.
    #[serde(default)]
    pub referenced_schema: Option<String>,
    /// The referenced table.
    pub referenced_table: String,
    /// The referenced columns; its primary key if absent.
    #[serde(default)]
    pub referenced_columns: Vec<String>,
    /// What happens when the referenced row gets another key.
    #[serde(default)]
    pub on_update: Option<ReferentialAction>,
    /// What happens when the referenced row is deleted.
    #[serde(default)]
    pub on_delete: Option<ReferentialAction>,
}

impl NewForeignKey {
    /// As part of `create table`, or after `add`.
    pub(super) fn definition(&self) -> Result<String, StatementError> {
        let named = named(self.name.as_deref())?;
        Ok(format!("{named}{}", self.body()?))
    }

    fn body(&self) -> Result<String, StatementError> {
        require_columns(&self.columns)?;
        let schema = self.referenced_schema.as_deref().unwrap_or("public");
        let referenced = Relation::checked("a table", schema, &self.referenced_table)?;
        let columns = name_list("a column", &self.columns)?;
        let mut sql = format!("foreign key ({columns}) references {referenced}");
        if !self.referenced_columns.is_empty() {
            let columns = name_list("a column", &self.referenced_columns)?;
            sql += &format!(" ({columns})");
        }
        for (event, action) in [("update", self.on_update), ("delete", self.on_delete)] {
            if let Some(action) = action {
                sql += &format!(" on {event} {}", action.as_sql());
            }
        }
        Ok(sql)
    }
}

/// `constraint "name" `, or nothing.
fn named(name: Option<&str>) -> Result<String, StatementError> {
    let name = name
        .map(|name| new_name("a constraint", name))
        .transpose()?;
    Ok(name.map_or_else(String::new, |name| format!("constraint {name} ")))
}

fn require_columns(columns: &[String]) -> Result<(), StatementError> {
    if columns.is_empty() {
        Err(StatementError::new("A constraint needs a column"))
    } else {
        Ok(())
    }
}

/// What a new constraint demands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NewConstraintKind {
    /// A condition on each row.
    Check {
        /// The condition.
        expression: String,
    },
    /// Rows of another table.
    ForeignKey {
        /// Its columns.
        columns: Vec<String>,
        /// The schema of the referenced table; `public` if absent.
        #[serde(default)]
        referenced_schema: Option<String>,
        /// The referenced table.
        referenced_table: String,
        /// The referenced columns; its primary key if absent.
        #[serde(default)]
        referenced_columns: Vec<String>,
        /// What happens when the referenced row gets another key.
        #[serde(default)]
        on_update: Option<ReferentialAction>,
        /// What happens when the referenced row is deleted.
        #[serde(default)]
        on_delete: Option<ReferentialAction>,
    },
    /// A primary key.
    PrimaryKey {
        /// Its columns.
        columns: Vec<String>,
    },
    /// Values of their own.
    Unique {
        /// Its columns.
        columns: Vec<String>,
        /// Whether two nulls are the same.
        #[serde(default)]
        nulls_not_distinct: bool,
    },
}

/// A new constraint.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewConstraint {
    /// The oid of its table.
    pub table_id: u32,
    /// Its name; PostgreSQL gives it one if absent.
    #[serde(default)]
    pub name: Option<String>,
    /// What it demands.
    #[serde(flatten)]
    pub kind: NewConstraintKind,
    /// Whether it may be checked at the end of a transaction.
    #[serde(default)]
    pub is_deferrable: bool,
    /// Whether it is.
    #[serde(default)]
    pub is_deferred: bool,
    /// Whether present rows are not checked: short locks on a large table, to be validated later.
    #[serde(default)]
    pub not_valid: bool,
}

impl NewConstraint {
    /// Adds it.
    pub fn add(&self, table: Relation<'_>) -> Result<Statements, StatementError> {
        let named = named(self.name.as_deref())?;
        let body = match &self.kind {
            NewConstraintKind::Check { expression } => {
                format!("check {}", in_parentheses("A check", expression)?)
            }
            NewConstraintKind::ForeignKey {
                columns,
                referenced_schema,
                referenced_table,
                referenced_columns,
                on_update,
                on_delete,
            } => NewForeignKey {
                name: None,
                columns: columns.clone(),
                referenced_schema: referenced_schema.clone(),
                referenced_table: referenced_table.clone(),
                referenced_columns: referenced_columns.clone(),
                on_update: *on_update,
                on_delete: *on_delete,
            }
            .body()?,
            NewConstraintKind::PrimaryKey { columns } => {
                require_columns(columns)?;
                format!("primary key ({})", name_list("a column", columns)?)
            }
            NewConstraintKind::Unique {
                columns,
                nulls_not_distinct,
            } => {
                require_columns(columns)?;
                let nulls = if *nulls_not_distinct {
                    "nulls not distinct "
                } else {
                    ""
                };
                format!("unique {nulls}({})", name_list("a column", columns)?)
            }
        };
        let mut sql = format!("alter table {table} add {named}{body}");
        if self.is_deferrable || self.is_deferred {
            sql += " deferrable";
        }
        if self.is_deferred {
            sql += " initially deferred";
        }
        if self.not_valid {
            sql += " not valid";
        }
        Ok(vec![sql])
    }
}

/// Changes of a constraint.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ConstraintChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether present rows are to be checked now.
    #[serde(default)]
    pub validate: bool,
    /// Whether it may be checked at the end of a transaction; of foreign keys only.
    #[serde(default)]
    pub is_deferrable: Option<bool>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
}

impl ConstraintChanges {
    /// Applies them.
    pub fn alter(&self, old: &Constraint) -> Result<Statements, StatementError> {
        let table = Relation::new(&old.schema, &old.table);
        let name = QuotedIdent::new(&old.name);
        let mut statements = Vec::new();
        if self.validate {
            statements.push(format!("alter table {table} validate constraint {name}"));
        }
        if let Some(is_deferrable) = self.is_deferrable {
            if old.kind != ConstraintKind::ForeignKey {
                return Err(StatementError::new(
                    "Only a foreign key can be made deferrable; drop and add the others",
                ));
            }
            let not = if is_deferrable { "" } else { "not " };
            statements.push(format!(
                "alter table {table} alter constraint {name} {not}deferrable"
            ));
        }
        if let Some(comment) = &self.comment {
            let constraint = format_args!("constraint {name} on {table}");
            statements.push(comment_on(constraint, comment.as_deref())?);
        }
        if let Some(new) = self.name.as_ref().filter(|new| **new != old.name) {
            let new = new_name("a constraint", new)?;
            statements.push(format!(
                "alter table {table} rename constraint {name} to {new}"
            ));
        }
        Ok(statements)
    }
}

impl Constraint {
    /// Drops it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let table = Relation::new(&self.schema, &self.table);
        let name = QuotedIdent::new(&self.name);
        vec![format!(
            "alter table {table} drop constraint {name} {}",
            behavior(cascade)
        )]
    }
}
