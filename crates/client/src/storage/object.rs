//! Metadata of files.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A file or folder in a list, or a deleted file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct FileObject {
    /// Its name: relative to the prefix in [`Files::list`](super::Files::list), else its whole path. Folders of
    /// [`Files::list_v2`](super::Files::list_v2) end in a slash.
    pub name: String,
    /// The last part of its path, in lists with folders of the second kind.
    #[serde(default)]
    pub key: Option<String>,
    /// Its id; folders have none.
    #[serde(default)]
    pub id: Option<String>,
    /// Its bucket, if it was deleted.
    #[serde(default)]
    pub bucket_id: Option<String>,
    /// Its owner, if it was deleted.
    #[serde(default)]
    pub owner_id: Option<String>,
    /// Its version, if it was deleted.
    #[serde(default)]
    pub version: Option<String>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it was changed.
    #[serde(default)]
    pub updated_at: Option<String>,
    /// When it was last accessed, as far as the server tracks it.
    #[serde(default)]
    pub last_accessed_at: Option<String>,
    /// Server-side metadata: `size`, `mimetype`, `eTag`, …
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
    /// Custom metadata, if it was deleted.
    #[serde(default)]
    pub user_metadata: Option<Value>,
}

impl FileObject {
    /// Whether it is a folder, which exists only through its files.
    pub fn is_folder(&self) -> bool {
        self.id.is_none()
    }

    /// How many bytes it has.
    pub fn size(&self) -> Option<u64> {
        self.metadata.as_ref()?.get("size")?.as_u64()
    }

    /// Its type.
    pub fn content_type(&self) -> Option<&str> {
        self.metadata.as_ref()?.get("mimetype")?.as_str()
    }

    /// Its ETag, with quotes.
    pub fn etag(&self) -> Option<&str> {
        self.metadata.as_ref()?.get("eTag")?.as_str()
    }
}

/// Metadata of a file; see [`Files::info`](super::Files::info).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct FileInfo {
    /// Its id.
    pub id: String,
    /// Its path.
    pub name: String,
    /// Its bucket.
    #[serde(default)]
    pub bucket_id: Option<String>,
    /// The version of its bytes.
    #[serde(default)]
    pub version: Option<String>,
    /// How many bytes it has.
    #[serde(default)]
    pub size: Option<u64>,
    /// Its type.
    #[serde(default)]
    pub content_type: Option<String>,
    /// Its cache control.
    #[serde(default)]
    pub cache_control: Option<String>,
    /// Its ETag, with quotes.
    #[serde(default)]
    pub etag: Option<String>,
    /// Custom metadata.
    #[serde(default)]
    pub metadata: Option<Value>,
    /// When it was changed.
    #[serde(default)]
    pub last_modified: Option<String>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<String>,
}
