//! Properties of an uploaded file, for all kinds of uploads.

use serde::Serialize;

use super::StorageError;

/// Default cache time.
const USUAL_CACHE_SECONDS: u64 = 3600;

/// Properties of an uploaded file.
pub(super) struct FileOptions {
    pub(super) is_upsert: bool,
    pub(super) content_type: Option<String>,
    pub(super) cache_seconds: u64,
    /// As JSON.
    pub(super) metadata: Result<Option<String>, StorageError>,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            is_upsert: false,
            content_type: None,
            cache_seconds: USUAL_CACHE_SECONDS,
            metadata: Ok(None),
        }
    }
}

/// Adds the methods for file properties to a builder with the fields `about` and `path`.
macro_rules! with_file_options {
    ($($builder:ty),* $(,)?) => {$(
        impl $builder {
            /// The content type. By default it follows from the name of a local file; bytes and streams are
            /// `text/plain;charset=UTF-8`, in a resumable upload the type of their path's extension.
            pub fn content_type(mut self, kind: impl Into<String>) -> Self {
                self.about.content_type = Some(kind.into());
                self
            }

            /// Derives the content type from the extension of this path.
            pub fn guess_content_type(self) -> Self {
                let kind = crate::storage::upload_body::type_by_name(&self.path);
                self.content_type(kind)
            }

            /// Cache time in seconds (`max-age`); default 3600.
            pub fn cache_control(mut self, seconds: u64) -> Self {
                self.about.cache_seconds = seconds;
                self
            }

            /// Whether an existing file is replaced. Always for an update; for a signed upload the token
            /// decides.
            pub fn upsert(mut self, is_upsert: bool) -> Self {
                self.about.is_upsert = is_upsert;
                self
            }

            /// Custom metadata, an object.
            pub fn metadata(mut self, metadata: &impl serde::Serialize) -> Self {
                let text = crate::storage::file_options::json_text(metadata);
                self.about.metadata = text.map(Some);
                self
            }
        }
    )*};
}

pub(super) use with_file_options;

/// Serializes the caller's metadata.
pub(super) fn json_text(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value)
        .map_err(|_| StorageError::InvalidInput("the metadata cannot be written as JSON"))
}
