//! Computed relationships: functions that take a row of one relation and return rows of another.

use std::collections::HashSet;

use tokio_postgres::{Error, Row};

use super::{Link, Relationship, interner::Interner};

pub(super) fn from_rows(rows: &[Row], names: &mut Interner) -> Result<Vec<Relationship>, Error> {
    rows.iter().map(|row| from_row(row, names)).collect()
}

fn from_row(row: &Row, names: &mut Interner) -> Result<Relationship, Error> {
    let schema = row.try_get("schema")?;
    Ok(Relationship {
        table: names.share_name(schema, row.try_get("origin_name")?),
        foreign_table: names.share_name(row.try_get("target_schema")?, row.try_get("target_name")?),
        is_self: row.try_get("is_self")?,
        // Only relevant for foreign keys that are found by name.
        table_is_view: false,
        foreign_table_is_view: false,
        link: Link::Computed {
            function: names.share_name(schema, row.try_get("name")?),
            is_to_one: row.try_get("is_to_one")?,
        },
    })
}

/// A function with the name of a related relation replaces all detected relationships between the
/// two.
pub(super) fn replace(
    mut detected: Vec<Relationship>,
    computed: Vec<Relationship>,
) -> Vec<Relationship> {
    let replaced: HashSet<_> = computed
        .iter()
        .filter_map(|relationship| match &relationship.link {
            Link::Computed { function, .. } => Some((&relationship.table, function)),
            _ => None,
        })
        .collect();
    detected.retain(|relationship| {
        !replaced.contains(&(&relationship.table, &relationship.foreign_table))
    });
    detected.extend(computed);
    detected
}
