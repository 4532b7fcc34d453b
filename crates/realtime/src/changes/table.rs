//! Catalog data of a table: its columns, its primary key, and what a role may see of it (realtime
//! contract §14.1, §14.2).

use std::collections::HashSet;

use plinth_db::{DbError, Queries, Row, replication::pgoutput::Relation};

use super::json_value::Shape;

const TABLE: &str = include_str!("table.sql");
const RIGHTS: &str = include_str!("rights.sql");

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub oid: u32,
    pub schema: String,
    pub name: String,
    pub has_row_security: bool,
    /// In the table's order.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub type_oid: u32,
    /// `pg_type.typname`.
    pub type_name: String,
    /// Qualified and quoted, for SQL.
    pub type_sql: String,
    /// `type_oid`, or of a domain the type below it.
    pub base_type_oid: u32,
    pub shape: Shape,
    /// Whether strings are equal only if their bytes are.
    pub has_deterministic_collation: bool,
    /// Whether it is part of the primary key.
    pub is_primary_key: bool,
}

impl Table {
    /// `None` if there is no such table.
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

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The column of a relation message's column. The positions are equal, unless the publication
    /// has a column list.
    pub(super) fn column_of(&self, relation: &Relation, index: usize) -> Option<&Column> {
        let name = &relation.columns.get(index)?.name;
        let at_same_index = self.columns.get(index);
        at_same_index
            .filter(|column| column.name == *name)
            .or_else(|| self.column(name))
    }

    /// The columns of the primary key; empty without one.
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
                element: Box::new(Shape::for_type(element, letter(row, "element_kind")?)),
                delimiter: letter(row, "delimiter")?,
            },
            None => Shape::for_type(base_type_oid, letter(row, "type_kind")?),
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
            shape: Shape::for_type(type_oid, 'b'),
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
    /// `BYPASSRLS` or superuser.
    pub bypasses_row_security: bool,
    /// Columns with the privilege `SELECT`.
    pub readable_columns: HashSet<String>,
}

impl Rights {
    /// `None` if there is no such role.
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

    pub fn can_read(&self, column: &Column) -> bool {
        self.readable_columns.contains(&column.name)
    }

    /// Without the key, nothing of a row is shown.
    pub fn can_read_key(&self, table: &Table) -> bool {
        table.primary_key().all(|column| self.can_read(column))
    }
}
