//! Creating and updating buckets.

use http::Method;
use serde_json::{Map, Value, json};

use super::request::{Call, RequestContext};
use super::{Storage, StorageError, path};
use crate::call_options::{CallOptions, with_call_options};

impl Storage {
    /// Creates a bucket. It is private unless made [public](BucketRequest::public).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new().route(
    /// #     "/storage/v1/bucket", axum::routing::post(|| async { r#"{"name":"avatars"}"# }),
    /// # )).build()?;
    /// let avatars = client.storage().create_bucket("avatars").public(true);
    /// avatars.file_size_limit("5MB").allowed_mime_types(["image/*"]).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_bucket(&self, id: &str) -> BucketRequest {
        let request = BucketRequest::new(self, Method::POST, id);
        request.public(false)
    }

    /// Updates a bucket; unset properties are kept.
    pub fn update_bucket(&self, id: &str) -> BucketRequest {
        BucketRequest::new(self, Method::PUT, id)
    }
}

/// Making or changing a bucket; see [`Storage::create_bucket`] and [`Storage::update_bucket`].
#[must_use = "nothing is sent before `send`"]
pub struct BucketRequest {
    context: RequestContext,
    method: Method,
    id: String,
    members: Map<String, Value>,
    options: CallOptions,
}

with_call_options!(BucketRequest);

/// Maximum file size: a number, or a text such as `5MB` (1 MB is 1,000,000).
#[derive(Clone, Debug, PartialEq)]
pub struct SizeLimit(Value);

impl From<u64> for SizeLimit {
    fn from(bytes: u64) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for SizeLimit {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl BucketRequest {
    fn new(storage: &Storage, method: Method, id: &str) -> Self {
        Self {
            context: storage.context.clone(),
            method,
            id: id.to_owned(),
            members: Map::new(),
            options: CallOptions::default(),
        }
    }

    /// Whether its files are publicly readable.
    pub fn public(self, is_public: bool) -> Self {
        self.with("public", is_public.into())
    }

    /// Maximum file size in bytes.
    pub fn file_size_limit(self, limit: impl Into<SizeLimit>) -> Self {
        self.with("file_size_limit", limit.into().0)
    }

    /// Removes the limit, except the project's.
    pub fn no_file_size_limit(self) -> Self {
        self.with("file_size_limit", Value::Null)
    }

    /// The types that files in it may have, such as `image/png` and `image/*`.
    pub fn allowed_mime_types<T: Into<String>>(self, types: impl IntoIterator<Item = T>) -> Self {
        let types: Vec<String> = types.into_iter().map(Into::into).collect();
        self.with("allowed_mime_types", types.into())
    }

    /// Allows any MIME type.
    pub fn any_mime_type(self) -> Self {
        self.with("allowed_mime_types", Value::Null)
    }

    /// Makes or changes it.
    pub async fn send(self) -> Result<(), StorageError> {
        let encoded = path::bucket(&self.id)?;
        let place = match self.method {
            Method::POST => "bucket".to_owned(),
            _ => format!("bucket/{encoded}"),
        };
        let mut body = self.members;
        body.insert("id".to_owned(), json!(self.id));
        body.insert("name".to_owned(), json!(self.id));
        let call = Call::new(self.method, place).json(&body)?;
        self.context.response(call, &self.options).await.map(drop)
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.members.insert(name.to_owned(), value);
        self
    }
}
