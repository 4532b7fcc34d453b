//! `GET /admin/audit`: who did what, newest first.

use axum::{Json, extract::RawQuery, response::IntoResponse};
use plinth_db::{DbError, Queries, Row};
use postgres_types::ToSql;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{
    Page,
    page::{pairs, value},
    search::substring,
    total::Totals,
};
use crate::{
    AuthError,
    request::{Admin, Context},
    wire_time,
};

#[derive(Serialize)]
pub(crate) struct EntryBody {
    id: Uuid,
    payload: Value,
    #[serde(serialize_with = "wire_time::serialize")]
    created_at: OffsetDateTime,
    ip_address: String,
}

/// `GET /admin/audit`
pub(crate) async fn list(
    context: Context,
    _admin: Admin,
    RawQuery(query): RawQuery,
) -> Result<impl IntoResponse, AuthError> {
    let asked = pairs(query.as_deref());
    let page = Page::parse(&asked)?;
    let search = value(&asked, "query").map(Search::parse).transpose()?;

    let mut db = context.db().await?;
    let mut entries = read(&mut db, search.as_ref(), page).await?;
    let has_more = entries.len() as u64 > page.limit().unsigned_abs();
    entries.truncate(usize::try_from(page.limit()).unwrap_or(usize::MAX));
    let total = total(&context, &mut db, search.as_ref()).await?;
    let total = Totals::settle(total, page.rows_seen(entries.len()), has_more);
    Ok((page.headers("/admin/audit", &asked, total), Json(entries)))
}

/// `query=<scope>:<text>`
#[derive(Debug, PartialEq, Eq)]
struct Search {
    scope: Scope,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Author,
    Action,
    Type,
}

impl Search {
    fn parse(query: &str) -> Result<Self, AuthError> {
        let found = query.split_once(':').and_then(|(scope, text)| {
            let scope = match scope {
                "author" => Scope::Author,
                "action" => Scope::Action,
                "type" => Scope::Type,
                _ => return None,
            };
            let text = text.to_owned();
            Some(Self { scope, text })
        });
        found.ok_or_else(|| AuthError::invalid(format!("Invalid query scope: {query}")))
    }

    /// With the pattern as `$1`.
    fn condition(&self) -> &'static str {
        match self.scope {
            Scope::Author => {
                "where (a.payload->>'actor_username' ilike $1
                   or a.payload->>'actor_name' ilike $1)"
            }
            Scope::Action => "where a.payload->>'action' ilike $1",
            Scope::Type => "where a.payload->>'log_type' ilike $1",
        }
    }
}

async fn read(
    db: &mut impl Queries,
    search: Option<&Search>,
    page: Page,
) -> Result<Vec<EntryBody>, DbError> {
    let (limit, offset) = (page.limit() + 1, page.offset());
    let pattern = search.map(|search| substring(&search.text));
    let mut params: Vec<&(dyn ToSql + Sync)> = Vec::new();
    if let Some(pattern) = &pattern {
        params.push(pattern);
    }
    let (first, second) = (params.len() + 1, params.len() + 2);
    params.push(&limit);
    params.push(&offset);
    let condition = search.map_or("", Search::condition);
    let sql = format!(
        "select a.id, a.payload, a.created_at, a.ip_address from auth.audit_log_entries a
         {condition} order by a.created_at desc, a.id desc limit ${first} offset ${second}"
    );
    let rows = db.query(&sql, &params).await?;
    rows.iter().map(entry).collect()
}

fn entry(row: &Row) -> Result<EntryBody, DbError> {
    let payload: Option<Value> = row.try_get("payload")?;
    let created_at: Option<OffsetDateTime> = row.try_get("created_at")?;
    Ok(EntryBody {
        id: row.try_get("id")?,
        payload: payload.unwrap_or_default(),
        created_at: created_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
        ip_address: row.try_get("ip_address")?,
    })
}

async fn total(
    context: &Context,
    db: &mut impl Queries,
    search: Option<&Search>,
) -> Result<u64, DbError> {
    let what = format!("{search:?}");
    let totals = &context.state.audit_totals;
    if let Some(total) = totals.remembered(&what, context.now) {
        return Ok(total);
    }
    let pattern = search.map(|search| substring(&search.text));
    let params: Vec<&(dyn ToSql + Sync)> = match &pattern {
        Some(pattern) => vec![pattern],
        None => Vec::new(),
    };
    let condition = search.map_or("", Search::condition);
    let sql = format!("select count(*) as total from auth.audit_log_entries a {condition}");
    let total: i64 = match db.query_opt(&sql, &params).await? {
        Some(row) => row.try_get("total")?,
        None => 0,
    };
    totals.remember(&what, total.unsigned_abs(), context.now);
    Ok(total.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_names_its_scope() {
        let check = |query, expected: Option<(Scope, &str)>| {
            let found = Search::parse(query).ok();
            let found = found.as_ref().map(|it| (it.scope, it.text.as_str()));
            assert_eq!(found, expected, "{query}");
        };
        check("author:ann", Some((Scope::Author, "ann")));
        check("action:login", Some((Scope::Action, "login")));
        check("type:a:b", Some((Scope::Type, "a:b")));
        for query in ["ann", "email:ann", ":", "Author:ann"] {
            check(query, None);
        }
    }
}
