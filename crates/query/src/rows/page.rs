//! A page of rows, by keys and not by counting.

use plinth_db::{OpenTransaction, Row};
use serde::{Deserialize, Serialize};

use crate::{QueryError, Relation, RelationKind, RelationName, sql::Sql};

use super::{
    count::{CountKind, CountRequest, count_of},
    cursor::Cursor,
    filter::{Filter, push_where},
    output::{MAX_CELL_BYTES, Output, RowSet, column_sql, texts},
    sort::{Part, Sort, SortKey, parts_after, parts_of_all, push_order, sort_keys},
};

/// Most rows of a page.
const MAX_LIMIT: u32 = 1000;
/// Longest sort key in a cursor.
const MAX_CURSOR_BYTES: usize = 4096;
/// PostgreSQL has no more columns in a result.
const MAX_RESULT_COLUMNS: usize = 1664;

/// Which rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageRequest {
    /// Of which table or view.
    pub relation: RelationName,
    /// Which columns, in this order; all if absent.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// What has to hold for a row.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// In which order; the key decides between rows that are equal.
    #[serde(default)]
    pub sort: Vec<Sort>,
    /// How many rows at most, up to 1000.
    #[serde(default = "default_limit")]
    pub limit: u32,
    /// `next` of another page: the rows after it.
    #[serde(default)]
    pub after: Option<String>,
    /// `previous` of another page: the rows before it.
    #[serde(default)]
    pub before: Option<String>,
    /// Whether all rows are counted too.
    #[serde(default)]
    pub count: CountKind,
}

fn default_limit() -> u32 {
    100
}

/// A page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Page {
    /// Its rows.
    #[serde(flatten)]
    pub set: RowSet,
    /// What the table or view is.
    pub kind: RelationKind,
    /// Cursor of the page after it; absent at the end.
    pub next: Option<String>,
    /// Cursor of the page before it; absent at the beginning, and where rows have no key.
    pub previous: Option<String>,
    /// How many rows there are on all pages.
    pub count: Option<i64>,
    /// How they were counted.
    pub count_kind: CountKind,
    /// Whether rows can be changed: they have a key, and the relation lets itself be written.
    pub is_editable: bool,
}

/// Reads a page.
pub async fn page(tx: &mut OpenTransaction, request: &PageRequest) -> Result<Page, QueryError> {
    let relation = Relation::load(tx, &request.relation).await?;
    if !(1..=MAX_LIMIT).contains(&request.limit) {
        return Err(QueryError::Invalid(format!(
            "`limit` is between 1 and {MAX_LIMIT}"
        )));
    }
    let shown = match &request.columns {
        None => (0..relation.columns.len()).collect(),
        Some(names) => {
            let indexes = names.iter().map(|name| relation.column_index(name));
            indexes.collect::<Result<Vec<_>, _>>()?
        }
    };
    let output = Output::new(&relation, shown, MAX_CELL_BYTES);
    let reader = PageReader::new(&relation, &output, request)?;
    let (mut rows, has_more) = reader.read(tx).await?;
    if reader.is_backward {
        rows.reverse();
    }
    let (next, previous) = reader.cursors(&rows, has_more);
    let set = output.read(&rows);
    let counted = CountRequest {
        relation: request.relation.clone(),
        filters: request.filters.clone(),
        count: request.count,
    };
    let count = count_of(tx, &relation, &counted).await?;
    let is_editable = !relation.key.is_empty() && relation.is_updatable();
    Ok(Page {
        set,
        kind: relation.kind,
        next,
        previous,
        count: count.count,
        count_kind: count.kind,
        is_editable,
    })
}

struct PageReader<'a> {
    relation: &'a Relation,
    output: &'a Output<'a>,
    request: &'a PageRequest,
    /// In the order of the table.
    keys: Vec<SortKey<'a>>,
    cursor: Option<Cursor>,
    is_backward: bool,
    has_key: bool,
}

impl<'a> PageReader<'a> {
    fn new(
        relation: &'a Relation,
        output: &'a Output<'a>,
        request: &'a PageRequest,
    ) -> Result<Self, QueryError> {
        let keys = sort_keys(relation, &request.sort)?;
        let has_key = !relation.key.is_empty();
        let (text, is_backward) = match (&request.after, &request.before) {
            (Some(_), Some(_)) => {
                return Err(QueryError::Invalid(
                    "`after` and `before` exclude each other".to_owned(),
                ));
            }
            (after, None) => (after.as_deref(), false),
            (None, before) => (before.as_deref(), true),
        };
        let cursor = text.map(|text| Cursor::parse(text, &keys)).transpose()?;
        if is_backward && !has_key {
            return Err(QueryError::Invalid(
                "Rows without a key are read forward only".to_owned(),
            ));
        }
        if output.width() + keys.len() + 2 > MAX_RESULT_COLUMNS {
            return Err(QueryError::Invalid(
                "There are too many columns for one page; name some in `columns`".to_owned(),
            ));
        }
        Ok(Self {
            relation,
            output,
            request,
            keys,
            cursor,
            is_backward,
            has_key,
        })
    }

