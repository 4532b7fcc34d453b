//! Inserting, updating and deleting rows (console contract N54). The response has rows as they are
//! stored: with defaults, and what triggers made of them.

use std::collections::BTreeMap;

use plinth_db::{OpenTransaction, QuotedIdent};
use serde::{Deserialize, Serialize};

use crate::{
    ChangedRow, Column, QueryError, Relation, RelationName,
    sql::{Sql, separated},
};

use super::{
    filter::{Filter, push_where},
    output::{Output, RowSet, column_sql, texts},
};

/// Most rows of one request.
const MAX_ROWS: usize = 1000;
/// Deleted rows come back nearly whole, so that they can be inserted again.
const DELETED_CELL_BYTES: usize = 64 * 1024;

/// The key of a row: each of its columns with its value.
pub type RowKey = BTreeMap<String, String>;

/// Values by column.
type Values = BTreeMap<String, NewValue>;

/// What a column is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a value is a text, null or {\"default\": true}")]
pub enum NewValue {
    /// A value, as PostgreSQL reads it.
    Text(String),
    /// The column's default.
    Default {
        /// Always true.
        default: bool,
    },
    /// NULL.
    Null,
}

/// Rows to insert.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InsertRequest {
    /// Into which table or view.
    pub relation: RelationName,
    /// The rows; columns that are not named get their defaults.
    pub rows: Vec<BTreeMap<String, NewValue>>,
    /// Whether values may be given for columns that are `generated always as identity`.
    #[serde(default)]
    pub overriding: bool,
}

/// Rows to update, all or none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UpdateRequest {
    /// Of which table or view.
    pub relation: RelationName,
    /// The rows.
    pub rows: Vec<RowChange>,
}

/// A row to update or to delete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowChange {
    /// Which one.
    pub key: RowKey,
    /// Its version when it was read; absent if the version does not matter.
    #[serde(default)]
    pub version: Option<String>,
    /// New values; none for a row to delete.
    #[serde(default)]
    pub values: BTreeMap<String, NewValue>,
}

/// Rows to delete, all or none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeleteRequest {
    /// Of which table or view.
    pub relation: RelationName,
    /// The rows.
    #[serde(default)]
    pub rows: Vec<RowChange>,
    /// Instead of naming rows: all for which these hold.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// Instead of naming rows: all that there are.
    #[serde(default)]
    pub all: bool,
}

/// Rows as they are stored, or as they were before they were deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WrittenRows {
    /// The rows that can be seen.
    #[serde(flatten)]
    pub set: RowSet,
    /// How many were written.
    pub affected: u64,
}

/// Inserts rows.
pub async fn insert(
    tx: &mut OpenTransaction,
    request: &InsertRequest,
) -> Result<WrittenRows, QueryError> {
    let relation = Relation::load(tx, &request.relation).await?;
    check_count(request.rows.len())?;
    let sql = insert_statement(&relation, request)?;
    let reply = sql.run(tx).await?;
    let output = Output::all(&relation);
    let set = if relation.key.is_empty() {
        output.read(&reply.rows)
    } else {
        let keys: Vec<_> = reply.rows.iter().map(texts).collect();
        read_by_keys(tx, &relation, &output, &keys).await?
    };
    Ok(WrittenRows {
        set,
        affected: reply.affected,
    })
}

fn check_count(count: usize) -> Result<(), QueryError> {
    if (1..=MAX_ROWS).contains(&count) {
        Ok(())
    } else {
        Err(QueryError::Invalid(format!(
            "A request has between 1 and {MAX_ROWS} rows"
        )))
    }
}

fn insert_statement(relation: &Relation, request: &InsertRequest) -> Result<Sql, QueryError> {
    for name in request.rows.iter().flat_map(BTreeMap::keys) {
        relation.column_index(name)?;
    }
    let is_named = |column: &&Column| {
        request
            .rows
            .iter()
            .any(|row| row.contains_key(&column.name))
    };
    let mut columns: Vec<&Column> = relation.columns.iter().filter(is_named).collect();
    if columns.is_empty() {
        // Every row needs one place for its `default`.
        columns.extend(relation.columns.iter().find(|column| !column.is_generated));
    }
    let mut sql = Sql::new();
    sql.push("insert into ").push(relation.sql()).push(" as t");
    if columns.is_empty() {
        sql.push(" default values");
    } else {
        let names = columns.iter().map(|column| QuotedIdent::new(&column.name));
        sql.push(format_args!(" ({})", separated(names, ", ")));
        if request.overriding {
            sql.push(" overriding system value");
        }
        sql.push(" values ");
        for (index, row) in request.rows.iter().enumerate() {
            sql.push(if index == 0 { "(" } else { ", (" });
            for (place, column) in columns.iter().enumerate() {
                if place > 0 {
                    sql.push(", ");
                }
                push_new_value(&mut sql, column, row.get(&column.name))?;
            }
            sql.push(")");
        }
    }
    sql.push(" returning ");
    if relation.key.is_empty() {
        sql.push(Output::all(relation).select_list());
    } else {
        sql.push(key_list(relation));
    }
    Ok(sql)
}

