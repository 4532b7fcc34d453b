//! Lists a folder by limit and offset (storage contract §3.5).

use axum::{body::Body, response::Response};

use crate::{
    error::StorageError,
    request::{RequestContext, check_bucket, read_fields},
    response::{json_bytes, raw_json},
};

const COLUMNS: &[&str] = &["name", "updated_at", "created_at", "last_accessed_at"];

const SQL: &str = "
    select coalesce(json_agg(json_build_object(
        'name', name,
        'id', id,
        'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'),
        'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'),
        'last_accessed_at',
            to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'),
        'metadata', metadata
    )), '[]')::text as entries
    from storage.search($1, $2, $3, 1, $4, $5, $6, $7)
";

/// `POST /object/list/{bucket}`
pub(crate) async fn list(
    context: &RequestContext,
    bucket: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let mut prefix = fields.required_text("prefix")?;
    if !prefix.is_empty() && !prefix.ends_with('/') {
        prefix.push('/');
    }
    let limit = clamp(fields.integer("limit", 1)?.unwrap_or(100));
    let offset = clamp(fields.integer("offset", 0)?.unwrap_or_default());
    let search = fields.text("search")?.unwrap_or_default();
    let (column, order) = match fields.object("sortBy")? {
        Some(sort) => {
            let column = sort.choice("column", COLUMNS)?;
            let column = column.ok_or_else(|| sort.missing("column"))?;
            (
                column,
                sort.choice("order", &["asc", "desc"])?.unwrap_or("asc"),
            )
        }
        None => ("name", "asc"),
    };
    check_bucket(bucket)?;
    let rows = context
        .as_caller()?
        .read_only()
        .query(
            SQL,
            &[&prefix, &bucket, &limit, &offset, &search, &column, &order],
        )
        .await?;
    Ok(raw_json(json_bytes(&rows, "entries")))
}

fn clamp(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