    /// One row more than asked for tells whether there are others.
    async fn read(&self, tx: &mut OpenTransaction) -> Result<(Vec<Row>, bool), QueryError> {
        let mut rows = self.statement()?.run(tx).await?.rows;
        let limit = self.request.limit as usize;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        Ok((rows, has_more))
    }

    fn statement(&self) -> Result<Sql, QueryError> {
        let keys: Vec<SortKey<'_>> = if self.is_backward {
            self.keys.iter().map(|key| key.reversed()).collect()
        } else {
            self.keys.clone()
        };
        let limit = u64::from(self.request.limit) + 1;
        let offset = self.cursor.as_ref().map_or(0, |cursor| cursor.offset);
        let values = self
            .cursor
            .as_ref()
            .and_then(|cursor| cursor.values.as_ref());
        let mut sql = Sql::new();
        let (parts, values) = match values {
            Some(values) => (parts_after(&keys, values), &values[..]),
            None => (parts_of_all(&keys), &[][..]),
        };
        // A row of NULLs alone is the last one.
        let is_at_end = parts.is_empty() && !values.is_empty();
        let limit = if is_at_end { 0 } else { limit };
        if parts.len() < 2 {
            self.push_select(&mut sql, &keys, parts.first().map(|part| (part, values)))?;
            sql.push(format_args!(" limit {limit} offset {offset}"));
            return Ok(sql);
        }
        // Each part is short work for an index, which one condition with `or` would not be.
        sql.push("select * from (");
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                sql.push(" union all ");
            }
            sql.push(format_args!(
                "(select part.*, {index} as part, row_number() over () as place from ("
            ));
            self.push_select(&mut sql, &keys, Some((part, values)))?;
            sql.push(format_args!(" limit {}) part)", limit + offset));
        }
        sql.push(format_args!(
            ") parts order by part, place limit {limit} offset {offset}"
        ));
        Ok(sql)
    }

    fn push_select(
        &self,
        sql: &mut Sql,
        keys: &[SortKey<'_>],
        part: Option<(&Part, &[Option<String>])>,
    ) -> Result<(), QueryError> {
        sql.push("select ").push(self.output.select_list());
        for (index, key) in keys.iter().enumerate() {
            let text = key.column.whole_text(&column_sql(key.column));
            sql.push(format_args!(
                ", case when pg_catalog.octet_length({text}) > {MAX_CURSOR_BYTES} then null else {text} end as s{index}"
            ));
        }
        sql.push(", ").push(self.too_long(keys));
        sql.push(" as is_too_long from ").push(self.relation.sql());
        sql.push(" t");
        push_where(sql, self.relation, &self.request.filters)?;
        let Some((part, values)) = part else {
            push_order(sql, keys);
            return Ok(());
        };
        let joint = if self.request.filters.is_empty() {
            " where "
        } else {
            " and "
        };
        sql.push(joint);
        part.push_to(sql, keys, values)?;
        part.push_order(sql, keys);
        Ok(())
    }

    /// Whether a sort key is too long for a cursor.
    fn too_long(&self, keys: &[SortKey<'_>]) -> String {
        let lengths = keys.iter().filter_map(|key| {
            let length = key.column.text_length(&column_sql(key.column))?;
            Some(format!("coalesce({length} > {MAX_CURSOR_BYTES}, false)"))
        });
        let lengths: Vec<String> = lengths.collect();
        if lengths.is_empty() {
            "false".to_owned()
        } else {
            lengths.join(" or ")
        }
    }

    /// Cursors of the page after and of the page before.
    fn cursors(&self, rows: &[Row], has_more: bool) -> (Option<String>, Option<String>) {
        let (has_next, has_previous) = if self.is_backward {
            (self.cursor.is_some(), has_more)
        } else {
            (has_more, self.cursor.is_some())
        };
        let next = has_next.then(|| self.cursor_at(rows.last(), rows.len()));
        let previous = (has_previous && self.has_key)
            .then(|| self.sort_values(rows.first()?))
            .flatten()
            .map(|values| Cursor::new(&self.keys, Some(values), 0).to_text());
        (next, previous)
    }

    fn cursor_at(&self, row: Option<&Row>, count: usize) -> String {
        let values = row
            .filter(|_| self.has_key)
            .and_then(|row| self.sort_values(row));
        let cursor = match values {
            Some(values) => Cursor::new(&self.keys, Some(values), 0),
            // Further from where this page began.
            None => {
                let (values, offset) = match &self.cursor {
                    Some(cursor) => (cursor.values.clone(), cursor.offset),
                    None => (None, 0),
                };
                Cursor::new(&self.keys, values, offset + count as u64)
            }
        };
        cursor.to_text()
    }

    /// `None` if one is too long.
    fn sort_values(&self, row: &Row) -> Option<Vec<Option<String>>> {
        let mut values = texts(row).split_off(self.output.width());
        let is_too_long = values.get(self.keys.len())?.as_deref() == Some("t");
        values.truncate(self.keys.len());
        (!is_too_long).then_some(values)
    }
}
