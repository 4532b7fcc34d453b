//! Schemas.

use serde::{Deserialize, Serialize};

use super::Object;

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Its oid.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: String,
    /// What is said about it.
    pub comment: Option<String>,
    /// The extension that it belongs to.
    pub extension: Option<String>,
}

impl Object for Schema {
    const SQL: &'static str = include_str!("../read/sql/schemas.sql");
    const KIND: &'static str = "schema";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.name)
    }
}
