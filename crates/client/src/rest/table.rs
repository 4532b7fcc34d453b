//! Where a query begins.

use http::Method;
use serde::Serialize;

use super::query::Query;
use super::{Context, Insert};

/// A table or view; see [`Client::from`](crate::Client::from).
#[derive(Clone)]
#[must_use = "a table does nothing by itself"]
pub struct Table {
    context: Context,
    name: String,
}

impl Table {
    pub(super) fn new(context: Context, name: &str) -> Self {
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

    /// Adds a row.
    pub fn insert(self, row: &impl Serialize) -> Insert {
        Insert::one(self.query(Method::POST), row)
    }

    /// Adds rows.
    pub fn insert_many<T: Serialize>(self, rows: impl IntoIterator<Item = T>) -> Insert {
        Insert::many(self.query(Method::POST), rows)
    }

    /// Adds a row, or changes the one that has its key.
    pub fn upsert(self, row: &impl Serialize) -> Insert {
        Insert::one(self.query(Method::POST), row).merging()
    }

    /// Adds rows, or changes those that have their keys.
    pub fn upsert_many<T: Serialize>(self, rows: impl IntoIterator<Item = T>) -> Insert {
        Insert::many(self.query(Method::POST), rows).merging()
    }

    /// Changes the rows that the filters leave. Without a filter, that is all of them.
    pub fn update(self, changes: &impl Serialize) -> Query {
        self.query(Method::PATCH).json(changes)
    }

    /// Removes the rows that the filters leave. Without a filter, that is all of them.
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
