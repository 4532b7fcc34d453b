//! `POST /object/list/{bucket}`: the contents of a folder.

use serde_json::{Map, Value, json};

use super::request::{Call, RequestContext};
use super::{FileObject, Files, StorageError, path};
use crate::call_options::{CallOptions, with_call_options};

/// Sort key of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBy {
    /// Their names.
    #[default]
    Name,
    /// When they were made.
    CreatedAt,
    /// When they were changed.
    UpdatedAt,
    /// When they were last used. [`Files::list_v2`] does not sort by it.
    LastAccessedAt,
}

impl SortBy {
    pub(super) fn order(self, is_descending: bool) -> Value {
        let column = match self {
            Self::Name => "name",
            Self::CreatedAt => "created_at",
            Self::UpdatedAt => "updated_at",
            Self::LastAccessedAt => "last_accessed_at",
        };
        let order = if is_descending { "desc" } else { "asc" };
        json!({ "column": column, "order": order })
    }
}

/// Listing a folder; see [`Files::list`].
#[must_use = "nothing is sent before `send`"]
pub struct ListRequest {
    context: RequestContext,
    bucket: String,
    body: Map<String, Value>,
    column: SortBy,
    is_descending: bool,
    options: CallOptions,
}

with_call_options!(ListRequest);

impl ListRequest {
    pub(super) fn new(files: &Files, folder: &str) -> Self {
        let mut body = Map::new();
        body.insert("prefix".to_owned(), folder.into());
        body.insert("limit".to_owned(), 100.into());
        body.insert("offset".to_owned(), 0.into());
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            body,
            column: SortBy::default(),
            is_descending: false,
            options: CallOptions::default(),
        }
    }

    /// Limits the number; default 100.
    pub fn limit(self, files: u64) -> Self {
        self.with("limit", files.into())
    }

    /// Skips the first ones.
    pub fn offset(self, files: u64) -> Self {
        self.with("offset", files.into())
    }

    /// Files whose names begin with this, ignoring case.
    pub fn search(self, text: &str) -> Self {
        self.with("search", text.into())
    }

    /// Sets the order.
    pub fn sort_by(mut self, column: SortBy) -> Self {
        self.column = column;
        self
    }

    /// Descending.
    pub fn desc(mut self) -> Self {
        self.is_descending = true;
        self
    }

    /// Reads the list.
    pub async fn send(self) -> Result<Vec<FileObject>, StorageError> {
        let place = format!("object/list/{}", path::bucket(&self.bucket)?);
        let order = self.column.order(self.is_descending);
        let request = self.with("sortBy", order);
        let call = Call::new(http::Method::POST, place).json(&request.body)?;
        request.context.json(call, &request.options).await
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.body.insert(name.to_owned(), value);
        self
    }
}
