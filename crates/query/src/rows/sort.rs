//! The order of rows, and where in it a row is.

use serde::{Deserialize, Serialize};

use crate::{Column, QueryError, Relation, sql::Sql};

use super::output::column_sql;

/// Most columns to sort by.
const MAX_COLUMNS: usize = 16;

/// A column to sort by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// Its name.
    pub column: String,
    /// From the largest to the smallest.
    #[serde(default)]
    pub descending: bool,
    /// Whether NULLs come first; by default they count as larger than all values.
    #[serde(default)]
    pub nulls_first: Option<bool>,
}

/// A column of the whole order, which no two rows share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SortKey<'a> {
    pub(crate) column: &'a Column,
    pub(crate) is_descending: bool,
    pub(crate) has_nulls_first: bool,
}

/// The columns to sort by, then those of the key that are not among them.
pub(crate) fn sort_keys<'a>(
    relation: &'a Relation,
    sort: &[Sort],
) -> Result<Vec<SortKey<'a>>, QueryError> {
    if sort.len() > MAX_COLUMNS {
        return Err(QueryError::Invalid(format!(
            "There are more than {MAX_COLUMNS} columns to sort by"
        )));
    }
    let mut keys: Vec<SortKey<'a>> = Vec::with_capacity(sort.len() + relation.key.len());
    for item in sort {
        let column = relation.column(&item.column)?;
        if contains(&keys, column) {
            continue;
        }
        keys.push(SortKey {
            column,
            is_descending: item.descending,
            has_nulls_first: item.nulls_first.unwrap_or(item.descending),
        });
    }
    for column in relation.key_columns() {
        if !contains(&keys, column) {
            keys.push(SortKey {
                column,
                is_descending: false,
                has_nulls_first: false,
            });
        }
    }
    Ok(keys)
}

fn contains(keys: &[SortKey<'_>], column: &Column) -> bool {
    keys.iter().any(|key| key.column.name == column.name)
}

impl SortKey<'_> {
    /// The other way round.
    pub(crate) fn reversed(self) -> Self {
        Self {
            is_descending: !self.is_descending,
            has_nulls_first: !self.has_nulls_first,
            ..self
        }
    }

    /// Without what says nothing, so that an index of either order can be used.
    fn order_sql(&self, is_not_null: bool) -> String {
        let name = column_sql(self.column);
        let direction = if self.is_descending { " desc" } else { "" };
        let nulls = match (is_not_null || self.has_usual_nulls(), self.has_nulls_first) {
            (true, _) => "",
            (false, true) => " nulls first",
            (false, false) => " nulls last",
        };
        format!("{name}{direction}{nulls}")
    }

    /// Whether NULLs are where an index has them, or there are none.
    fn has_usual_nulls(&self) -> bool {
        self.column.is_not_null || self.has_nulls_first == self.is_descending
    }
}

