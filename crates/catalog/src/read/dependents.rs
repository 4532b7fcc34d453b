//! What goes with an object when it is dropped.

use postgres_types::Type;
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::ReadError;

/// A catalog of PostgreSQL, in which an oid names an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectClass {
    /// `pg_namespace`.
    Schema,
    /// `pg_class`: tables, views, indexes.
    Relation,
    /// `pg_proc`.
    Function,
    /// `pg_type`.
    Type,
    /// `pg_extension`.
    Extension,
    /// `pg_constraint`.
    Constraint,
}

impl ObjectClass {
    /// Its oid, which is the same on every server.
    fn oid(self) -> u32 {
        match self {
            Self::Schema => 2615,
            Self::Relation => 1259,
            Self::Function => 1255,
            Self::Type => 1247,
            Self::Extension => 3079,
            Self::Constraint => 2606,
        }
    }
}

/// An object that depends on another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependent {
    /// What it is, in PostgreSQL's words: `view`, `table column`, `table constraint`.
    pub kind: String,
    /// Its schema.
    pub schema: Option<String>,
    /// Its name, if one name is enough.
    pub name: Option<String>,
    /// All that it takes to name it, as in SQL.
    pub identity: String,
    /// Whether DROP takes it only with CASCADE; the others go without a question.
    pub needs_cascade: bool,
    /// Rows of a table, by the statistics.
    pub rows_estimate: Option<i64>,
}

/// Dependents of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependents {
    /// How many there are.
    pub total: i64,
    /// The first thousand, those that need CASCADE first.
    pub dependents: Vec<Dependent>,
}

#[derive(Deserialize)]
struct CountedDependent {
    #[serde(flatten)]
    dependent: Dependent,
    total: i64,
}

/// What goes with an object, or with one column of a relation.
pub async fn dependents(
    client: &Client,
    class: ObjectClass,
    id: u32,
    column: Option<i16>,
) -> Result<Dependents, ReadError> {
    let column = i32::from(column.unwrap_or_default());
    let rows = client
        .query_typed(
            include_str!("sql/dependents.sql"),
            &[
                (&class.oid(), Type::OID),
                (&id, Type::OID),
                (&column, Type::INT4),
            ],
        )
        .await?;
    let mut found = Dependents::default();
    for row in &rows {
        let json: &str = row.try_get(0)?;
        let one: CountedDependent =
            serde_json::from_str(json).map_err(|cause| ReadError::Unexpected {
                kind: "dependent",
                cause,
            })?;
        found.total = one.total;
        found.dependents.push(one.dependent);
    }
    Ok(found)
}
