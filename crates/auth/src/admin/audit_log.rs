//! `GET /admin/audit`: who did what, newest first.

use axum::{Json, extract::RawQuery, response::IntoResponse};
use plinth_db::{DbError, Queries};

use super::total::TotalCache;
use crate::{
    AuthError,
    caller::Admin,
    model::audit_log::{self, Field, Filter},
    request::{
        RequestContext,
        page::{Page, find_value, parse_pairs},
    },
};

/// `GET /admin/audit`
pub(crate) async fn list(
    context: RequestContext,
    _admin: Admin,
    RawQuery(query): RawQuery,
) -> Result<impl IntoResponse, AuthError> {
    let query_pairs = parse_pairs(query.as_deref());
    let page = Page::parse(&query_pairs)?;
    let filter = find_value(&query_pairs, "query")
        .map(parse_filter)
        .transpose()?;
    let filter = filter.as_ref();

    let mut db = context.db().await?;
    let mut entries = audit_log::list(&mut db, filter, page.limit() + 1, page.offset()).await?;
    let has_more = entries.len() as u64 > page.limit().unsigned_abs();
    entries.truncate(usize::try_from(page.limit()).unwrap_or(usize::MAX));
    let total = total(&context, &mut db, filter).await?;
    let total = TotalCache::at_least(total, page.rows_seen(entries.len()), has_more);
    Ok((
        page.headers("/admin/audit", &query_pairs, total),
        Json(entries),
    ))
}

/// `query=<scope>:<text>`
fn parse_filter(query: &str) -> Result<Filter, AuthError> {
    let found = query.split_once(':').and_then(|(scope, text)| {
        let field = match scope {
            "author" => Field::Author,
            "action" => Field::Action,
            "type" => Field::Type,
            _ => return None,
        };
        let text = text.to_owned();
        Some(Filter { field, text })
    });
    found.ok_or_else(|| AuthError::validation_failed(format!("Invalid query scope: {query}")))
}

async fn total(
    context: &RequestContext,
    db: &mut impl Queries,
    filter: Option<&Filter>,
) -> Result<u64, DbError> {
    let what = format!("{filter:?}");
    let totals = &context.state.audit_totals;
    if let Some(total) = totals.get(&what, context.now) {
        return Ok(total);
    }
    let total = audit_log::count(db, filter).await?;
    totals.insert(&what, total, context.now);
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_names_its_scope() {
        let check = |query, expected: Option<(Field, &str)>| {
            let found = parse_filter(query).ok();
            let found = found.as_ref().map(|it| (it.field, it.text.as_str()));
            assert_eq!(found, expected, "{query}");
        };
        check("author:ann", Some((Field::Author, "ann")));
        check("action:login", Some((Field::Action, "login")));
        check("type:a:b", Some((Field::Type, "a:b")));
        for query in ["ann", "email:ann", ":", "Author:ann"] {
            check(query, None);
        }
    }
}
