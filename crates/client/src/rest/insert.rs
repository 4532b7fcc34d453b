//! Inserting rows.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::query::Query;
use super::{Count, Response, RestError};
use crate::json::{Members, quote};

/// Rows to be inserted; see [`Table::insert`](super::Table::insert).
#[must_use = "nothing is added before `execute`"]
#[derive(Debug)]
pub struct Insert {
    query: Query,
    on_conflict: Option<String>,
    resolution: Option<&'static str>,
    defaults_missing: bool,
}

impl Insert {
    pub(super) fn insert_row(query: Query, row: &impl Serialize) -> Self {
        Self::new(query.json(row))
    }

    /// Names all columns, so that rows may have different ones.
    pub(super) fn insert_rows<T: Serialize>(
        mut query: Query,
        rows: impl IntoIterator<Item = T>,
    ) -> Self {
        let (mut texts, mut columns, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for row in rows {
            match serde_json::to_string(&row) {
                Ok(text) => texts.push(text),
                Err(error) => query.note(&format!("a row cannot be written as JSON: {error}")),
            }
        }
        for text in &texts {
            for (name, _) in Members::parse(text).unwrap_or_default().0 {
                if seen.insert(name.clone()) {
                    columns.push(quote(&name));
                }
            }
        }
        query.body = Some(format!("[{}]", texts.join(",")));
        if !columns.is_empty() {
            query = query.param("columns", columns.join(","));
        }
        Self::new(query)
    }

    fn new(query: Query) -> Self {
        Self {
            query,
            on_conflict: None,
            resolution: None,
            defaults_missing: false,
        }
    }

    pub(super) fn merging(mut self) -> Self {
        self.resolution = Some("resolution=merge-duplicates");
        self
    }

    /// The conflict columns of an upsert; default: the primary key.
    pub fn on_conflict(mut self, columns: &str) -> Self {
        self.on_conflict = Some(columns.to_owned());
        self
    }

    /// Ignores duplicates.
    pub fn ignore_duplicates(mut self) -> Self {
        self.resolution = Some("resolution=ignore-duplicates");
        self
    }

    /// With `false`, missing columns get their default instead of null.
    pub fn default_to_null(mut self, is_null: bool) -> Self {
        self.defaults_missing = !is_null;
        self
    }

    /// Counts the rows.
    pub fn count(mut self, how: Count) -> Self {
        self.query = self.query.count(how);
        self
    }

    /// Sets the timeout.
    pub fn timeout(mut self, limit: std::time::Duration) -> Self {
        self.query = self.query.timeout(limit);
        self
    }

    /// Sets a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.query = self.query.header(name, value);
        self
    }

    /// Returns the rows, with these columns.
    pub fn returning(self, columns: &str) -> Query {
        self.into_query().returning(columns)
    }

    /// Rolls the transaction back, where the server allows it.
    pub fn rollback(self) -> Query {
        self.into_query().rollback()
    }

    /// Inserts the rows.
    pub async fn execute(self) -> Result<Response<Value>, RestError> {
        self.into_query().execute().await
    }

    /// Inserts the rows and deserializes the result as this type; `()` without `returning`.
    pub async fn execute_as<T: DeserializeOwned>(self) -> Result<Response<T>, RestError> {
        self.into_query().execute_as().await
    }

    pub(super) fn into_query(self) -> Query {
        let mut query = self.query;
        if let Some(columns) = self.on_conflict {
            query = query.param("on_conflict", columns);
        }
        if let Some(resolution) = self.resolution {
            query = query.prefer(resolution);
        }
        if self.defaults_missing {
            query = query.prefer("missing=default");
        }
        query
    }
}
