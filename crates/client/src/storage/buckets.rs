//! Reading buckets.

use serde::Deserialize;
use serde_json::Value;

use super::request::{Call, RequestContext, StorageRequest, read_json};
use super::{Storage, StorageError, path};
use crate::call_options::{CallOptions, with_call_options};

/// A bucket.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Bucket {
    /// Its id, which is also its name.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its owner; empty if it was not created by a user.
    #[serde(default)]
    pub owner: Option<String>,
    /// Whether its files are publicly readable.
    #[serde(default)]
    pub public: bool,
    /// Maximum file size in bytes.
    #[serde(default)]
    pub file_size_limit: Option<u64>,
    /// Allowed MIME types; all, if there is no list.
    #[serde(default)]
    pub allowed_mime_types: Option<Vec<String>>,
    /// `STANDARD`; lists of buckets say it.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// When it was created.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it was updated.
    #[serde(default)]
    pub updated_at: Option<String>,
}

/// Sort key of buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BucketSortBy {
    /// Their ids.
    Id,
    /// Their names.
    Name,
    /// When they were made.
    CreatedAt,
    /// When they were changed.
    UpdatedAt,
}

impl Storage {
    /// The buckets that the caller may see.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new().fallback(
    /// #     || async { r#"[{"id":"avatars","name":"avatars","public":true}]"# })).build()?;
    /// let buckets = client.storage().buckets().search("ava").limit(10).send().await?;
    /// assert!(buckets[0].public);
    /// # Ok(())
    /// # }
    /// ```
    pub fn buckets(&self) -> ListBucketsRequest {
        ListBucketsRequest {
            context: self.context.clone(),
            limit: None,
            offset: None,
            search: None,
            column: None,
            order: None,
            options: CallOptions::default(),
        }
    }

    /// One bucket.
    pub fn bucket_info(&self, id: &str) -> StorageRequest<Bucket> {
        let call = path::bucket(id).map(|id| Call::get(format!("bucket/{id}")));
        StorageRequest::new(&self.context, call, |response| read_json(&response?))
    }

    /// Removes all files of a bucket. Requires the secret key; may take a while.
    pub fn empty_bucket(&self, id: &str) -> StorageRequest<()> {
        let call = path::bucket(id).and_then(|id| {
            let call = Call::new(http::Method::POST, format!("bucket/{id}/empty"));
            call.json(&Value::Object(Default::default()))
        });
        StorageRequest::new(&self.context, call, |response| response.map(drop))
    }

    /// Removes a bucket, which must be empty.
    pub fn delete_bucket(&self, id: &str) -> StorageRequest<()> {
        let call = path::bucket(id).and_then(|id| {
            let call = Call::new(http::Method::DELETE, format!("bucket/{id}"));
            call.json(&Value::Object(Default::default()))
        });
        StorageRequest::new(&self.context, call, |response| response.map(drop))
    }
}

/// Reading buckets; see [`Storage::buckets`].
#[must_use = "nothing is sent before `send`"]
pub struct ListBucketsRequest {
    context: RequestContext,
    limit: Option<u64>,
    offset: Option<u64>,
    search: Option<String>,
    column: Option<BucketSortBy>,
    order: Option<&'static str>,
    options: CallOptions,
}

with_call_options!(ListBucketsRequest);

impl ListBucketsRequest {
    /// Limits the number.
    pub fn limit(mut self, buckets: u64) -> Self {
        self.limit = Some(buckets);
        self
    }

    /// Skips the first ones.
    pub fn offset(mut self, buckets: u64) -> Self {
        self.offset = Some(buckets);
        self
    }

    /// Buckets with this text in their name, ignoring case.
    pub fn search(mut self, text: impl Into<String>) -> Self {
        self.search = Some(text.into());
        self
    }

    /// Sets the order.
    pub fn sort_by(mut self, column: BucketSortBy) -> Self {
        self.column = Some(column);
        self
    }

    /// Descending.
    pub fn desc(mut self) -> Self {
        self.order = Some("desc");
        self
    }

    /// Reads them.
    pub async fn send(self) -> Result<Vec<Bucket>, StorageError> {
        let column = self.column.map(|column| match column {
            BucketSortBy::Id => "id",
            BucketSortBy::Name => "name",
            BucketSortBy::CreatedAt => "created_at",
            BucketSortBy::UpdatedAt => "updated_at",
        });
        let call = Call::get("bucket")
            .query("limit", self.limit)
            .query("offset", self.offset)
            .query("search", self.search)
            .query("sortColumn", column)
            .query("sortOrder", self.order);
        self.context.json(call, &self.options).await
    }
}
