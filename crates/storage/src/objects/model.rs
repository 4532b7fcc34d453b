//! A row of `storage.objects`, and the details in its metadata.

use plinth_db::Row;
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    blobs::{Version, WrittenBlob},
    wire_time,
};

/// An object.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) bucket_id: String,
    owner: String,
    owner_id: String,
    pub(crate) version: Option<String>,
    pub(crate) id: Uuid,
    #[serde(serialize_with = "wire_time::option")]
    pub(crate) updated_at: Option<OffsetDateTime>,
    #[serde(serialize_with = "wire_time::option")]
    pub(crate) created_at: Option<OffsetDateTime>,
    #[serde(serialize_with = "wire_time::option")]
    last_accessed_at: Option<OffsetDateTime>,
    pub(crate) metadata: Option<Value>,
    pub(crate) user_metadata: Option<Value>,
}

impl Object {
    /// The columns that [`Object::from_row`] reads, of `objects o`.
    pub(crate) const COLUMNS: &str = "
        o.name, o.bucket_id, o.owner, o.owner_id, o.version, o.id, o.updated_at, o.created_at,
        o.last_accessed_at, o.metadata, o.user_metadata
    ";

    pub(crate) fn from_row(row: &Row) -> Self {
        let owner: Option<Uuid> = row.get("owner");
        let text = |column: &str| row.get::<_, Option<String>>(column).unwrap_or_default();
        Self {
            name: text("name"),
            bucket_id: text("bucket_id"),
            owner: owner.map(|owner| owner.to_string()).unwrap_or_default(),
            owner_id: text("owner_id"),
            version: row.get("version"),
            id: row.get("id"),
            updated_at: read_time(row, "updated_at"),
            created_at: read_time(row, "created_at"),
            last_accessed_at: read_time(row, "last_accessed_at"),
            metadata: row.get("metadata"),
            user_metadata: row.get("user_metadata"),
        }
    }

    /// Its blob, if the row names one.
    pub(crate) fn blob(&self) -> Option<Version> {
        Version::parse(self.version.as_deref()?)
    }

    /// The details in its metadata.
    pub(crate) fn details(&self) -> ObjectDetails<'_> {
        ObjectDetails {
            metadata: self.metadata.as_ref(),
            updated_at: self.updated_at,
        }
    }
}

/// The details in the metadata of an object. Rows may come from users' SQL: anything may be
/// missing, and numbers may be strings.
#[derive(Clone, Copy)]
pub(crate) struct ObjectDetails<'a> {
    metadata: Option<&'a Value>,
    updated_at: Option<OffsetDateTime>,
}

impl<'a> ObjectDetails<'a> {
    /// For a row that was not read as a whole.
    pub(crate) fn new(metadata: Option<&'a Value>, updated_at: Option<OffsetDateTime>) -> Self {
        Self {
            metadata,
            updated_at,
        }
    }

    pub(crate) fn size(&self) -> Option<u64> {
        let number = |name| match self.value(name)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        number("size").or_else(|| number("contentLength"))
    }

    /// With its quotes.
    pub(crate) fn etag(&self) -> Option<&'a str> {
        self.text("eTag")
    }

    pub(crate) fn content_type(&self) -> Option<&'a str> {
        self.text("mimetype")
    }

    pub(crate) fn cache_control(&self) -> Option<&'a str> {
        self.text("cacheControl")
    }

    pub(crate) fn robots_tag(&self) -> Option<&'a str> {
        self.text("xRobotsTag")
    }

    /// When its bytes were uploaded, in whole seconds as in HTTP dates.
    pub(crate) fn last_modified(&self) -> Option<OffsetDateTime> {
        let stored = self.text("lastModified");
        let stored = stored.and_then(plinth_db::parse_time);
        let time = stored.or(self.updated_at)?;
        time.replace_nanosecond(0).ok()
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name)?.as_str()
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.metadata?.get(name)
    }
}

/// A time; `None` for `infinity`, which a user's SQL may have written.
pub(crate) fn read_time(row: &Row, column: &str) -> Option<OffsetDateTime> {
    row.try_get(column).ok().flatten()
}

/// Without names that contain NUL: PostgreSQL rejects them even in a comparison.
pub(crate) fn without_nul(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| !name.contains('\0'));
    names
}

/// The metadata of a blob that was just written.
pub(crate) fn new_metadata(
    written: &WrittenBlob,
    content_type: &str,
    cache_control: &str,
    robots_tag: Option<&str>,
    now: OffsetDateTime,
) -> Value {
    let mut metadata = json!({
        "eTag": format!("\"{}\"", written.md5),
        "size": written.size,
        "mimetype": content_type,
        "cacheControl": cache_control,
        "lastModified": wire_time::render(now),
        "contentLength": written.size,
        "httpStatusCode": 200,
    });
    if let Some(tag) = robots_tag {
        metadata["xRobotsTag"] = json!(tag);
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_rows_written_by_users_is_read_leniently() {
        let size = |metadata: &Value| {
            ObjectDetails {
                metadata: Some(metadata),
                updated_at: None,
            }
            .size()
        };
        assert_eq!(size(&json!({ "size": 7 })), Some(7));
        assert_eq!(size(&json!({ "size": "7" })), Some(7));
        assert_eq!(size(&json!({ "contentLength": 7 })), Some(7));
        assert_eq!(size(&json!({ "size": [] })), None);
        assert_eq!(size(&json!("nonsense")), None);
    }
}
