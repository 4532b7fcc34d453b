//! The limits of a bucket. They are read as `service_role`: permissions are checked per object.

use plinth_db::Row;

use crate::{error::StorageError, request::RequestContext};

/// The limits of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct BucketRules {
    /// Whether anyone may read its objects.
    pub(crate) is_public: bool,
    /// Its own limit, in addition to that of the service.
    pub(crate) file_size_limit: Option<u64>,
    /// MIME types that it accepts; empty means all.
    pub(crate) allowed_mime_types: Vec<String>,
}

impl BucketRules {
    /// The columns that [`BucketRules::from_row`] reads, of `buckets b`.
    pub(crate) const COLUMNS: &str =
        "coalesce(b.public, false) as is_public, b.file_size_limit, b.allowed_mime_types";

    /// Finds a bucket, whatever the policies.
    pub(crate) async fn find(
        context: &RequestContext,
        bucket: &str,
    ) -> Result<Option<Self>, StorageError> {
        let sql = format!(
            "select {} from storage.buckets b where b.id = $1",
            Self::COLUMNS
        );
        let rows = context
            .as_service_role()
            .read_only()
            .query(&sql, &[&bucket])
            .await?;
        Ok(rows.first().map(Self::from_row))
    }

    /// The same; an error if there is none.
    pub(crate) async fn load(context: &RequestContext, bucket: &str) -> Result<Self, StorageError> {
        let found = Self::find(context, bucket).await?;
        found.ok_or_else(StorageError::no_such_bucket)
    }

    pub(crate) fn from_row(row: &Row) -> Self {
        let limit: Option<i64> = row.get("file_size_limit");
        let types: Option<Vec<String>> = row.get("allowed_mime_types");
        Self {
            is_public: row.get("is_public"),
            file_size_limit: limit.map(|limit| u64::try_from(limit).unwrap_or_default()),
            allowed_mime_types: types.unwrap_or_default(),
        }
    }

    /// The largest file, where the service allows `service_limit`.
    pub(crate) fn max_file_size(&self, service_limit: u64) -> u64 {
        let own = self.file_size_limit.unwrap_or(service_limit);
        own.min(service_limit)
    }
}
