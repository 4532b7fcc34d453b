//! Reads buckets. PostgreSQL renders the JSON.

use axum::response::Response;

use crate::{
    error::StorageError,
    request::{RequestContext, check_bucket},
    response::{json_bytes, raw_json},
};

/// The JSON of a bucket, from `buckets b`.
const FIELDS: &str = "
    'id', b.id,
    'name', b.name,
    'owner', coalesce(b.owner::text, ''),
    'public', b.public,
    'file_size_limit', b.file_size_limit,
    'allowed_mime_types', b.allowed_mime_types,
    'created_at', to_char(b.created_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'),
    'updated_at', to_char(b.updated_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')
";

/// `GET /bucket`
pub(crate) async fn list(context: &RequestContext) -> Result<Response, StorageError> {
    context.caller()?;
    let query = context.query();
    let limit = query.integer("limit", 1)?;
    let offset = query.integer("offset", 0)?.unwrap_or_default();
    let column = query.choice("sortColumn", &["id", "name", "created_at", "updated_at"])?;
    let order = query
        .choice("sortOrder", &["asc", "desc"])?
        .unwrap_or("asc");
    let search = query.text("search")?.unwrap_or_default();
    // Old Python clients reject an unknown field.
    let kind = if knows_types(context) {
        "'type', b.type,"
    } else {
        ""
    };
    // By name as well, so that the order is total and pages do not overlap.
    let column = column.unwrap_or("name");
    let sql = format!(
        "select coalesce(json_agg(bucket), '[]')::text as buckets
         from (
            select json_build_object({kind} {FIELDS}) as bucket
            from storage.buckets b
            where $1 = '' or strpos(lower(b.name), lower($1)) > 0
            order by b.{column} {order}, b.name {order}
            limit $2 offset $3
         ) as page"
    );
    let rows = context
        .as_caller()?
        .read_only()
        .query(&sql, &[&search, &limit, &offset])
        .await?;
    Ok(raw_json(json_bytes(&rows, "buckets")))
}

/// `GET /bucket/{id}`
pub(crate) async fn get(context: &RequestContext, id: &str) -> Result<Response, StorageError> {
    context.caller()?;
    check_bucket(id)?;
    let sql = format!(
        "select json_build_object({FIELDS})::text as bucket from storage.buckets b where b.id = $1"
    );
    let rows = context.as_caller()?.read_only().query(&sql, &[&id]).await?;
    if rows.is_empty() {
        Err(StorageError::no_such_bucket())
    } else {
        Ok(raw_json(json_bytes(&rows, "bucket")))
    }
}

fn knows_types(context: &RequestContext) -> bool {
    let older = |header: &str, name: &str, first: (u32, u32, u32)| {
        let text = context.header(header)?.trim().strip_prefix(name)?;
        Some(version(text)? < first)
    };
    let is_old = older("x-client-info", "supabase-py/", (2, 18, 0))
        .or_else(|| older("user-agent", "supabase-py/storage3 v", (0, 12, 1)));
    is_old != Some(true)
}

fn version(text: &str) -> Option<(u32, u32, u32)> {
    let text = text.split_whitespace().next()?;
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((
        parts.next()??,
        parts.next()??,
        parts.next().flatten().unwrap_or(0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("2.18.0"), Some((2, 18, 0)));
        assert!(version("2.9.1") < version("2.18.0"));
        assert_eq!(version("new"), None);
    }
}
