//! What is said about a file when it is uploaded, be it in one request or in parts.

use serde::Serialize;

use super::StorageError;

/// For how long files may be kept unless somebody says otherwise.
const USUAL_CACHE_SECONDS: u64 = 3600;

/// What an upload says about its file.
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

/// Gives a builder with the fields `about` and `path` the methods that say what a file is.
macro_rules! with_file_options {
    ($($builder:ty),* $(,)?) => {$(
        impl $builder {
            /// What it is. Unless this says otherwise, the name of a file does; bytes and streams
            /// are `text/plain;charset=UTF-8`, in a resumable upload what their path says.
            pub fn content_type(mut self, kind: impl Into<String>) -> Self {
                self.about.content_type = Some(kind.into());
                self
            }

            /// Is of the type that files with the end of this path usually are.
            pub fn guess_content_type(self) -> Self {
                let kind = crate::storage::upload_body::type_by_name(&self.path);
                self.content_type(kind)
            }

            /// For how many seconds those who fetch it may keep it; 3600 unless this says
            /// otherwise.
            pub fn cache_control(mut self, seconds: u64) -> Self {
                self.about.cache_seconds = seconds;
                self
            }

            /// Whether a file that is there is replaced. An update always does; of a signed
            /// upload the token decides.
            pub fn upsert(mut self, is_upsert: bool) -> Self {
                self.about.is_upsert = is_upsert;
                self
            }

            /// What to keep about the file, an object.
            pub fn metadata(mut self, metadata: &impl serde::Serialize) -> Self {
                let text = crate::storage::file_options::json_text(metadata);
                self.about.metadata = text.map(Some);
                self
            }
        }
    )*};
}

pub(super) use with_file_options;

/// What a caller gives as metadata, as JSON.
pub(super) fn json_text(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value)
        .map_err(|_| StorageError::InvalidInput("the metadata cannot be written as JSON"))
}
