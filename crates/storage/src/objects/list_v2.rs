//! Lists by cursor (storage contract §3.6).

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use plinth_db::Row;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{
    cursor::{COLUMNS, Cursor, ORDERS},
    model::read_time,
};
use crate::{
    error::StorageError,
    request::{RequestContext, check_bucket, read_fields},
    wire_time,
};

const MAX_ENTRIES: i64 = 1000;

/// `POST /object/list-v2/{bucket}`
pub(crate) async fn list_v2(
    context: &RequestContext,
    bucket: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller_or_invalid_token()?;
    let fields = read_fields(body).await?;
    let prefix = fields.text("prefix")?.unwrap_or_default();
    let limit = fields
        .integer("limit", 1)?
        .unwrap_or(MAX_ENTRIES)
        .min(MAX_ENTRIES);
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
    // A cursor carries its order, which wins over that of the request.
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
        // One more than asked for, to know whether there is a next page.
        rows: limit + 1,
    };
    let mut rows = if has_folders {
        page.with_folders(context).await?
    } else {
        page.flat(context).await?
    };
    let has_next = rows.len() as i64 > limit;
    rows.truncate(usize::try_from(limit).unwrap_or_default());

    let entries: Vec<Entry> = rows.iter().map(Entry::from_row).collect();
    let (folders, objects): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.is_folder());
    let render = |entries: Vec<&Entry>| -> Vec<Value> {
        entries
            .into_iter()
            .map(|entry| entry.json(has_folders))
            .collect()
    };
    let mut body = json!({
        "hasNext": has_next,
        "folders": render(folders),
        "objects": render(objects),
    });
    if let Some(last) = entries.last().filter(|_| has_next) {
        body["nextCursor"] = json!(
            start
                .after(last.name.clone(), last.time(start.column))
                .encode()
        );
        body["nextCursorKey"] = json!(last.name);
    }
    Ok(Json(body).into_response())
}

struct Page<'a> {
    bucket: &'a str,
    prefix: &'a str,
    start: &'a Cursor,
    rows: i64,
}

impl Page<'_> {
    async fn with_folders(&self, context: &RequestContext) -> Result<Vec<Row>, StorageError> {
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

    /// Without folders every object below the prefix is an entry.
    async fn flat(&self, context: &RequestContext) -> Result<Vec<Row>, StorageError> {
        let Cursor {
            name,
            order,
            column,
            ..
        } = self.start;
        let comparison = if *order == "desc" { "<" } else { ">" };
        let (position, after) = match *column {
            "name" => ("o.name collate \"C\"".to_owned(), "$3".to_owned()),
            // Cursors carry milliseconds, so times are compared to the millisecond.
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
               and ($3 = '' or {position} {comparison} {after})
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
    fn from_row(row: &Row) -> Self {
        Self {
            key: row.get("key"),
            name: row.get("name"),
            id: row.get("id"),
            updated_at: read_time(row, "updated_at"),
            created_at: read_time(row, "created_at"),
            last_accessed_at: read_time(row, "last_accessed_at"),
            metadata: row.get("metadata"),
        }
    }

    /// The time that a list may be sorted by.
    fn time(&self, column: &str) -> Option<OffsetDateTime> {
        match column {
            "created_at" => self.created_at,
            "updated_at" => self.updated_at,
            _ => None,
        }
    }

    fn is_folder(&self) -> bool {
        self.id.is_none()
    }

    fn json(&self, has_key: bool) -> Value {
        let name = if self.is_folder() {
            format!("{}/", self.name)
        } else {
            self.name.clone()
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
