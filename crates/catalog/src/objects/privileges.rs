//! Who may do what with relations and columns.

use serde::{Deserialize, Serialize};

use super::Object;

/// A privilege that a role has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedPrivilege {
    /// Who granted it.
    pub grantor: String,
    /// Who has it; `PUBLIC` for everybody.
    pub grantee: String,
    /// Such as `SELECT`.
    pub privilege_type: String,
    /// Whether it may be passed on.
    pub is_grantable: bool,
}

/// What kind of relation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
    /// A foreign table.
    ForeignTable,
    /// A table with partitions.
    PartitionedTable,
}

/// Privileges on a relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationPrivileges {
    /// Its oid.
    pub relation_id: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: RelationKind,
    /// Who may do what.
    pub privileges: Vec<GrantedPrivilege>,
}

impl Object for RelationPrivileges {
    const SQL: &'static str = include_str!("../read/sql/table_privileges.sql");
    const KIND: &'static str = "relation";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}

/// Privileges on a column, those on its whole relation included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnPrivileges {
    /// A [`super::ColumnId`].
    pub column_id: String,
    /// The schema of its relation.
    pub relation_schema: String,
    /// Its relation.
    pub relation_name: String,
    /// Its name.
    pub column_name: String,
    /// Who may do what.
    pub privileges: Vec<GrantedPrivilege>,
}

impl Object for ColumnPrivileges {
    const SQL: &'static str = include_str!("../read/sql/column_privileges.sql");
    const KIND: &'static str = "column";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.relation_schema)
    }
}