/// Writes an `insert` of one row.
pub(crate) fn push_new_row(
    sql: &mut Sql,
    relation: &Relation,
    values: &Values,
) -> Result<(), QueryError> {
    sql.push("insert into ").push(relation.sql()).push(" as t");
    if values.is_empty() {
        sql.push(" default values");
        return Ok(());
    }
    let names = values.keys().map(|name| QuotedIdent::new(name));
    sql.push(format_args!(" ({}) values (", separated(names, ", ")));
    for (index, (name, value)) in values.iter().enumerate() {
        if index > 0 {
            sql.push(", ");
        }
        push_new_value(sql, relation.column(name)?, Some(value))?;
    }
    sql.push(")");
    Ok(())
}

fn push_new_value(
    sql: &mut Sql,
    column: &Column,
    value: Option<&NewValue>,
) -> Result<(), QueryError> {
    match value {
        Some(NewValue::Text(text)) => {
            sql.value(column, text)?;
        }
        Some(NewValue::Null) => {
            sql.push("null");
        }
        None | Some(NewValue::Default { default: true }) => {
            sql.push("default");
        }
        Some(NewValue::Default { default: false }) => {
            let name = column.name.escape_debug();
            return Err(QueryError::Invalid(format!(
                "The value of {name}: {{\"default\": false}} means nothing"
            )));
        }
    }
    Ok(())
}

/// The key's columns as texts.
fn key_list(relation: &Relation) -> String {
    let texts = relation
        .key_columns()
        .map(|column| column.whole_text(&column_sql(column)));
    separated(texts, ", ")
}

/// Updates rows, all or none.
pub async fn update(
    tx: &mut OpenTransaction,
    request: &UpdateRequest,
) -> Result<WrittenRows, QueryError> {
    let relation = Relation::load(tx, &request.relation).await?;
    check_count(request.rows.len())?;
    require_key(&relation)?;
    let mut keys = Vec::with_capacity(request.rows.len());
    let mut affected = 0;
    for (index, change) in request.rows.iter().enumerate() {
        let reply = update_statement(&relation, change)?.run(tx).await?;
        if reply.affected == 0 {
            return Err(unchanged(tx, &relation, index, change).await?);
        }
        affected += reply.affected;
        keys.extend(reply.rows.iter().map(texts));
    }
    let output = Output::all(&relation);
    let set = read_by_keys(tx, &relation, &output, &keys).await?;
    Ok(WrittenRows { set, affected })
}

fn require_key(relation: &Relation) -> Result<(), QueryError> {
    if relation.key.is_empty() {
        return Err(QueryError::Invalid(format!(
            "{} has no key that tells its rows apart",
            relation.name.name.escape_debug()
        )));
    }
    Ok(())
}

fn update_statement(relation: &Relation, change: &RowChange) -> Result<Sql, QueryError> {
    if change.values.is_empty() {
        return Err(QueryError::Invalid("A row has no new values".to_owned()));
    }
    let mut sql = Sql::new();
    sql.push("update ").push(relation.sql()).push(" as t set ");
    push_assignments(&mut sql, relation, &change.values)?;
    sql.push(" where ");
    push_row(&mut sql, relation, change)?;
    sql.push(" returning ").push(key_list(relation));
    Ok(sql)
}

pub(crate) fn push_assignments(
    sql: &mut Sql,
    relation: &Relation,
    values: &Values,
) -> Result<(), QueryError> {
    for (index, (name, value)) in values.iter().enumerate() {
        let column = relation.column(name)?;
        if index > 0 {
            sql.push(", ");
        }
        sql.push(format_args!("{} = ", QuotedIdent::new(name)));
        push_new_value(sql, column, Some(value))?;
    }
    Ok(())
}

/// The condition that holds for one row, if nobody has changed it.
fn push_row(sql: &mut Sql, relation: &Relation, change: &RowChange) -> Result<(), QueryError> {
    push_key(sql, relation, &change.key)?;
    if let Some(version) = &change.version {
        if !relation.has_versions() || version.parse::<u32>().is_err() {
            return Err(QueryError::Invalid(format!(
                "{} is no version of a row",
                version.escape_debug()
            )));
        }
        sql.push(" and t.xmin = ");
        sql.typed_value(None, version)?.push("::pg_catalog.xid");
    }
    Ok(())
}

/// The condition that holds for the row with this key.
pub(crate) fn push_key(sql: &mut Sql, relation: &Relation, key: &RowKey) -> Result<(), QueryError> {
    require_key(relation)?;
    if let Some(name) = key
        .keys()
        .find(|name| !relation.key_columns().any(|column| column.name == **name))
    {
        let name = name.escape_debug();
        return Err(QueryError::Invalid(format!(
            "{name} is no column of the key"
        )));
    }
    for (index, column) in relation.key_columns().enumerate() {
        let Some(value) = key.get(&column.name) else {
            let name = column.name.escape_debug();
            return Err(QueryError::Invalid(format!(
                "The key lacks the column {name}"
            )));
        };
        if index > 0 {
            sql.push(" and ");
        }
        sql.push(format_args!("{} = ", column_sql(column)));
        sql.value(column, value)?;
    }
    Ok(())
}

