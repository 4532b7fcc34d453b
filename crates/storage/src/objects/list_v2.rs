//! Listing by cursor (storage contract §3.6).

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use plinth_db::Row;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::model::time_of;
use crate::{
    error::StorageError,
    request::{Context, check_bucket, read_fields},
    wire_time,
};

const MOST: i64 = 1000;
const COLUMNS: &[&str] = &["name", "created_at", "updated_at"];
const ORDERS: &[&str] = &["asc", "desc"];

/// Where a page begins: behind this name, and behind this time when sorted by one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cursor {
    name: String,
    order: &'static str,
    column: &'static str,
    time: Option<String>,
}

impl Cursor {
    fn encode(&self) -> String {
        let mut lines = vec![format!("l:{}", self.name)];
        lines.push(format!("o:{}", self.order));
        lines.push(format!("c:{}", self.column));
        lines.extend(self.time.as_ref().map(|time| format!("a:{time}")));
        STANDARD.encode(lines.join("\n"))
    }

    fn decode(text: &str) -> Result<Self, StorageError> {
        Self::read(text).ok_or_else(|| StorageError::invalid_parameter("continuation token"))
    }

    fn read(text: &str) -> Option<Self> {
        let text = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
        let mut cursor = Self {
            name: String::new(),
            order: "asc",
            column: "name",
            time: None,
        };
        for line in text.split('\n') {
            let (kind, value) = line.split_once(':')?;
            let word = |words: &'static [&'static str]| words.iter().find(|word| **word == value);
            match kind {
                "l" => cursor.name = value.to_owned(),
                "o" => cursor.order = word(ORDERS)?,
                "c" => cursor.column = word(COLUMNS)?,
                "a" => {
                    let time = plinth_db::parse_time(value)?;
                    cursor.time = Some(wire_time::render(time));
                }
                _ => return None,
            }
        }
        (!cursor.name.is_empty() && !cursor.name.contains('\0')).then_some(cursor)
    }
}

/// `POST /object/list-v2/{bucket}`
pub(crate) async fn list_v2(
    context: &Context,
    bucket: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller_by_token()?;
    let fields = read_fields(body).await?;
    let prefix = fields.text("prefix")?.unwrap_or_default();
    let limit = fields.integer("limit", 1)?.unwrap_or(MOST).min(MOST);
    let has_folders = fields.flag("with_delimiter")?.unwrap_or(false);
    let sort = fields.object("sortBy")?;
    let column = sort
        .as_ref()
        .map_or(Ok(None), |sort| sort.choice("column", COLUMNS))?;
    let order = sort
        .as_ref()
        .map_or(Ok(None), |sort| sort.choice("order", ORDERS))?;
    let cursor = fields.text("cursor")?.filter(|text| !text.is_empty());
    let cursor = cursor.as_deref().map(Cursor::decode).transpose()?;
    check_bucket(bucket)?;
    // What a client continues, it continues in the order in which it began.
    let start = cursor.unwrap_or_else(|| Cursor {
        name: String::new(),
        order: order.unwrap_or("asc"),
        column: column.unwrap_or("name"),
        time: None,
    });
    let page = Page {
        bucket,
        prefix: &prefix,
        start: &start,
        // One more than wanted tells whether there is more.
        rows: limit + 1,
    };
    let mut rows = match has_folders {
        true => page.with_folders(context).await?,
        false => page.flat(context).await?,
    };
    let has_next = rows.len() as i64 > limit;
    rows.truncate(usize::try_from(limit).unwrap_or_default());

    let entries: Vec<Entry> = rows.iter().map(Entry::of_row).collect();
    let (folders, objects): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.is_folder());
    let shown = |entries: Vec<&Entry>| -> Vec<Value> {
        entries
            .into_iter()
            .map(|entry| entry.json(has_folders))
            .collect()
    };
    let mut answer = json!({
        "hasNext": has_next,
        "folders": shown(folders),
        "objects": shown(objects),
    });
    if let Some(last) = entries.last().filter(|_| has_next) {
        answer["nextCursor"] = json!(start.behind(last).encode());
        answer["nextCursorKey"] = json!(last.name);
    }
    Ok(Json(answer).into_response())
}

impl Cursor {
    /// The place behind an entry.
    fn behind(&self, entry: &Entry) -> Self {
        let time = match self.column {
            "created_at" => entry.created_at,
            "updated_at" => entry.updated_at,
            _ => None,
        };
        Self {
            name: entry.name.clone(),
            time: time.map(wire_time::render),
            ..self.clone()
        }
    }
}

struct Page<'a> {
    bucket: &'a str,
    prefix: &'a str,
    start: &'a Cursor,
    rows: i64,
}

