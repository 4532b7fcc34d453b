//! Indexes.

use serde::{Deserialize, Serialize};

use super::Object;

/// A column or an expression of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexAttribute {
    /// Its place in the index.
    pub attribute_number: i16,
    /// The column's name, or the one that PostgreSQL gives an expression.
    pub attribute_name: String,
    /// Its type.
    pub data_type: String,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Its oid.
    pub id: u32,
    /// The oid of its table.
    pub table_id: u32,
    /// Its schema.
    pub schema: String,
    /// Columns and expressions in all.
    pub number_of_attributes: i16,
    /// Those that rows are found by.
    pub number_of_key_attributes: i16,
    /// Whether values are unique.
    pub is_unique: bool,
    /// Whether it is the primary key's.
    pub is_primary: bool,
    /// Whether it is an exclusion constraint's.
    pub is_exclusion: bool,
    /// Whether uniqueness is checked at once.
    pub is_immediate: bool,
    /// Whether the table was last clustered on it.
    pub is_clustered: bool,
    /// Whether queries may use it.
    pub is_valid: bool,
    /// Whether only new transactions may use it.
    pub check_xmin: bool,
    /// Whether inserts fill it.
    pub is_ready: bool,
    /// Whether it is not being dropped.
    pub is_live: bool,
    /// Whether it is the table's replica identity.
    pub is_replica_identity: bool,
    /// Numbers of the table's columns; 0 for an expression.
    pub key_attributes: Vec<i16>,
    /// The oid of each collation.
    pub collation: Vec<u32>,
    /// The oid of each operator class.
    pub class: Vec<u32>,
    /// The flags of each key column: 1 descending, 2 nulls first.
    pub options: Vec<i16>,
    /// The condition of a partial index.
    pub index_predicate: Option<String>,
    /// What is said about it.
    pub comment: Option<String>,
    /// The statement that creates it.
    pub index_definition: String,
    /// Its access method.
    pub access_method: String,
    /// Its columns and expressions.
    pub index_attributes: Vec<IndexAttribute>,
    /// Its name.
    pub name: String,
    /// The name of its table.
    pub table: String,
    /// The constraint that it is part of.
    pub constraint: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// How often it was used, by the statistics.
    pub scans: i64,
    /// The extension that it belongs to.
    pub extension: Option<String>,
}

impl Object for Index {
    const SQL: &'static str = include_str!("../read/sql/indexes.sql");
    const KIND: &'static str = "index";
    const IS_ANNOUNCED: bool = true;
    // Sizes and numbers of scans.
    const MAX_AGE_SECONDS: u64 = 5;
    // A concurrent build commits in between, and may fail and leave something behind.
    const FINGERPRINT: Option<&'static str> = Some(include_str!("../read/sql/index_states.sql"));

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}
