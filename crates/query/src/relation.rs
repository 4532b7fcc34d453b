//! A table or view with its columns, as the catalog describes it now.

use plinth_db::{DbError, OpenTransaction, Row};
use serde::{Deserialize, Serialize};

use crate::{QueryError, sql::qualified};

/// Schema and name of a table or view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationName {
    /// Its schema.
    #[serde(default = "public")]
    pub schema: String,
    /// Its name.
    pub name: String,
}

fn public() -> String {
    "public".to_owned()
}

/// What kind of relation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    /// A table.
    Table,
    /// A partitioned table.
    PartitionedTable,
    /// A view.
    View,
    /// A materialised view.
    MaterializedView,
    /// A foreign table.
    ForeignTable,
}

/// A table or view.
#[derive(Debug, Clone)]
pub struct Relation {
    /// Its name.
    pub name: RelationName,
    /// Its OID.
    pub oid: u32,
    /// What it is.
    pub kind: RelationKind,
    /// Whether a materialised view has been filled.
    pub is_populated: bool,
    /// Whether policies limit what the present role sees of it.
    pub has_row_security: bool,
    /// Bits of `pg_relation_is_updatable`.
    events: i32,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// The columns of its key: indexes into `columns`. Empty if it has none.
    pub key: Vec<usize>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, such as `character varying(10)`.
    pub type_text: String,
    /// The OID of its type.
    pub type_oid: u32,
    type_schema: String,
    type_name: String,
    /// Of the base type, where the type is a domain.
    base_name: String,
    category: String,
    base_length: i16,
    is_builtin: bool,
    /// Whether NULL is refused.
    pub is_not_null: bool,
    /// Whether there is a default.
    pub has_default: bool,
    /// Whether it is computed from others.
    pub is_generated: bool,
    /// `always` or `by default` for an identity column.
    pub identity: Option<&'static str>,
}

/// What [`Column::text_output`] has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    /// Never long: the server's text output of the value itself.
    Short,
    /// `bytea`.
    Binary,
    /// Its cast to text is its text output.
    Cast,
    /// Its cast to text may be something else.
    Format,
}

impl Relation {
    /// Reads it from the catalog.
    pub async fn load(tx: &mut OpenTransaction, name: &RelationName) -> Result<Self, QueryError> {
        if name.schema.contains('\0') || name.name.contains('\0') {
            return Err(not_found(name));
        }
        let sql = include_str!("relation.sql");
        let rows = tx.query(sql, &[&name.schema, &name.name]).await?;
        let Some(first) = rows.first() else {
            return Err(not_found(name));
        };
        let kind = match first.try_get::<_, &str>("kind")? {
            "r" => RelationKind::Table,
            "p" => RelationKind::PartitionedTable,
            "v" => RelationKind::View,
            "m" => RelationKind::MaterializedView,
            _ => RelationKind::ForeignTable,
        };
        let mut columns = Vec::with_capacity(rows.len());
        let mut key: Vec<(i32, usize)> = Vec::new();
        for row in &rows {
            if row.try_get::<_, Option<&str>>("name")?.is_none() {
                continue;
            }
            if let Some(position) = row.try_get("key_position")? {
                key.push((position, columns.len()));
            }
            columns.push(Column::from_row(row)?);
        }
        key.sort_unstable();
        Ok(Self {
            name: name.clone(),
            oid: oid(first.try_get("oid")?),
            kind,
            is_populated: first.try_get("is_populated")?,
            has_row_security: first.try_get("has_row_security")?,
            events: first.try_get("events")?,
            columns,
            key: key.into_iter().map(|(_, index)| index).collect(),
        })
    }

    /// `"schema"."name"`.
    pub fn sql(&self) -> String {
        qualified(&self.name.schema, &self.name.name)
    }

    /// The index of a column.
    pub fn column_index(&self, name: &str) -> Result<usize, QueryError> {
        let found = self.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| {
            QueryError::Invalid(format!(
                "{} has no column {name}",
                self.name.name.escape_debug()
            ))
        })
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> Result<&Column, QueryError> {
        self.column_index(name).map(|index| &self.columns[index])
    }

    /// The columns of its key.
    pub fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.key.iter().map(|index| &self.columns[*index])
    }

    /// Whether it holds rows itself.
    pub fn is_table(&self) -> bool {
        matches!(
            self.kind,
            RelationKind::Table | RelationKind::PartitionedTable | RelationKind::ForeignTable
        )
    }

    /// Whether rows can be inserted.
    pub fn is_insertable(&self) -> bool {
        self.events & (1 << 3) != 0
    }

    /// Whether rows can be updated.
    pub fn is_updatable(&self) -> bool {
        self.events & (1 << 2) != 0
    }

    /// Whether its rows have versions, and a key by which they are changed.
    pub fn has_versions(&self) -> bool {
        let is_stored = matches!(
            self.kind,
            RelationKind::Table | RelationKind::PartitionedTable
        );
        is_stored && !self.key.is_empty()
    }
}