impl Page<'_> {
    async fn with_folders(&self, context: &Context) -> Result<Vec<Row>, StorageError> {
        const SQL: &str = "
            select key, name, id, updated_at, created_at, last_accessed_at, metadata
            from storage.search_v2($1, $2, $3, $4, $5, $6, $7, $8)
        ";
        let rows = i32::try_from(self.rows).unwrap_or(i32::MAX);
        let level = self.prefix.matches('/').count() + 1;
        let level = i32::try_from(level).unwrap_or(i32::MAX);
        let time = self.start.time.as_deref().unwrap_or_default();
        let Cursor {
            name,
            order,
            column,
            ..
        } = self.start;
        let found = context
            .as_caller()?
            .read_only()
            .query(
                SQL,
                &[
                    &self.prefix,
                    &self.bucket,
                    &rows,
                    &level,
                    name,
                    order,
                    column,
                    &time,
                ],
            )
            .await?;
        Ok(found)
    }

    /// Without folders every object below the prefix stands for itself.
    async fn flat(&self, context: &Context) -> Result<Vec<Row>, StorageError> {
        let Cursor {
            name,
            order,
            column,
            ..
        } = self.start;
        let comparison = if *order == "desc" { "<" } else { ">" };
        let (place, after) = match *column {
            "name" => ("o.name collate \"C\"".to_owned(), "$3".to_owned()),
            // Cursors carry milliseconds, so they are all that counts.
            column => (
                format!(
                    "(coalesce(date_trunc('milliseconds', o.{column}), 'epoch'), o.name collate \"C\")"
                ),
                "(coalesce(nullif($5::text, '')::timestamptz, 'epoch'), $3)".to_owned(),
            ),
        };
        let order_by = match *column {
            "name" => format!("o.name collate \"C\" {order}"),
            column => format!(
                "coalesce(date_trunc('milliseconds', o.{column}), 'epoch') {order}, o.name collate \"C\" {order}"
            ),
        };
        let sql = format!(
            "select null::text as key, o.name, o.id, o.updated_at, o.created_at, o.last_accessed_at,
                o.metadata
             from storage.objects o
             where o.bucket_id = $1
               and o.name collate \"C\" >= $2
               and o.name collate \"C\" < $2 || chr(1114111)
               and ($3 = '' or {place} {comparison} {after})
               and $5::text is not null
             order by {order_by}
             limit $4"
        );
        let time = self.start.time.as_deref().unwrap_or_default();
        let found = context
            .as_caller()?
            .read_only()
            .query(&sql, &[&self.bucket, &self.prefix, name, &self.rows, &time])
            .await?;
        Ok(found)
    }
}

/// An object, or a folder: a folder has no id.
struct Entry {
    key: Option<String>,
    name: String,
    id: Option<uuid::Uuid>,
    updated_at: Option<OffsetDateTime>,
    created_at: Option<OffsetDateTime>,
    last_accessed_at: Option<OffsetDateTime>,
    metadata: Option<Value>,
}

impl Entry {
    fn of_row(row: &Row) -> Self {
        Self {
            key: row.get("key"),
            name: row.get("name"),
            id: row.get("id"),
            updated_at: time_of(row, "updated_at"),
            created_at: time_of(row, "created_at"),
            last_accessed_at: time_of(row, "last_accessed_at"),
            metadata: row.get("metadata"),
        }
    }

    fn is_folder(&self) -> bool {
        self.id.is_none()
    }

    fn json(&self, has_key: bool) -> Value {
        let name = match self.is_folder() {
            true => format!("{}/", self.name),
            false => self.name.clone(),
        };
        let time = |time: Option<OffsetDateTime>| time.map(wire_time::render);
        let mut value = json!({
            "id": self.id,
            "name": name,
            "updated_at": time(self.updated_at),
            "created_at": time(self.created_at),
            "last_accessed_at": time(self.last_accessed_at),
            "metadata": self.metadata,
        });
        if has_key {
            value["key"] = json!(self.key);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_went() {
        let cursor = Cursor {
            name: "a/b: c".to_owned(),
            order: "desc",
            column: "created_at",
            time: Some("2026-01-02T03:04:05.678Z".to_owned()),
        };
        assert_eq!(Cursor::decode(&cursor.encode()).ok(), Some(cursor));
    }

    #[test]
    fn a_cursor_that_is_none_is_refused() {
        for text in [
            "x",
            "",
            &STANDARD.encode("l:"),
            &STANDARD.encode("l:a\nc:size"),
            &STANDARD.encode("l:a\na:soon"),
            &STANDARD.encode("l:a\na:0000-01-01T00:00:00Z"),
            &STANDARD.encode("l:a\na:9999-12-31T23:59:59-23:59"),
            &STANDARD.encode("l:a\0b"),
        ] {
            assert!(Cursor::decode(text).is_err(), "{text}");
        }
    }
}
