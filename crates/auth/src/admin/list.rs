//! `GET /admin/users`: all users of the audience, a page at a time.

use axum::{Json, extract::RawQuery};
use http::HeaderMap;
use plinth_db::{DbError, Queries};
use serde::Serialize;
use serde_json::Value;

use super::{
    cursor::{self, Cursor},
    numbered_pages::NumberedPages,
    order,
    total::TotalCache,
};
use crate::{
    AuthError,
    caller::Admin,
    model::{
        User, UserBody,
        user_list::{Order, Position, Search, Start, UserList},
    },
    request::{
        RequestContext,
        page::{Page, QueryPairs, find_value, parse_pairs},
    },
};

#[derive(Serialize)]
pub(crate) struct ListBody {
    users: Vec<UserBody>,
    aud: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Value>,
}

/// `GET /admin/users`
pub(crate) async fn list(
    context: RequestContext,
    _admin: Admin,
    RawQuery(query): RawQuery,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let query_pairs = parse_pairs(query.as_deref());
    let order = order::parse(&query_pairs)?;
    let names_page = find_value(&query_pairs, "page")
        .or(find_value(&query_pairs, "per_page"))
        .is_some();
    if context.config.is_cursor_paging_enabled && !names_page {
        by_cursor(&context, &query_pairs, order).await
    } else {
        by_page(&context, &query_pairs, order).await
    }
}

async fn by_page(
    context: &RequestContext,
    query_pairs: &QueryPairs,
    order: Order,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let page = Page::parse(query_pairs)?;
    let mut db = context.db().await?;
    let users = &user_list(context, &mut db, find_value(query_pairs, "filter")).await?;
    let pages = NumberedPages {
        context,
        users,
        order,
    };
    let read = pages.read_page(&mut db, page.limit() + 1, page.offset());
    let (rows, total) = read.await?;
    let (rows, has_more) = split_page(rows, page.limit());
    let total = TotalCache::at_least(total, page.rows_seen(rows.len()), has_more);
    let headers = page.headers("/admin/users", query_pairs, total);
    Ok((headers, Json(ListBody::new(users.audience(), rows, None))))
}

async fn by_cursor(
    context: &RequestContext,
    query_pairs: &QueryPairs,
    order: Order,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let cursor = Cursor::parse(query_pairs)?;
    let mut db = context.db().await?;
    let users = user_list(context, &mut db, find_value(query_pairs, "filter")).await?;
    let start = cursor.after.map_or(Start::First, Start::After);
    let rows = users
        .read(&mut db, order, start, cursor.limit + 1, 0)
        .await?;
    let (rows, has_more) = split_page(rows, cursor.limit);
    let next = rows.last().map(Position::of).filter(|_| has_more);
    let headers = cursor::headers("/admin/users", query_pairs, next);
    let pagination = Some(cursor::body(next));
    Ok((
        headers,
        Json(ListBody::new(users.audience(), rows, pagination)),
    ))
}

async fn user_list<'a>(
    context: &'a RequestContext,
    db: &mut impl Queries,
    filter: Option<&str>,
) -> Result<UserList<'a>, DbError> {
    let search = match filter {
        None => None,
        Some(text) => {
            let cache = &context.state.common_pieces;
            let common = cache.get(db, context.now).await?;
            Some(Search::new(text, common.as_deref()))
        }
    };
    Ok(UserList::new(context.audience(), search))
}

/// One row more than the page holds was read: it shows whether there is another page.
fn split_page(mut rows: Vec<User>, limit: i64) -> (Vec<User>, bool) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    (rows, has_more)
}

impl ListBody {
    fn new(aud: &str, users: Vec<User>, pagination: Option<Value>) -> Self {
        let users = users.into_iter();
        Self {
            users: users
                .map(|user| UserBody::new(user, None, Vec::new()))
                .collect(),
            aud: aud.to_owned(),
            pagination,
        }
    }
}