/// Why a statement on one row found none.
async fn unchanged(
    tx: &mut OpenTransaction,
    relation: &Relation,
    index: usize,
    change: &RowChange,
) -> Result<QueryError, QueryError> {
    let output = Output::all(relation);
    let key = relation
        .key_columns()
        .map(|column| change.key.get(&column.name).cloned());
    let current = read_by_keys(tx, relation, &output, &[key.collect()]).await?;
    let is_same = match (&change.version, current.versions.first()) {
        (Some(before), Some(now)) => before == now,
        (_, now) => now.is_some() || !current.rows.is_empty(),
    };
    Ok(if is_same {
        QueryError::Invalid(
            "The row was not written: a trigger, a rule or a policy kept it as it is".to_owned(),
        )
    } else {
        QueryError::Changed(Box::new(ChangedRow { index, current }))
    })
}

/// Reads rows by their keys, in the order of the keys.
async fn read_by_keys(
    tx: &mut OpenTransaction,
    relation: &Relation,
    output: &Output<'_>,
    keys: &[Vec<Option<String>>],
) -> Result<RowSet, QueryError> {
    if keys.is_empty() {
        return Ok(output.read(&[]));
    }
    let mut sql = Sql::new();
    sql.push("select ").push(output.select_list());
    sql.push(" from (values ");
    for (place, key) in keys.iter().enumerate() {
        sql.push(if place == 0 { "(" } else { ", (" });
        sql.push(place);
        for (column, value) in relation.key_columns().zip(key) {
            sql.push(", ");
            match value {
                Some(value) => {
                    sql.value(column, value)?;
                }
                None => {
                    sql.push("null");
                }
            }
        }
        sql.push(")");
    }
    let names = (0..relation.key.len()).map(|index| format!("k{index}"));
    sql.push(format_args!(") wanted(place, {})", separated(names, ", ")));
    sql.push(format_args!(" join {} t on ", relation.sql()));
    let pairs = relation
        .key_columns()
        .enumerate()
        .map(|(index, column)| format!("{} = wanted.k{index}", column_sql(column)));
    sql.push(separated(pairs, " and "));
    sql.push(" order by wanted.place");
    Ok(output.read(&sql.run(tx).await?.rows))
}

/// Deletes rows, all or none. Named rows come back as they were.
pub async fn delete(
    tx: &mut OpenTransaction,
    request: &DeleteRequest,
) -> Result<WrittenRows, QueryError> {
    let relation = Relation::load(tx, &request.relation).await?;
    let ways = [
        !request.rows.is_empty(),
        !request.filters.is_empty(),
        request.all,
    ];
    if ways.into_iter().filter(|way| *way).count() != 1 {
        return Err(QueryError::Invalid(
            "One of `rows`, `filters` and `all` says which rows are deleted".to_owned(),
        ));
    }
    let shown = (0..relation.columns.len()).collect();
    let output = Output::new(&relation, shown, DELETED_CELL_BYTES);
    if request.rows.is_empty() {
        let mut sql = Sql::new();
        sql.push("delete from ").push(relation.sql()).push(" as t");
        push_where(&mut sql, &relation, &request.filters)?;
        let affected = sql.run(tx).await?.affected;
        let set = output.read(&[]);
        return Ok(WrittenRows { set, affected });
    }
    check_count(request.rows.len())?;
    require_key(&relation)?;
    let mut rows = Vec::with_capacity(request.rows.len());
    let mut affected = 0;
    for (index, change) in request.rows.iter().enumerate() {
        let mut sql = Sql::new();
        sql.push("delete from ").push(relation.sql());
        sql.push(" as t where ");
        push_row(&mut sql, &relation, change)?;
        sql.push(" returning ").push(output.select_list());
        let reply = sql.run(tx).await?;
        if reply.affected == 0 {
            return Err(unchanged(tx, &relation, index, change).await?);
        }
        affected += reply.affected;
        rows.extend(reply.rows);
    }
    let set = output.read(&rows);
    Ok(WrittenRows { set, affected })
}

/// The columns of a constraint or of a unique index, for an error that names only it.
pub async fn constraint_columns(
    tx: &mut OpenTransaction,
    relation: &RelationName,
    constraint: &str,
) -> Result<Vec<String>, QueryError> {
    let sql = "
        select a.attname::text
        from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        cross join lateral (
            select unnest(o.conkey) as number
            from pg_catalog.pg_constraint o
            where o.conrelid = c.oid and o.conname = $3
            union
            select unnest(i.indkey[0:i.indnkeyatts - 1])
            from pg_catalog.pg_index i
            join pg_catalog.pg_class ic on ic.oid = i.indexrelid
            where i.indrelid = c.oid and ic.relname = $3
        ) key
        join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = key.number
        where n.nspname = $1 and c.relname = $2
        order by a.attnum";
    let params: plinth_db::Params<'_> = &[&relation.schema, &relation.name, &constraint];
    let rows = tx.query(sql, params).await?;
    let names = rows.iter().map(|row| row.try_get(0));
    Ok(names.collect::<Result<_, _>>()?)
}