fn not_found(name: &RelationName) -> QueryError {
    QueryError::NotFound(format!(
        "There is no table or view {}.{}",
        name.schema.escape_debug(),
        name.name.escape_debug()
    ))
}

/// OIDs are read as 8 bytes: the driver's own type is unsigned.
fn oid(number: i64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

impl Column {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            name: row.try_get("name")?,
            type_text: row.try_get("type")?,
            type_oid: oid(row.try_get("type_oid")?),
            type_schema: row.try_get("type_schema")?,
            type_name: row.try_get("type_name")?,
            base_name: row.try_get("base_name")?,
            category: row.try_get("category")?,
            base_length: row.try_get("base_length")?,
            is_builtin: row.try_get("is_builtin")?,
            is_not_null: row.try_get("is_not_null")?,
            has_default: row.try_get("has_default")?,
            is_generated: row.try_get("is_generated")?,
            identity: match row.try_get("identity")? {
                "a" => Some("always"),
                "d" => Some("by default"),
                _ => None,
            },
        })
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.category == "A"
    }

    /// Whether every text is a value of it.
    pub fn takes_any_text(&self) -> bool {
        self.is_text()
            && self.base_name != "name"
            && !self.type_text.contains('(')
            && self.type_schema == "pg_catalog"
    }

    /// Its type without a length.
    pub fn type_sql(&self) -> String {
        qualified(&self.type_schema, &self.type_name)
    }

    /// Whether it is a character type.
    pub fn is_text(&self) -> bool {
        self.is_builtin && matches!(&*self.base_name, "text" | "varchar" | "bpchar" | "name")
    }

    /// The type of its parameters: one without a length, also where a domain has one, so that too long a
    /// text is an error and not cut.
    pub fn parameter_type(&self) -> String {
        match (self.is_text(), &*self.base_name) {
            (true, "bpchar") => "pg_catalog.bpchar".to_owned(),
            (true, _) => "pg_catalog.text".to_owned(),
            (false, _) => self.type_sql(),
        }
    }

    /// Whether comparisons of texts (`like`) apply to it without a cast.
    pub fn is_string_like(&self) -> bool {
        self.category == "S"
    }

    fn output(&self) -> Output {
        if self.base_length > 0 {
            return Output::Short;
        }
        match (&*self.base_name, self.is_builtin, &*self.category) {
            ("inet" | "cidr" | "macaddr", true, _) => Output::Short,
            ("bytea", true, _) => Output::Binary,
            ("text" | "varchar" | "json" | "jsonb" | "numeric" | "tsvector", true, _)
            | (_, _, "A" | "R") => Output::Cast,
            _ => Output::Format,
        }
    }

    /// SQL for its text output, cut near `limit` bytes. `of` is the quoted column.
    pub fn text_output(&self, of: &str, limit: usize) -> String {
        let text = match self.output() {
            Output::Short => return of.to_owned(),
            Output::Binary => {
                // Two digits for each byte.
                let bytes = limit.saturating_sub(2) / 2;
                return format!(
                    "'\\x' || pg_catalog.encode(pg_catalog.substring({of}, 1, {bytes}), 'hex')"
                );
            }
            Output::Cast | Output::Format => self.whole_text(of),
        };
        format!(
            "case when pg_catalog.octet_length({text}) > {limit} \
             then pg_catalog.left({text}, {limit}) else {text} end"
        )
    }

    /// SQL for its whole text output.
    pub fn whole_text(&self, of: &str) -> String {
        match self.output() {
            Output::Cast => format!("{of}::pg_catalog.text"),
            // `is null` is true for a composite value of NULLs.
            _ => format!(
                "case when pg_catalog.num_nulls({of}) = 0 then pg_catalog.format('%s', {of}) end"
            ),
        }
    }

    /// SQL for the length in bytes of its text output; none if it is never long.
    pub fn text_length(&self, of: &str) -> Option<String> {
        match self.output() {
            Output::Short => None,
            Output::Binary => Some(format!("2 + 2 * pg_catalog.octet_length({of})")),
            Output::Cast | Output::Format => {
                Some(format!("pg_catalog.octet_length({})", self.whole_text(of)))
            }
        }
    }
}
