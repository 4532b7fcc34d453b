//! Primary, unique and foreign keys.

use std::sync::Arc;

use tokio_postgres::{Error, Row};

use super::{QualifiedName, interner::Interner};

/// One key of one relation.
#[derive(Debug)]
pub(super) struct Constraint {
    pub(super) name: Arc<str>,
    pub(super) columns: KeyColumns,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Primary,
    Unique,
    /// With the referenced columns, in the same order.
    Foreign(KeyColumns),
}

/// Columns of a relation, in the order of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyColumns {
    pub(super) relation: u32,
    pub(super) relation_name: QualifiedName,
    pub(super) positions: Vec<i16>,
    pub(super) names: Vec<Arc<str>>,
}

impl Constraint {
    pub(super) fn from_row(row: &Row, names: &mut Interner) -> Result<Self, Error> {
        let kind = match row.try_get("kind")? {
            "p" => Kind::Primary,
            "f" => Kind::Foreign(KeyColumns {
                relation: row.try_get("foreign_relation")?,
                relation_name: names.share_name(
                    row.try_get("foreign_schema")?,
                    row.try_get("foreign_relation_name")?,
                ),
                positions: row.try_get("foreign_key")?,
                names: names.share_all(&row.try_get::<_, Vec<&str>>("foreign_columns")?),
            }),
            _ => Kind::Unique,
        };
        Ok(Self {
            name: names.share(row.try_get("name")?),
            columns: KeyColumns {
                relation: row.try_get("relation")?,
                relation_name: names
                    .share_name(row.try_get("schema")?, row.try_get("relation_name")?),
                positions: row.try_get("key")?,
                names: names.share_all(&row.try_get::<_, Vec<&str>>("columns")?),
            },
            kind,
        })
    }
}
