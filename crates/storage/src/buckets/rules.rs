//! What a bucket lets in. No caller's right is asked here: rights are a matter of objects.

use plinth_db::Row;

use crate::{error::StorageError, request::Context};

/// What a bucket says about its objects.
#[derive(Debug, Clone)]
pub(crate) struct BucketRules {
    /// Whether anybody may read them.
    pub(crate) is_public: bool,
    /// Its own limit; the service has one, too.
    pub(crate) file_size_limit: Option<u64>,
    /// Types that it takes; empty means all.
    pub(crate) allowed_mime_types: Vec<String>,
}

impl BucketRules {
    /// The columns that [`BucketRules::of_row`] reads, of `buckets b`.
    pub(crate) const COLUMNS: &str =
        "coalesce(b.public, false) as is_public, b.file_size_limit, b.allowed_mime_types";

    /// Looks at a bucket in the service's own name.
    pub(crate) async fn find(
        context: &Context,
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
        Ok(rows.first().map(Self::of_row))
    }

    /// The same for a bucket that must be there.
    pub(crate) async fn get(context: &Context, bucket: &str) -> Result<Self, StorageError> {
        let found = Self::find(context, bucket).await?;
        found.ok_or_else(StorageError::no_such_bucket)
    }

    pub(crate) fn of_row(row: &Row) -> Self {
        let limit: Option<i64> = row.get("file_size_limit");
        let types: Option<Vec<String>> = row.get("allowed_mime_types");
        Self {
            is_public: row.get("is_public"),
            file_size_limit: limit.map(|limit| u64::try_from(limit).unwrap_or_default()),
            allowed_mime_types: types.unwrap_or_default(),
        }
    }

    /// The largest file, where the service allows `most`.
    pub(crate) fn limit(&self, most: u64) -> u64 {
        self.file_size_limit.map_or(most, |own| own.min(most))
    }
}
