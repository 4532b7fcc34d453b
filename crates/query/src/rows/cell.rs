//! One cell that a page cut.

use plinth_db::OpenTransaction;
use serde::{Deserialize, Serialize};

use crate::{QueryError, Relation, RelationName, sql::Sql};

use super::{
    output::{column_sql, texts},
    write::{RowKey, push_key},
};

/// Most characters of one answer.
const MAX_CHARACTERS: u32 = 4 * 1024 * 1024;

/// Which cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellRequest {
    /// Of which table or view.
    pub relation: RelationName,
    /// Of which row.
    pub key: RowKey,
    /// Of which column.
    pub column: String,
    /// From which character on, from 0.
    #[serde(default)]
    pub offset: u32,
    /// How many characters at most, up to 4 194 304.
    #[serde(default = "max_characters")]
    pub limit: u32,
}

fn max_characters() -> u32 {
    MAX_CHARACTERS
}

/// A cell, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellValue {
    /// The text, or null.
    pub value: Option<String>,
    /// Length of the whole value's text in characters.
    pub characters: u64,
    /// The same in bytes.
    pub bytes: u64,
}

/// Reads a cell.
pub async fn read_cell(
    tx: &mut OpenTransaction,
    request: &CellRequest,
) -> Result<CellValue, QueryError> {
    let relation = Relation::load(tx, &request.relation).await?;
    if !(1..=MAX_CHARACTERS).contains(&request.limit) {
        return Err(QueryError::Invalid(format!(
            "`limit` is between 1 and {MAX_CHARACTERS}"
        )));
    }
    let column = relation.column(&request.column)?;
    let text = column.whole_text(&column_sql(column));
    let mut sql = Sql::new();
    sql.push(format_args!(
        "select pg_catalog.substr(cell, {}, {}), coalesce(pg_catalog.length(cell), 0),
                coalesce(pg_catalog.octet_length(cell), 0)
         from (select {text} as cell from {} t where ",
        i64::from(request.offset)
            .saturating_add(1)
            .min(i64::from(i32::MAX)),
        request.limit,
        relation.sql(),
    ));
    push_key(&mut sql, &relation, &request.key)?;
    sql.push(") cells");
    let rows = sql.run(tx).await?.rows;
    let Some(row) = rows.first() else {
        return Err(QueryError::NotFound("This row is gone".to_owned()));
    };
    let mut values = texts(row).into_iter();
    let value = values.next().flatten();
    let mut number = || values.next().flatten().and_then(|text| text.parse().ok());
    Ok(CellValue {
        value,
        characters: number().unwrap_or_default(),
        bytes: number().unwrap_or_default(),
    })
}
