//! What the caller can see of a schema, queried in the caller's transaction.

use std::collections::{HashMap, HashSet};

use plinth_db::{DbError, Row};
use postgres_types::Json;

/// For `follow-privileges`; returns a row for [`Accessible`].
pub(super) const FOLLOW_PRIVILEGES: &str = include_str!("follow_privileges.sql");

/// For `ignore-privileges`, which only needs the comment.
pub(super) const SCHEMA_COMMENT: &str = include_str!("schema_comment.sql");

/// By oid of the function: the types of its input parameters, without the schemas of the caller's
/// search path.
pub(super) type ParamTypes = HashMap<u32, Vec<Box<str>>>;

/// The objects that the caller has privileges on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Accessible {
    /// Oids of relations.
    pub(super) relations: HashSet<u32>,
    pub(super) functions: ParamTypes,
    pub(super) schema_comment: Option<String>,
}

impl Accessible {
    pub(super) fn from_row(row: &Row) -> Result<Self, DbError> {
        let relations: Vec<u32> = row.try_get("relations")?;
        let Json(functions) = row.try_get("functions")?;
        Ok(Self {
            relations: relations.into_iter().collect(),
            functions,
            schema_comment: row.try_get("schema_comment")?,
        })
    }
}
