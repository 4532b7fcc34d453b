//! Tables, views and their columns.

use std::{collections::HashMap, sync::Arc};

use tokio_postgres::{Error, Row};

use super::{
    Column, QualifiedName, Table,
    constraints::{Constraint, Kind},
    interner::Interner,
    provenance::Provenance,
};

/// Bits of `pg_relation_is_updatable`.
const UPDATE: i32 = 1 << 2;
const INSERT: i32 = 1 << 3;
const DELETE: i32 = 1 << 4;

/// An exposed relation, with data that only the load needs.
#[derive(Debug)]
pub(super) struct Relation {
    pub(super) table: Table,
    /// Of each column; dropped columns leave gaps.
    pub(super) positions: Vec<i16>,
}

/// All exposed relations by oid, without primary keys yet.
pub(super) fn from_rows(
    relations: &[Row],
    columns: &[Row],
    enums: &[Row],
    names: &mut Interner,
) -> Result<HashMap<u32, Relation>, Error> {
    let enums = enums
        .iter()
        .map(|row| Ok((row.try_get("type")?, row.try_get("labels")?)))
        .collect::<Result<HashMap<u32, Vec<&str>>, Error>>()?;
    let mut by_id = HashMap::with_capacity(relations.len());
    for row in relations {
        let table = table_from_row(row, names)?;
        let positions = Vec::new();
        by_id.insert(table.oid, Relation { table, positions });
    }
    for row in columns {
        if let Some(relation) = by_id.get_mut(&row.try_get("relation")?) {
            relation.positions.push(row.try_get("position")?);
            let column = column_from_row(row, &enums, names)?;
            relation.table.columns.push(column);
        }
    }
    for relation in by_id.values_mut() {
        relation.table.columns.shrink_to_fit();
    }
    Ok(by_id)
}

fn table_from_row(row: &Row, names: &mut Interner) -> Result<Table, Error> {
    let events: i32 = row.try_get("events")?;
    Ok(Table {
        oid: row.try_get("oid")?,
        name: names.share_name(row.try_get("schema")?, row.try_get("name")?),
        comment: text(row, "comment")?,
        is_view: row.try_get("is_view")?,
        is_insertable: events & INSERT != 0,
        is_updatable: events & UPDATE != 0,
        is_deletable: events & DELETE != 0,
        primary_key: Vec::new(),
        columns: Vec::new(),
    })
}

fn column_from_row(
    row: &Row,
    enums: &HashMap<u32, Vec<&str>>,
    names: &mut Interner,
) -> Result<Column, Error> {
    let labels = enums.get(&row.try_get("base_type_oid")?);
    Ok(Column {
        name: names.share(row.try_get("name")?),
        comment: text(row, "comment")?,
        is_nullable: row.try_get("is_nullable")?,
        base_type: names.share(row.try_get("base_type")?),
        nominal_type: names.share(row.try_get("nominal_type")?),
        max_length: row.try_get("max_length")?,
        default: text(row, "default")?,
        enum_labels: labels
            .into_iter()
            .flatten()
            .map(|&label| label.into())
            .collect(),
    })
}

pub(super) fn text(row: &Row, column: &str) -> Result<Option<Box<str>>, Error> {
    Ok(row.try_get::<_, Option<&str>>(column)?.map(Box::from))
}

/// Tables get their key, sorted by name; views the keys of all tables whose key columns they have.
pub(super) fn set_primary_keys(
    relations: &mut HashMap<u32, Relation>,
    constraints: &[Constraint],
    provenance: &Provenance,
) {
    let is_primary = |constraint: &&Constraint| matches!(constraint.kind, Kind::Primary);
    let mut of_views: Vec<(&QualifiedName, u32, Vec<Arc<str>>)> = Vec::new();
    for key in constraints.iter().filter(is_primary).map(|c| &c.columns) {
        if let Some(relation) = relations.get_mut(&key.relation) {
            relation.table.primary_key.clone_from(&key.names);
            relation.table.primary_key.sort_unstable();
        }
        let views = provenance.first_keys(key.relation, &key.positions);
        of_views.extend(views.map(|(view, columns)| (&key.relation_name, view, columns)));
    }
    of_views.sort_unstable();
    for (_, view, columns) in of_views {
        if let Some(relation) = relations.get_mut(&view) {
            relation.table.primary_key.extend(columns);
        }
    }
}
