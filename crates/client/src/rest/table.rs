//! Tables and views.

use http::Method;
use serde::Serialize;

use super::query::Query;
use super::{Insert, RequestContext};

/// A table or view; see [`Client::from`](crate::Client::from).
#[derive(Clone)]
#[must_use = "a table does nothing by itself"]
pub struct Table {
    context: RequestContext,
    name: String,
}

impl Table {
    pub(super) fn new(context: RequestContext, name: &str) -> Self {
        Self {
            context,
            name: name.to_owned(),
        }
    }

    /// In another schema.
    pub fn schema(mut self, name: &str) -> Self {
        self.context.schema = Some(name.to_owned());
        self
    }

    /// Reads rows: `"*"`, `"id,title"`, or with related rows `"id,author(name)"`.
    pub fn select(self, columns: &str) -> Query {
        self.query(Method::GET).select(columns)
    }

    /// Inserts a row.
    pub fn insert(self, row: &impl Serialize) -> Insert {
        Insert::insert_row(self.query(Method::POST), row)
    }

    /// Inserts rows.
    pub fn insert_many<T: Serialize>(self, rows: impl IntoIterator<Item = T>) -> Insert {
        Insert::insert_rows(self.query(Method::POST), rows)
    }

    /// Inserts a row, or updates the one with the same key.
    pub fn upsert(self, row: &impl Serialize) -> Insert {
        Insert::insert_row(self.query(Method::POST), row).merging()
    }

    /// Inserts rows, or updates those with the same keys.
    pub fn upsert_many<T: Serialize>(self, rows: impl IntoIterator<Item = T>) -> Insert {
        Insert::insert_rows(self.query(Method::POST), rows).merging()
    }

    /// Updates the rows that match the filters. Without a filter, all rows.
    pub fn update(self, changes: &impl Serialize) -> Query {
        self.query(Method::PATCH).json(changes)
    }

    /// Deletes the rows that match the filters. Without a filter, all rows.
    pub fn delete(self) -> Query {
        self.query(Method::DELETE)
    }

    fn query(self, method: Method) -> Query {
        Query::new(self.context, method, &self.name)
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Table")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
