//! Tables, views, materialized views and foreign tables. Their columns are objects of their own.

use serde::{Deserialize, Serialize};

use super::Object;

/// Which columns of an old row the WAL has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReplicaIdentity {
    /// Those of the primary key.
    Default,
    /// Those of an index.
    Index,
    /// All.
    Full,
    /// None.
    Nothing,
}

/// A column of a primary key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimaryKeyColumn {
    /// The schema of its table.
    pub schema: String,
    /// Its table.
    pub table_name: String,
    /// Its name.
    pub name: String,
    /// The oid of its table.
    pub table_id: u32,
}

/// One pair of columns of a foreign key, seen from either table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationshipColumn {
    /// The oid of the constraint.
    pub id: u32,
    /// The name of the constraint.
    pub constraint_name: String,
    /// The schema of the table with the foreign key.
    pub source_schema: String,
    /// The table with the foreign key.
    pub source_table_name: String,
    /// Its column.
    pub source_column_name: String,
    /// The schema of the referenced table.
    pub target_table_schema: String,
    /// The referenced table.
    pub target_table_name: String,
    /// The referenced column.
    pub target_column_name: String,
}

/// A table, partitioned or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its oid.
    pub id: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Whether policies apply.
    pub rls_enabled: bool,
    /// Whether they apply to the owner too.
    pub rls_forced: bool,
    /// What the WAL says of changed rows.
    pub replica_identity: ReplicaIdentity,
    /// Its size with indexes and TOAST.
    pub bytes: u64,
    /// The same to read.
    pub size: String,
    /// Rows, by the statistics.
    pub live_rows_estimate: i64,
    /// Dead rows, by the statistics.
    pub dead_rows_estimate: i64,
    /// What is said about it.
    pub comment: Option<String>,
    /// Its primary key, in order.
    pub primary_keys: Vec<PrimaryKeyColumn>,
    /// Foreign keys from and to it.
    pub relationships: Vec<RelationshipColumn>,
    /// The role that owns it.
    pub owner: String,
    /// Whether it has partitions.
    pub is_partitioned: bool,
    /// The oid of the table that it is a partition of.
    pub partition_of: Option<u32>,
    /// The extension that it belongs to.
    pub extension: Option<String>,
}

impl Object for Table {
    const SQL: &'static str = include_str!("../read/sql/tables.sql");
    const KIND: &'static str = "table";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}

/// A view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its oid.
    pub id: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Whether rows can be updated and deleted through it.
    pub is_updatable: bool,
    /// What is said about it.
    pub comment: Option<String>,
    /// Whether it reads with the rights of its caller (`security_invoker`).
    pub security_invoker: bool,
    /// The query that it stands for.
    pub definition: Option<String>,
}

impl Object for View {
    const SQL: &'static str = include_str!("../read/sql/views.sql");
    const KIND: &'static str = "view";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}

/// A materialized view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaterializedView {
    /// Its oid.
    pub id: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Whether it has been filled.
    pub is_populated: bool,
    /// What is said about it.
    pub comment: Option<String>,
    /// The query that fills it.
    pub definition: Option<String>,
}

impl Object for MaterializedView {
    const SQL: &'static str = include_str!("../read/sql/materialized_views.sql");
    const KIND: &'static str = "materialized view";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}

/// A foreign table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignTable {
    /// Its oid.
    pub id: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What is said about it.
    pub comment: Option<String>,
    /// The foreign server that its rows are on.
    pub server: String,
}

impl Object for ForeignTable {
    const SQL: &'static str = include_str!("../read/sql/foreign_tables.sql");
    const KIND: &'static str = "foreign table";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}
