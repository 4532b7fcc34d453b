//! One row of an answer: the bytes that arrived, and what they mean.

use std::{fmt, ops::Range, sync::Arc};

use bytes::{Buf as _, Bytes};
use postgres_types::{FromSql, Type, WrongType};

use crate::DbError;

/// Name and type of a value in every row of an answer.
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

    /// As the statement calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Types that users made are known by their number only.
    pub fn type_(&self) -> &Type {
        &self.type_
    }
}

/// A row; values are read by the column's name or place. Cheap to clone.
#[derive(Clone)]
pub struct Row {
    columns: Arc<[Column]>,
    /// A DataRow: the number of values, then each behind its length.
    values: Bytes,
}

/// What names a column.
pub trait ColumnIndex: fmt::Display {
    /// Its place.
    fn place(&self, columns: &[Column]) -> Option<usize>;
}

impl ColumnIndex for usize {
    fn place(&self, columns: &[Column]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }
}

impl ColumnIndex for str {
    fn place(&self, columns: &[Column]) -> Option<usize> {
        columns.iter().position(|column| *column.name == *self)
    }
}

impl<I: ColumnIndex + ?Sized> ColumnIndex for &I {
    fn place(&self, columns: &[Column]) -> Option<usize> {
        (**self).place(columns)
    }
}

impl Row {
    pub(crate) fn new(columns: Arc<[Column]>, values: Bytes) -> Self {
        Self { columns, values }
    }

    /// What there is in it.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// One value.
    ///
    /// # Panics
    ///
    /// Without such a column, or where its value is not of that type.
    #[track_caller]
    pub fn get<'a, I: ColumnIndex, T: FromSql<'a>>(&'a self, index: I) -> T {
        match self.try_get(index) {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }

    /// One value, if there is such a column and its value is of that type.
    pub fn try_get<'a, I: ColumnIndex, T: FromSql<'a>>(&'a self, index: I) -> Result<T, DbError> {
        let misread =
            |error: &dyn fmt::Display| DbError::Misuse(format!("column {index}: {error}"));
        let Some(place) = index.place(&self.columns) else {
            return Err(misread(&"there is none"));
        };
        let type_ = &self.columns[place].type_;
        if !T::accepts(type_) {
            return Err(misread(&WrongType::new::<T>(type_.clone())));
        }
        let Some(range) = self.range(place) else {
            return Err(misread(&"the row is too short"));
        };
        let value = range.map(|range| &self.values[range]);
        T::from_sql_nullable(type_, value).map_err(|error| misread(&error))
    }

    /// A value's bytes in the form in which they came, without a copy. `None` for NULL, and where
    /// there is no such column.
    pub fn raw(&self, index: impl ColumnIndex) -> Option<Bytes> {
        let range = self.range(index.place(&self.columns)?)??;
        Some(self.values.slice(range))
    }

    /// Where a value stands: inner `None` for NULL, outer if the row ends before it.
    fn range(&self, place: usize) -> Option<Option<Range<usize>>> {
        let mut rest = &self.values[..];
        rest.try_get_u16().ok()?;
        for column in 0.. {
            let length = usize::try_from(rest.try_get_i32().ok()?).ok();
            let start = self.values.len() - rest.len();
            let range = length.map(|length| start..start + length);
            rest = rest.get(length.unwrap_or(0)..)?;
            if column == place {
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
        assert!(row.try_get::<_, i32>(2).is_err(), "no such place");
    }

    #[test]
    fn null_is_no_value() {
        let row = row(b"\0\x02\xff\xff\xff\xff\0\0\0\0");
        assert_eq!(row.get::<_, Option<i32>>("id"), None);
        assert_eq!(row.raw("id"), None);
        assert_eq!(row.get::<_, &str>("note"), "");
        assert!(row.try_get::<_, i32>("id").is_err());
    }

    #[test]
    fn a_row_that_is_cut_is_an_error() {
        let whole = b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02hi";
        for length in 0..whole.len() {
            assert!(row(&whole[..length]).try_get::<_, &str>("note").is_err());
        }
    }
}
