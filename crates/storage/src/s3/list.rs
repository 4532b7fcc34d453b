//! Listing objects, in both forms.

use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use plinth_db::Row;
use serde_json::Value;
use time::OffsetDateTime;

use super::{Request, encode::Encoding, xml::Xml};
use crate::{
    buckets::BucketRules,
    error::StorageError,
    objects::{Facts, time_of},
    request::check_bucket,
    wire_time,
};

/// Most entries of one page.
const MOST: i64 = 1000;

/// `GET /{bucket}?list-type=2`
pub(super) async fn list_v2(request: &Request) -> Result<Response, StorageError> {
    let query = &request.query;
    let token = query.filled("continuation-token");
    let start_after = query.filled("start-after");
    let after = match token {
        Some(token) => decode_token(token)?,
        None => start_after.unwrap_or_default().to_owned(),
    };
    let page = Page::read(request, &after).await?;
    let xml = Xml::document("ListBucketResult", |xml| {
        page.write_head(xml, request);
        xml.maybe("ContinuationToken", token);
        xml.maybe(
            "StartAfter",
            start_after.map(|key| page.encoding.encode(key)),
        );
        xml.text("KeyCount", page.entries.len());
        if page.is_truncated {
            let last = page.last().map(|last| URL_SAFE_NO_PAD.encode(last));
            xml.maybe("NextContinuationToken", last);
        }
        page.write_entries(xml);
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// `GET /{bucket}`
pub(super) async fn list_v1(request: &Request) -> Result<Response, StorageError> {
    let marker = request.query.filled("marker").unwrap_or_default();
    let page = Page::read(request, marker).await?;
    let xml = Xml::document("ListBucketResult", |xml| {
        page.write_head(xml, request);
        xml.text("Marker", page.encoding.encode(marker));
        if page.is_truncated && !page.delimiter.is_empty() {
            let last = page.last().map(|last| page.encoding.encode(&last));
            xml.maybe("NextMarker", last);
        }
        page.write_entries(xml);
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
    most: i64,
    is_truncated: bool,
    entries: Vec<Entry>,
}

struct Entry {
    /// For a folder with the delimiter.
    name: String,
    is_folder: bool,
    metadata: Option<Value>,
    updated_at: Option<OffsetDateTime>,
}

impl Entry {
    fn of_row(row: &Row, delimiter: &str) -> Self {
        let name: String = row.get("name");
        let is_folder = row.get::<_, Option<uuid::Uuid>>("id").is_none();
        Self {
            name: match is_folder {
                true => format!("{name}{delimiter}"),
                false => name,
            },
            is_folder,
            metadata: row.get("metadata"),
            updated_at: time_of(row, "updated_at"),
        }
    }

    fn write(&self, xml: &mut Xml, encoding: Encoding) {
        let facts = Facts::new(self.metadata.as_ref(), self.updated_at);
        xml.element("Contents", |xml| {
            xml.text("Key", encoding.encode(&self.name));
            xml.maybe("LastModified", self.updated_at.map(wire_time::render));
            xml.maybe("ETag", facts.etag());
            xml.text("Size", facts.size().unwrap_or_default());
            xml.text("StorageClass", "STANDARD");
        });
    }
}

impl Page {
    /// What follows a name, with the caller's rights.
    async fn read(request: &Request, after: &str) -> Result<Self, StorageError> {
        let bucket = &request.target.bucket;
        let query = &request.query;
        check_bucket(bucket)?;
        let encoding = Encoding::read(query)?;
        let most = query.number("max-keys", 0, i64::from(i32::MAX))?;
        let most = most.unwrap_or(MOST).min(MOST);
        BucketRules::get(&request.context, bucket).await?;
        let prefix = query.get("prefix").unwrap_or_default();
        let delimiter = query.get("delimiter").unwrap_or_default().to_owned();
        if prefix.contains('\0') || delimiter.contains('\0') || after.contains('\0') {
            return Err(StorageError::invalid_parameter("prefix"));
        }
        // One more than wanted tells whether there is more.
        let wanted = i32::try_from(most + 1).unwrap_or(i32::MAX);
        const SQL: &str = "
            select name, id, metadata, updated_at
            from storage.list_objects_with_delimiter($1, $2, $3, $4, '', $5)
        ";
        let mut entries: Vec<_> = match most {
            0 => Vec::new(),
            _ => {
                let work = request.context.as_caller()?.read_only();
                let rows = work
                    .query(SQL, &[bucket, &prefix, &delimiter, &wanted, &after])
                    .await?;
                let entry = |row: &Row| Entry::of_row(row, &delimiter);
                rows.iter().map(entry).collect()
            }
        };
        let is_truncated = entries.len() as i64 > most;
        entries.truncate(usize::try_from(most).unwrap_or_default());
        Ok(Self {
            delimiter,
            encoding,
            most,
            is_truncated,
            entries,
        })
    }

    fn last(&self) -> Option<String> {
        self.entries.last().map(|entry| entry.name.clone())
    }

    fn write_head(&self, xml: &mut Xml, request: &Request) {
        let prefix = request.query.get("prefix").unwrap_or_default();
        xml.text("Name", &request.target.bucket);
        xml.text("Prefix", self.encoding.encode(prefix));
        if !self.delimiter.is_empty() {
            xml.text("Delimiter", self.encoding.encode(&self.delimiter));
        }
        xml.text("MaxKeys", self.most);
        xml.maybe("EncodingType", self.encoding.name());
        xml.text("IsTruncated", self.is_truncated);
    }

    fn write_entries(&self, xml: &mut Xml) {
        let (folders, objects): (Vec<_>, Vec<_>) =
            self.entries.iter().partition(|entry| entry.is_folder);
        for object in objects {
            object.write(xml, self.encoding);
        }
        for folder in folders {
            let name = self.encoding.encode(&folder.name);
            xml.element("CommonPrefixes", |xml| xml.text("Prefix", name));
        }
    }
}
