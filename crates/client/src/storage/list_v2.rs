//! `POST /object/list-v2/{bucket}`: all files with a prefix, paginated.

use futures_util::stream::try_unfold;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::request::{Call, RequestContext};
use super::{FileObject, Files, SortBy, StorageError, path};
use crate::call_options::{CallOptions, with_call_options};
use crate::runtime::BoxStream;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FilePage {
    /// Whether there are more.
    pub has_next: bool,
    /// Folders, where the list has [them](ListV2Request::with_delimiter).
    #[serde(default)]
    pub folders: Vec<FileObject>,
    /// Files.
    #[serde(default)]
    pub objects: Vec<FileObject>,
    /// The cursor of the next page.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// Listing files; see [`Files::list_v2`].
#[derive(Clone)]
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct ListV2Request {
    context: RequestContext,
    bucket: String,
    body: Map<String, Value>,
    column: Option<SortBy>,
    is_descending: bool,
    options: CallOptions,
}

with_call_options!(ListV2Request);

impl ListV2Request {
    pub(super) fn new(files: &Files) -> Self {
        Self {
            context: files.context.clone(),
            bucket: files.bucket.clone(),
            body: Map::new(),
            column: None,
            is_descending: false,
            options: CallOptions::default(),
        }
    }

    /// Files whose paths begin with this.
    pub fn prefix(self, text: &str) -> Self {
        self.with("prefix", text.into())
    }

    /// Page size; default and maximum 1000.
    pub fn limit(self, files: u64) -> Self {
        self.with("limit", files.into())
    }

    /// Continues after an [earlier page](FilePage::next_cursor).
    pub fn cursor(self, cursor: &str) -> Self {
        self.with("cursor", cursor.into())
    }

    /// Whether files in subfolders are collapsed into folders.
    pub fn with_delimiter(self, has_folders: bool) -> Self {
        self.with("with_delimiter", has_folders.into())
    }

    /// Sets the order.
    pub fn sort_by(mut self, column: SortBy) -> Self {
        self.column = Some(column);
        self
    }

    /// Descending.
    pub fn desc(mut self) -> Self {
        self.is_descending = true;
        self
    }

    /// Reads one page.
    pub async fn send(self) -> Result<FilePage, StorageError> {
        let place = format!("object/list-v2/{}", path::bucket(&self.bucket)?);
        let mut body = self.body;
        if self.column.is_some() || self.is_descending {
            let order = self.column.unwrap_or_default().order(self.is_descending);
            body.insert("sortBy".to_owned(), order);
        }
        let call = Call::new(http::Method::POST, place).json(&body)?;
        self.context.json(call, &self.options).await
    }

    /// A stream of pages, fetched on demand.
    pub fn stream(self) -> BoxStream<'static, Result<FilePage, StorageError>> {
        Box::pin(try_unfold(Some(self), async |request| {
            let Some(request) = request else {
                return Ok(None);
            };
            let page = request.clone().send().await?;
            let next = page.next_cursor.as_deref().filter(|_| page.has_next);
            let next = next.map(|cursor| request.cursor(cursor));
            Ok(Some((page, next)))
        }))
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.body.insert(name.to_owned(), value);
        self
    }
}
