//! Publications.

use serde::{Deserialize, Serialize};

use super::Object;

/// A table of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedTable {
    /// Its oid.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its schema.
    pub schema: String,
}

/// A publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// Its oid.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: String,
    /// Whether inserts are published.
    pub publish_insert: bool,
    /// Whether updates are.
    pub publish_update: bool,
    /// Whether deletes are.
    pub publish_delete: bool,
    /// Whether truncations are.
    pub publish_truncate: bool,
    /// Its tables; null if it is for all.
    pub tables: Option<Vec<PublishedTable>>,
    /// Schemas whose tables it is for.
    pub schemas: Vec<String>,
}

impl Object for Publication {
    const SQL: &'static str = include_str!("../read/sql/publications.sql");
    const KIND: &'static str = "publication";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        None
    }
}
