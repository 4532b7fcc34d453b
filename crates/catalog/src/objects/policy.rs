//! Policies of row-level security.

use serde::{Deserialize, Serialize};

use super::Object;

/// How a policy is combined with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PolicyAction {
    /// One of these must allow a row.
    Permissive,
    /// All of these must.
    Restrictive,
}

impl PolicyAction {
    /// As in SQL.
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::Permissive => "permissive",
            Self::Restrictive => "restrictive",
        }
    }
}

/// What a policy is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PolicyCommand {
    /// Reading rows.
    Select,
    /// New rows.
    Insert,
    /// Changed rows.
    Update,
    /// Removed rows.
    Delete,
    /// All of it.
    All,
}

impl PolicyCommand {
    /// As in SQL.
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::All => "all",
        }
    }
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Its oid.
    pub id: u32,
    /// The schema of its table.
    pub schema: String,
    /// Its table.
    pub table: String,
    /// The oid of its table.
    pub table_id: u32,
    /// Its name.
    pub name: String,
    /// How it is combined with others.
    pub action: PolicyAction,
    /// The roles that it is for; `public` for all.
    pub roles: Vec<String>,
    /// What it is about.
    pub command: PolicyCommand,
    /// The expression after USING.
    pub definition: Option<String>,
    /// The expression after WITH CHECK.
    pub check: Option<String>,
    /// What is said about it.
    pub comment: Option<String>,
}

impl Object for Policy {
    const SQL: &'static str = include_str!("../read/sql/policies.sql");
    const KIND: &'static str = "policy";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}
