//! `auth.audit_log_entries`: who did what.

use plinth_db::{DbError, Queries, Row};
use postgres_types::ToSql;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

mod search;

pub(crate) use search::{Entry, Position, Query, search};

use super::like;
use crate::wire_time;

/// An entry as administrators see it.
#[derive(Serialize)]
pub(crate) struct EntryBody {
    id: Uuid,
    payload: Value,
    #[serde(serialize_with = "wire_time::serialize")]
    created_at: OffsetDateTime,
    ip_address: String,
}

/// Which entries are listed: those whose field contains a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) field: Field,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Author,
    Action,
    Type,
}

impl Filter {
    /// With the pattern as `$1`.
    fn condition(&self) -> &'static str {
        match self.field {
            Field::Author => {
                "where (a.payload->>'actor_username' ilike $1
                   or a.payload->>'actor_name' ilike $1)"
            }
            Field::Action => "where a.payload->>'action' ilike $1",
            Field::Type => "where a.payload->>'log_type' ilike $1",
        }
    }
}

pub(crate) async fn insert(
    db: &mut impl Queries,
    payload: &Value,
    ip_address: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "insert into auth.audit_log_entries
                 (instance_id, id, payload, created_at, ip_address)
               values ($1, $2, $3, $4, $5)";
    let (instance, id) = (Uuid::nil(), crate::random::uuid());
    db.execute(sql, &[&instance, &id, payload, &now, &ip_address])
        .await?;
    Ok(())
}

/// A page of the entries, newest first.
pub(crate) async fn list(
    db: &mut impl Queries,
    filter: Option<&Filter>,
    limit: i64,
    offset: i64,
) -> Result<Vec<EntryBody>, DbError> {
    let pattern = filter.map(|filter| like::containing(&filter.text));
    let mut params: Vec<&(dyn ToSql + Sync)> = Vec::new();
    if let Some(pattern) = &pattern {
        params.push(pattern);
    }
    let (first, second) = (params.len() + 1, params.len() + 2);
    params.push(&limit);
    params.push(&offset);
    let condition = filter.map_or("", Filter::condition);
    let sql = format!(
        "select a.id, a.payload, a.created_at, a.ip_address from auth.audit_log_entries a
         {condition} order by a.created_at desc, a.id desc limit ${first} offset ${second}"
    );
    let rows = db.query(&sql, &params).await?;
    rows.iter().map(EntryBody::from_row).collect()
}

/// How many entries there are.
pub(crate) async fn count(db: &mut impl Queries, filter: Option<&Filter>) -> Result<u64, DbError> {
    let pattern = filter.map(|filter| like::containing(&filter.text));
    let params: Vec<&(dyn ToSql + Sync)> = match &pattern {
        Some(pattern) => vec![pattern],
        None => Vec::new(),
    };
    let condition = filter.map_or("", Filter::condition);
    let sql = format!("select count(*) as total from auth.audit_log_entries a {condition}");
    let total: i64 = match db.query_opt(&sql, &params).await? {
        Some(row) => row.try_get("total")?,
        None => 0,
    };
    Ok(total.unsigned_abs())
}

impl EntryBody {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let payload: Option<Value> = row.try_get("payload")?;
        let created_at: Option<OffsetDateTime> = row.try_get("created_at")?;
        Ok(Self {
            id: row.try_get("id")?,
            payload: payload.unwrap_or_default(),
            created_at: created_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
            ip_address: row.try_get("ip_address")?,
        })
    }
}