/// Writes `order by …`; nothing without keys.
pub(crate) fn push_order(sql: &mut Sql, keys: &[SortKey<'_>]) {
    push_order_from(sql, keys, false);
}

/// The same, where the first key may be known to be no NULL.
fn push_order_from(sql: &mut Sql, keys: &[SortKey<'_>], first_is_not_null: bool) {
    for (index, key) in keys.iter().enumerate() {
        sql.push(if index == 0 { " order by " } else { ", " });
        sql.push(key.order_sql(index == 0 && first_is_not_null));
    }
}

/// A part of the rows. Parts follow one another in the order of the rows, and each is one that an index
/// can give in its order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// After a row: all keys are compared at once.
    Whole,
    /// Equal to a row in the keys before this one, and beyond it in this one.
    Beyond(usize),
    /// Equal in the keys before this one, which is NULL.
    Null(usize),
    /// Equal in the keys before this one, which is not NULL.
    NotNull(usize),
}

/// The parts of all rows; none if they need not be taken apart.
pub(crate) fn parts_of_all(keys: &[SortKey<'_>]) -> Vec<Part> {
    match keys.first() {
        Some(key) if key.has_usual_nulls() => Vec::new(),
        Some(key) if key.has_nulls_first => vec![Part::Null(0), Part::NotNull(0)],
        Some(_) => vec![Part::NotNull(0), Part::Null(0)],
        None => Vec::new(),
    }
}

/// The parts of the rows after a row with these values.
pub(crate) fn parts_after(keys: &[SortKey<'_>], values: &[Option<String>]) -> Vec<Part> {
    let is_uniform = keys
        .windows(2)
        .all(|two| two[0].is_descending == two[1].is_descending);
    if is_uniform && keys.iter().all(|key| key.column.is_not_null) {
        return vec![Part::Whole];
    }
    let mut parts = Vec::new();
    for (index, (key, value)) in keys.iter().zip(values).enumerate().rev() {
        match (value.is_some(), key.has_nulls_first) {
            (true, nulls_first) => {
                parts.push(Part::Beyond(index));
                if !key.column.is_not_null && !nulls_first {
                    parts.push(Part::Null(index));
                }
            }
            (false, true) => parts.push(Part::NotNull(index)),
            (false, false) => {}
        }
    }
    parts
}

impl Part {
    /// How many keys are the same in all its rows, apart from the next one.
    fn equal_keys(&self) -> usize {
        match self {
            Part::Whole => 0,
            Part::Beyond(index) | Part::Null(index) | Part::NotNull(index) => *index,
        }
    }

    /// Writes the order of its rows, by the keys in which they differ.
    pub(crate) fn push_order(&self, sql: &mut Sql, keys: &[SortKey<'_>]) {
        let keys = &keys[self.equal_keys()..];
        match self {
            Part::Whole => push_order(sql, keys),
            Part::Beyond(_) | Part::NotNull(_) => push_order_from(sql, keys, true),
            Part::Null(_) => push_order(sql, keys.get(1..).unwrap_or_default()),
        }
    }

    /// Writes its condition.
    pub(crate) fn push_to(
        &self,
        sql: &mut Sql,
        keys: &[SortKey<'_>],
        values: &[Option<String>],
    ) -> Result<(), QueryError> {
        if *self == Part::Whole {
            return push_whole(sql, keys, values);
        }
        sql.push("(");
        for (key, value) in keys.iter().zip(values).take(self.equal_keys()) {
            sql.push(column_sql(key.column));
            match value {
                Some(value) => {
                    sql.push(" = ");
                    sql.value(key.column, value)?;
                }
                None => {
                    sql.push(" is null");
                }
            }
            sql.push(" and ");
        }
        let key = &keys[self.equal_keys()];
        sql.push(column_sql(key.column));
        match self {
            Part::Beyond(index) => {
                let value = values[*index].as_deref().unwrap_or_default();
                sql.push(if key.is_descending { " < " } else { " > " });
                sql.value(key.column, value)?;
            }
            Part::NotNull(_) => {
                sql.push(" is not null");
            }
            Part::Null(_) | Part::Whole => {
                sql.push(" is null");
            }
        }
        sql.push(")");
        Ok(())
    }
}

/// `(a, b) > (…, …)`, which an index answers at once.
fn push_whole(
    sql: &mut Sql,
    keys: &[SortKey<'_>],
    values: &[Option<String>],
) -> Result<(), QueryError> {
    let names: Vec<String> = keys.iter().map(|key| column_sql(key.column)).collect();
    let operator = match keys.first() {
        Some(key) if key.is_descending => "<",
        _ => ">",
    };
    sql.push(format_args!("({}) {operator} (", names.join(", ")));
    for (index, (key, value)) in keys.iter().zip(values).enumerate() {
        if index > 0 {
            sql.push(", ");
        }
        sql.value(key.column, value.as_deref().unwrap_or_default())?;
    }
    sql.push(")");
    Ok(())
}
