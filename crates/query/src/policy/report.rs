//! What is tested, and what was found out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Filter, NewValue, Rejection, RelationName, RowSet};

/// What is done with a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PolicyTest {
    /// Which table.
    pub relation: RelationName,
    /// What is done.
    pub verb: Verb,
    /// Values of the new row, or new values of rows.
    #[serde(default)]
    pub values: BTreeMap<String, NewValue>,
    /// Which rows are read, updated or deleted.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// For how many rows policies are evaluated, up to 100.
    #[serde(default = "default_rows")]
    pub rows: u32,
    /// Whether the table's own triggers stay silent.
    #[serde(default)]
    pub without_triggers: bool,
}

fn default_rows() -> u32 {
    20
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they are named as in SQL")]
pub enum Verb {
    Select,
    Insert,
    Update,
    Delete,
}

impl Verb {
    /// In SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// As whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubjectClaims {
    /// The role.
    pub role: String,
    /// The claims of its token, with the role among them.
    pub claims: Map<String, Value>,
}

/// What was found out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PolicyReport {
    /// As whom the operation was run.
    pub subject: SubjectClaims,
    /// What came of it.
    pub decision: Decision,
    /// How many rows it read or changed.
    pub affected: u64,
    /// How many rows it would have read or changed without policies.
    pub matching: u64,
    /// The rows that it read.
    pub visible: Option<RowSet>,
    /// Why it was refused.
    pub error: Option<Rejection>,
    /// Whether policies decide at all.
    pub security: RowSecurity,
    /// All policies of the table.
    pub policies: Vec<PolicyOutcome>,
}

/// What came of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It was run. It may have found no rows.
    Allowed,
    /// A privilege on the table, a column or the schema is missing.
    DeniedByGrant,
    /// A policy does not let the new row pass.
    DeniedByPolicy,
    /// It failed for another reason.
    Failed,
}

/// Row-level security of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSecurity {
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether it holds for the owner of the table too.
    pub forced: bool,
    /// Whether it holds for the role in question.
    pub active: bool,
    /// Whether the role has the privilege on the table; one on columns only counts too.
    pub granted: bool,
}

/// A policy in a test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PolicyOutcome {
    /// Its name.
    pub name: String,
    /// `select`, `insert`, `update`, `delete` or `all`.
    pub command: String,
    /// Whether one such policy is enough, or all of them have to hold.
    pub permissive: bool,
    /// Its roles; `public` for all.
    pub roles: Vec<String>,
    /// Whether it is one for this role and this operation.
    pub applies: bool,
    /// Its condition for rows that are there.
    pub using: Option<String>,
    /// Its condition for new rows.
    pub check: Option<String>,
    /// The values of its conditions, if it applies.
    pub evaluations: Vec<Evaluation>,
    /// How long evaluating them took, in microseconds.
    pub microseconds: u64,
}

/// The conditions of a policy for one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The key of the row, or its text if it has none.
    pub row: Vec<Option<String>>,
    /// Whether it is about the row before or after the change.
    pub is_new: bool,
    /// The value of the condition; null if it is NULL, which counts as false.
    pub value: Option<bool>,
    /// Why it has no value.
    pub error: Option<String>,
}
