//! Types: enums, composites, domains and the rest.

use serde::{Deserialize, Serialize};

use super::Object;

/// An attribute of a composite type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// The oid of its type.
    pub type_id: u32,
}

/// What kind of type it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeKind {
    /// One that a library defines.
    Base,
    /// A row.
    Composite,
    /// Another type with checks.
    Domain,
    /// One of several labels.
    Enum,
    /// Ranges of another type.
    Range,
    /// Several of them.
    Multirange,
    /// None that a column can have.
    Pseudo,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserType {
    /// Its oid.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its schema.
    pub schema: String,
    /// Its name as in SQL.
    pub format: String,
    /// Labels of an enum, in order.
    pub enums: Vec<String>,
    /// Attributes of a composite.
    pub attributes: Vec<Attribute>,
    /// What is said about it.
    pub comment: Option<String>,
    /// The oid of the relation that a composite is.
    pub type_relation_id: Option<u32>,
    /// What kind of type it is.
    pub kind: TypeKind,
    /// The type beneath a domain.
    pub base_type: Option<String>,
    /// The extension that it belongs to.
    pub extension: Option<String>,
}

impl Object for UserType {
    const SQL: &'static str = include_str!("../read/sql/types.sql");
    const KIND: &'static str = "type";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}
