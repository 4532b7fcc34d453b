//! What the caller may see of a schema, asked for in the caller's own transaction.

use std::collections::{HashMap, HashSet};

use plinth_db::{DbError, Row};
use postgres_types::Json;

/// For `follow-privileges`; its row is an [`Accessible`].
pub(crate) const FOLLOW_PRIVILEGES: &str = include_str!("follow_privileges.sql");

/// For `ignore-privileges`, where only the comment is unknown.
pub(crate) const SCHEMA_COMMENT: &str = include_str!("schema_comment.sql");

/// By the oid of a function: the types of its input parameters, named as the caller's search path
/// allows, so without the schema where that is on it.
pub(crate) type ParamTypes = HashMap<u32, Vec<Box<str>>>;

/// What the caller may use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Accessible {
    /// Oids of relations.
    pub(crate) relations: HashSet<u32>,
    /// Only these functions.
    pub(crate) functions: ParamTypes,
    pub(crate) schema_comment: Option<String>,
}

impl Accessible {
    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let relations: Vec<u32> = row.try_get("relations")?;
        let Json(functions) = row.try_get("functions")?;
        Ok(Self {
            relations: relations.into_iter().collect(),
            functions,
            schema_comment: row.try_get("schema_comment")?,
        })
    }
}
