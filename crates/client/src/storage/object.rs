//! Files as lists and descriptions show them.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A file or folder of a list, or a file that was removed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct FileObject {
    /// Its name: below the prefix in [`Files::list`](super::Files::list), else its whole path.
    /// Folders of [`Files::list_v2`](super::Files::list_v2) end in a slash.
    pub name: String,
    /// The last part of its path, in lists with folders of the second kind.
    #[serde(default)]
    pub key: Option<String>,
    /// Its id; folders have none.
    #[serde(default)]
    pub id: Option<String>,
    /// Its bucket, where it was removed.
    #[serde(default)]
    pub bucket_id: Option<String>,
    /// Who owns it, where it was removed.
    #[serde(default)]
    pub owner_id: Option<String>,
    /// The version of its bytes, where it was removed.
    #[serde(default)]
    pub version: Option<String>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it was changed.
    #[serde(default)]
    pub updated_at: Option<String>,
    /// When it was last used, as far as the server keeps track.
    #[serde(default)]
    pub last_accessed_at: Option<String>,
    /// What the server knows about its bytes: `size`, `mimetype`, `eTag`, …
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
    /// What the uploader said about it, where it was removed.
    #[serde(default)]
    pub user_metadata: Option<Value>,
}

impl FileObject {
    /// Whether it is a folder: a place where files are, and nothing by itself.
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

    /// What changes whenever its bytes do, with its quotes.
    pub fn etag(&self) -> Option<&str> {
        self.metadata.as_ref()?.get("eTag")?.as_str()
    }
}

/// A file's description; see [`Files::info`](super::Files::info).
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
    /// How long it may be kept by those who fetched it.
    #[serde(default)]
    pub cache_control: Option<String>,
    /// What changes whenever its bytes do, with its quotes.
    #[serde(default)]
    pub etag: Option<String>,
    /// What the uploader said about it.
    #[serde(default)]
    pub metadata: Option<Value>,
    /// When it was changed.
    #[serde(default)]
    pub last_modified: Option<String>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<String>,
}
