//! A result row: the received bytes and their columns.

use std::{fmt, ops::Range, sync::Arc};

use bytes::{Buf as _, Bytes};
use postgres_types::{FromSql, Type, WrongType};

use crate::DbError;

/// Name and type of a result column.
#[derive(Debug, Clone)]
pub struct Column {
    name: Box<str>,
    type_: Type,
}

impl Column {
    pub(crate) fn new(name: String, type_: Type) -> Self {
        let name = name.into_boxed_str();
        Self { name, type_ }
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// User-defined types are known by their OID only.
    pub fn type_(&self) -> &Type {
        &self.type_
    }
}

/// A row; values are read by column name or index. Cheap to clone.
#[derive(Clone)]
pub struct Row {
    columns: Arc<[Column]>,
    /// A DataRow: the number of values, then each value prefixed by its length.
    values: Bytes,
}

/// A column name or index.
pub trait ColumnIndex: fmt::Display {
    /// Its index.
    fn position(&self, columns: &[Column]) -> Option<usize>;
}

impl ColumnIndex for usize {
    fn position(&self, columns: &[Column]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }
}

impl ColumnIndex for str {
    fn position(&self, columns: &[Column]) -> Option<usize> {
        columns.iter().position(|column| *column.name == *self)
    }
}

impl<I: ColumnIndex + ?Sized> ColumnIndex for &I {
    fn position(&self, columns: &[Column]) -> Option<usize> {
        (**self).position(columns)
    }
}

impl Row {
    pub(crate) fn new(columns: Arc<[Column]>, values: Bytes) -> Self {
        Self { columns, values }
    }

    /// Its columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// One value.
    ///
    /// # Panics
    ///
    /// If there is no such column, or its value has another type.
    #[track_caller]
    pub fn get<'a, I: ColumnIndex, T: FromSql<'a>>(&'a self, index: I) -> T {
        match self.try_get(index) {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }

    /// One value; fails if there is no such column or its value has another type.
    pub fn try_get<'a, I: ColumnIndex, T: FromSql<'a>>(&'a self, index: I) -> Result<T, DbError> {
        let unexpected_response =
            |error: &dyn fmt::Display| DbError::Misuse(format!("column {index}: {error}"));
        let Some(index) = index.position(&self.columns) else {
            return Err(unexpected_response(&"there is none"));
        };
        let type_ = &self.columns[index].type_;
        if !T::accepts(type_) {
            return Err(unexpected_response(&WrongType::new::<T>(type_.clone())));
        }
        let Some(range) = self.range(index) else {
            return Err(unexpected_response(&"the row is too short"));
        };
        let value = range.map(|range| &self.values[range]);
        T::from_sql_nullable(type_, value).map_err(|error| unexpected_response(&error))
    }

    /// The raw bytes of a value, without a copy. `None` for NULL and for an unknown column.
    pub fn raw(&self, index: impl ColumnIndex) -> Option<Bytes> {
        let range = self.range(index.position(&self.columns)?)??;
        Some(self.values.slice(range))
    }

    /// The raw bytes of all values; `None` for NULL. Texts, if the statement was run for texts.
    pub fn texts(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut rest = self.values.get(2..).unwrap_or_default();
        std::iter::from_fn(move || {
            let length = usize::try_from(rest.try_get_i32().ok()?).ok();
            let Some(length) = length else {
                return Some(None);
            };
            let (value, tail) = rest.split_at_checked(length)?;
            rest = tail;
            Some(Some(value))
        })
    }

    /// Byte range of a value: inner `None` for NULL, outer if the row ends before it.
    fn range(&self, index: usize) -> Option<Option<Range<usize>>> {
        let mut rest = &self.values[..];
        rest.try_get_u16().ok()?;
        for column in 0.. {
            let length = usize::try_from(rest.try_get_i32().ok()?).ok();
            let start = self.values.len() - rest.len();
            let range = length.map(|length| start..start + length);
            rest = rest.get(length.unwrap_or(0)..)?;
            if column == index {
                return Some(range);
            }
        }
        None
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &'static [u8]) -> Row {
        let column = |name: &str, type_| Column::new(name.to_owned(), type_);
        let columns = [column("id", Type::INT4), column("note", Type::TEXT)];
        Row::new(columns.into(), Bytes::from_static(values))
    }

    #[test]
    fn values_are_read_by_name_and_place() {
        let row = row(b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02hi");
        assert_eq!(row.get::<_, i32>("id"), 7);
        assert_eq!(row.get::<_, &str>(1), "hi");
        assert_eq!(row.raw("note").as_deref(), Some(&b"hi"[..]));
        assert!(row.try_get::<_, i64>("id").is_err(), "of another type");
        assert!(row.try_get::<_, i32>("ID").is_err(), "no such column");
        assert!(row.try_get::<_, i32>(2).is_err(), "no such index");
    }

    #[test]
    fn null_is_no_value() {
        let row = row(b"\0\x02\xff\xff\xff\xff\0\0\0\0");
        assert_eq!(row.get::<_, Option<i32>>("id"), None);
        assert_eq!(row.raw("id"), None);
        assert_eq!(row.get::<_, &str>("note"), "");
        assert!(row.try_get::<_, i32>("id").is_err());
        assert_eq!(row.texts().collect::<Vec<_>>(), [None, Some(&b""[..])]);
    }

    #[test]
    fn a_row_that_is_cut_is_an_error() {
        let whole = b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02hi";
        for length in 0..whole.len() {
            assert!(row(&whole[..length]).try_get::<_, &str>("note").is_err());
        }
    }
}
