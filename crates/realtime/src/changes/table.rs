//! What the catalog says about a table that changes: its columns, its primary key, and what a role
//! may see of it (realtime contract §14.1, §14.2).

use std::collections::HashSet;

use plinth_db::{DbError, Queries, Row, replication::pgoutput::Relation};

use super::json_value::Shape;

const TABLE: &str = include_str!("table.sql");
const RIGHTS: &str = include_str!("rights.sql");

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its number.
    pub oid: u32,
    /// Where it is.
    pub schema: String,
    /// What it is called.
    pub name: String,
    /// Whether policies decide who sees its rows.
    pub has_row_security: bool,
    /// In the table's order.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// The number of its type.
    pub type_oid: u32,
    /// What `pg_type` calls it.
    pub type_name: String,
    /// What SQL calls it, wherever it is looked for.
    pub type_sql: String,
    /// The same type, unless it is a domain: then what lies below.
    pub base_type_oid: u32,
    /// What its values become.
    pub shape: Shape,
    /// Whether texts are equal only if they are the same.
    pub has_deterministic_collation: bool,
    /// Whether it is part of the primary key.
    pub is_primary_key: bool,
}

impl Table {
    /// Loads it; `None` if it is gone.
    pub async fn find(db: &mut impl Queries, oid: u32) -> Result<Option<Self>, DbError> {
        let rows = db.query(TABLE, &[&oid]).await?;
        let Some(first) = rows.first() else {
            return Ok(None);
        };
        Ok(Some(Self {
            oid,
            schema: first.try_get("table_schema")?,
            name: first.try_get("table_name")?,
            has_row_security: first.try_get("has_row_security")?,
            columns: rows
                .iter()
                .map(Column::from_row)
                .collect::<Result<_, _>>()?,
        }))
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The column behind a relation's column. They stand at the same place, unless a publication
    /// leaves some out.
    pub(super) fn column_of(&self, relation: &Relation, place: usize) -> Option<&Column> {
        let name = &relation.columns.get(place)?.name;
        let usual = self.columns.get(place);
        usual
            .filter(|column| column.name == *name)
            .or_else(|| self.column(name))
    }

    /// The columns of the primary key; none if it has no key.
    pub fn primary_key(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_primary_key)
    }
}

impl Column {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let base_type_oid: u32 = row.try_get("base_type_oid")?;
        let element: Option<u32> = row.try_get("element_oid")?;
        let shape = match element {
            Some(element) => Shape::Array {
                element: Box::new(Shape::of(element, letter(row, "element_kind")?)),
                delimiter: letter(row, "delimiter")?,
            },
            None => Shape::of(base_type_oid, letter(row, "type_kind")?),
        };
        Ok(Self {
            name: row.try_get("name")?,
            type_oid: row.try_get("type_oid")?,
            type_name: row.try_get("type_name")?,
            type_sql: row.try_get("type_sql")?,
            base_type_oid,
            shape,
            has_deterministic_collation: row.try_get("has_deterministic_collation")?,
            is_primary_key: row.try_get("is_primary_key")?,
        })
    }

    #[cfg(test)]
    pub(crate) fn for_test(name: &str, type_oid: u32) -> Self {
        Self {
            name: name.to_owned(),
            type_oid,
            type_name: format!("type{type_oid}"),
            type_sql: format!("public.type{type_oid}"),
            base_type_oid: type_oid,
            shape: Shape::of(type_oid, 'b'),
            has_deterministic_collation: true,
            is_primary_key: false,
        }
    }
}

fn letter(row: &Row, column: &str) -> Result<char, DbError> {
    let text: &str = row.try_get(column)?;
    Ok(text.chars().next().unwrap_or(' '))
}

/// What a role may see of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Whether policies do not concern it.
    pub bypasses_row_security: bool,
    /// The columns it may select.
    pub readable_columns: HashSet<String>,
}

impl Rights {
    /// Of a role; `None` if there is no such role.
    pub async fn find(
        db: &mut impl Queries,
        table: u32,
        role: &str,
    ) -> Result<Option<Self>, DbError> {
        let rows = db.query(RIGHTS, &[&table, &role]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let columns: Vec<String> = row.try_get("readable_columns")?;
        Ok(Some(Self {
            bypasses_row_security: row.try_get("bypasses_row_security")?,
            readable_columns: columns.into_iter().collect(),
        }))
    }

    /// Whether a column may be shown.
    pub fn can_read(&self, column: &Column) -> bool {
        self.readable_columns.contains(&column.name)
    }

    /// Whether rows can be told apart: without the key, nothing is shown at all.
    pub fn can_read_key(&self, table: &Table) -> bool {
        table.primary_key().all(|column| self.can_read(column))
    }
}
