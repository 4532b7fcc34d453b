//! Constraints of tables, which postgres-meta shows only in part.

use serde::{Deserialize, Serialize};

use super::Object;

/// What a constraint demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintKind {
    /// A condition.
    Check,
    /// Rows of another table.
    ForeignKey,
    /// A primary key.
    PrimaryKey,
    /// Values of their own.
    Unique,
    /// No two rows for which operators are true.
    Exclusion,
    /// A trigger that may be deferred.
    Trigger,
}

/// What happens to rows that refer to a changed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// The change is rejected when it is checked.
    #[serde(rename = "NO ACTION")]
    NoAction,
    /// The change is rejected.
    #[serde(rename = "RESTRICT")]
    Restrict,
    /// They change as well.
    #[serde(rename = "CASCADE")]
    Cascade,
    /// They refer to nothing.
    #[serde(rename = "SET NULL")]
    SetNull,
    /// They refer to their default.
    #[serde(rename = "SET DEFAULT")]
    SetDefault,
}

impl ReferentialAction {
    /// As in SQL.
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::NoAction => "no action",
            Self::Restrict => "restrict",
            Self::Cascade => "cascade",
            Self::SetNull => "set null",
            Self::SetDefault => "set default",
        }
    }
}

/// A constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// Its oid.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The oid of its table.
    pub table_id: u32,
    /// The schema of its table.
    pub schema: String,
    /// Its table.
    pub table: String,
    /// What it demands.
    pub kind: ConstraintKind,
    /// The columns that it is about.
    pub columns: Vec<String>,
    /// As in SQL.
    pub definition: String,
    /// Whether present rows are known to keep it.
    pub is_validated: bool,
    /// Whether it may be checked at the end of a transaction.
    pub is_deferrable: bool,
    /// Whether it is, unless the transaction says otherwise.
    pub is_deferred: bool,
    /// The schema of the referenced table.
    pub referenced_schema: Option<String>,
    /// The referenced table.
    pub referenced_table: Option<String>,
    /// The referenced columns.
    pub referenced_columns: Vec<String>,
    /// What happens when the referenced row gets another key.
    pub on_update: Option<ReferentialAction>,
    /// What happens when the referenced row is deleted.
    pub on_delete: Option<ReferentialAction>,
    /// What is said about it.
    pub comment: Option<String>,
    /// The extension that its table belongs to.
    pub extension: Option<String>,
}

impl Object for Constraint {
    const SQL: &'static str = include_str!("../read/sql/constraints.sql");
    const KIND: &'static str = "constraint";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}
