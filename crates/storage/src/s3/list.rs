//! Lists objects, in both versions of the API.

use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use plinth_db::Row;
use serde_json::Value;
use time::OffsetDateTime;

use super::{S3Request, encode::Encoding, xml::Xml};
use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::{ObjectDetails, read_time},
    request::check_bucket,
    wire_time,
};

/// Most entries of one page.
const MAX_KEYS: i64 = 1000;
/// The version of an object in a bucket without versioning.
const ONLY_VERSION: &str = "null";

/// `GET /{bucket}?list-type=2`
pub(super) async fn list_v2(request: &S3Request) -> Result<Response, StorageError> {
    let query = &request.query;
    let token = query.non_empty("continuation-token");
    let start_after = query.non_empty("start-after");
    let after = match token {
        Some(token) => decode_token(token)?,
        None => start_after.unwrap_or_default().to_owned(),
    };
    let page = Page::read(request, &after).await?;
    let xml = Xml::document("ListBucketResult", |xml| {
        page.write_head(xml, request);
        xml.optional_text("ContinuationToken", token);
        xml.optional_text(
            "StartAfter",
            start_after.map(|key| page.encoding.encode(key)),
        );
        xml.text("KeyCount", page.entries.len());
        if page.is_truncated {
            let last = page.last().map(|last| URL_SAFE_NO_PAD.encode(last));
            xml.optional_text("NextContinuationToken", last);
        }
        page.write_entries(xml);
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// `GET /{bucket}`
pub(super) async fn list_v1(request: &S3Request) -> Result<Response, StorageError> {
    let marker = request.query.non_empty("marker").unwrap_or_default();
    let page = Page::read(request, marker).await?;
    let xml = Xml::document("ListBucketResult", |xml| {
        page.write_head(xml, request);
        xml.text("Marker", page.encoding.encode(marker));
        if page.is_truncated && !page.delimiter.is_empty() {
            let last = page.last().map(|last| page.encoding.encode(&last));
            xml.optional_text("NextMarker", last);
        }
        page.write_entries(xml);
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// `GET /{bucket}?versions`: nothing is versioned, so every object has one version, `null`.
pub(super) async fn list_versions(request: &S3Request) -> Result<Response, StorageError> {
    let marker = request.query.non_empty("key-marker").unwrap_or_default();
    let page = Page::read(request, marker).await?;
    let xml = Xml::document("ListVersionsResult", |xml| {
        page.write_head(xml, request);
        xml.text("KeyMarker", page.encoding.encode(marker));
        let version = request.query.get("version-id-marker").unwrap_or_default();
        xml.text("VersionIdMarker", version);
        if page.is_truncated {
            let last = page.last().map(|last| page.encoding.encode(&last));
            xml.optional_text("NextKeyMarker", last);
            xml.text("NextVersionIdMarker", ONLY_VERSION);
        }
        page.write_versions(xml);
    });
    Ok(xml.into_response(StatusCode::OK))
}

fn decode_token(token: &str) -> Result<String, StorageError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| StorageError::invalid_parameter("continuation-token"))
}

struct Page {
    delimiter: String,
    encoding: Encoding,
    max_keys: i64,
    is_truncated: bool,
    entries: Vec<Entry>,
}

struct Entry {
    /// Of a folder with the delimiter.
    name: String,
    is_folder: bool,
    metadata: Option<Value>,
    updated_at: Option<OffsetDateTime>,
}

impl Entry {
    fn from_row(row: &Row, delimiter: &str) -> Self {
        let name: String = row.get("name");
        let is_folder = row.get::<_, Option<uuid::Uuid>>("id").is_none();
        Self {
            name: if is_folder {
                format!("{name}{delimiter}")
            } else {
                name
            },
            is_folder,
            metadata: row.get("metadata"),
            updated_at: read_time(row, "updated_at"),
        }
    }

    fn write(&self, xml: &mut Xml, encoding: Encoding) {
        xml.element("Contents", |xml| {
            xml.text("Key", encoding.encode(&self.name));
            self.write_details(xml);
        });
    }

    fn write_version(&self, xml: &mut Xml, encoding: Encoding) {
        xml.element("Version", |xml| {
            xml.text("Key", encoding.encode(&self.name));
            xml.text("VersionId", ONLY_VERSION);
            xml.text("IsLatest", true);
            self.write_details(xml);
        });
    }

    fn write_details(&self, xml: &mut Xml) {
        let details = ObjectDetails::new(self.metadata.as_ref(), self.updated_at);
        xml.optional_text("LastModified", self.updated_at.map(wire_time::render));
        xml.optional_text("ETag", details.etag());
        xml.text("Size", details.size().unwrap_or_default());
        xml.text("StorageClass", "STANDARD");
    }
}

impl Page {
    /// The entries after a name that the caller's policies let through.
    async fn read(request: &S3Request, after: &str) -> Result<Self, StorageError> {
        let bucket = &request.target.bucket;
        let query = &request.query;
        check_bucket(bucket)?;
        let encoding = Encoding::parse(query)?;
        let max_keys = query.number("max-keys", 0, i64::from(i32::MAX))?;
        let max_keys = max_keys.unwrap_or(MAX_KEYS).min(MAX_KEYS);
        BucketRules::load(&request.context, bucket).await?;
        let prefix = query.get("prefix").unwrap_or_default();
        let delimiter = query.get("delimiter").unwrap_or_default().to_owned();
        if prefix.contains('\0') || delimiter.contains('\0') || after.contains('\0') {
            return Err(StorageError::invalid_parameter("prefix"));
        }
        // One more than asked for, to know whether there is a next page.
        let limit = i32::try_from(max_keys + 1).unwrap_or(i32::MAX);
        const SQL: &str = "
            select name, id, metadata, updated_at
            from storage.list_objects_with_delimiter($1, $2, $3, $4, '', $5)
        ";
        let mut entries: Vec<_> = match max_keys {
            0 => Vec::new(),
            _ => {
                let work = request.context.as_caller()?.read_only();
                let rows = work
                    .query(SQL, &[bucket, &prefix, &delimiter, &limit, &after])
                    .await?;
                let entry = |row: &Row| Entry::from_row(row, &delimiter);
                rows.iter().map(entry).collect()
            }
        };
        let is_truncated = entries.len() as i64 > max_keys;
        entries.truncate(usize::try_from(max_keys).unwrap_or_default());
        Ok(Self {
            delimiter,
            encoding,
            max_keys,
            is_truncated,
            entries,
        })
    }

    fn last(&self) -> Option<String> {
        self.entries.last().map(|entry| entry.name.clone())
    }

    fn write_head(&self, xml: &mut Xml, request: &S3Request) {
        let prefix = request.query.get("prefix").unwrap_or_default();
        xml.text("Name", &request.target.bucket);
        xml.text("Prefix", self.encoding.encode(prefix));
        if !self.delimiter.is_empty() {
            xml.text("Delimiter", self.encoding.encode(&self.delimiter));
        }
        xml.text("MaxKeys", self.max_keys);
        xml.optional_text("EncodingType", self.encoding.name());
        xml.text("IsTruncated", self.is_truncated);
    }

    fn write_entries(&self, xml: &mut Xml) {
        self.write_each(xml, Entry::write);
    }

    fn write_versions(&self, xml: &mut Xml) {
        self.write_each(xml, Entry::write_version);
    }

    /// Objects as that function writes them, then folders.
    fn write_each(&self, xml: &mut Xml, write: fn(&Entry, &mut Xml, Encoding)) {
        let (folders, objects): (Vec<_>, Vec<_>) =
            self.entries.iter().partition(|entry| entry.is_folder);
        for object in objects {
            write(object, xml, self.encoding);
        }
        for folder in folders {
            let name = self.encoding.encode(&folder.name);
            xml.element("CommonPrefixes", |xml| xml.text("Prefix", name));
        }
    }
}
