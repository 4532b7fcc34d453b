//! `GET /admin/users`: all users of the audience, a page at a time.

use axum::{Json, extract::RawQuery};
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;

use super::{
    Page,
    by_number::ByNumber,
    cursor::{self, Cursor, Position},
    order::Order,
    page::{Pairs, pairs, value},
    selection::{From, Selection},
    total::Totals,
};
use crate::{
    AuthError,
    model::{User, UserBody},
    request::{Admin, Context},
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
    context: Context,
    _admin: Admin,
    RawQuery(query): RawQuery,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let asked = pairs(query.as_deref());
    let order = Order::parse(&asked)?;
    let names_page = value(&asked, "page")
        .or(value(&asked, "per_page"))
        .is_some();
    match context.config.is_cursor_paging_enabled && !names_page {
        true => by_cursor(&context, &asked, order).await,
        false => by_page(&context, &asked, order).await,
    }
}

async fn by_page(
    context: &Context,
    asked: &Pairs,
    order: Order,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let page = Page::parse(asked)?;
    let mut db = context.db().await?;
    let selection = &Selection::new(context, &mut db, value(asked, "filter")).await?;
    let list = ByNumber {
        context,
        selection,
        order,
    };
    let page_of_rows = list.page(&mut db, page.limit() + 1, page.offset());
    let (rows, total) = page_of_rows.await?;
    let (users, has_more) = cut(rows, page.limit());
    let total = Totals::settle(total, page.rows_seen(users.len()), has_more);
    let headers = page.headers("/admin/users", asked, total);
    Ok((headers, Json(ListBody::new(selection, users, None))))
}

async fn by_cursor(
    context: &Context,
    asked: &Pairs,
    order: Order,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let cursor = Cursor::parse(asked)?;
    let mut db = context.db().await?;
    let selection = &Selection::new(context, &mut db, value(asked, "filter")).await?;
    let from = cursor.after.map_or(From::TheTop, From::After);
    let rows = selection
        .read(&mut db, order, from, cursor.limit + 1, 0)
        .await?;
    let (users, has_more) = cut(rows, cursor.limit);
    let next = users.last().map(Position::of).filter(|_| has_more);
    let headers = cursor::headers("/admin/users", asked, next);
    let pagination = Some(cursor::body(next));
    Ok((headers, Json(ListBody::new(selection, users, pagination))))
}

/// One row more than asked for was read: it tells whether there is another page.
fn cut(mut rows: Vec<User>, limit: i64) -> (Vec<User>, bool) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    (rows, has_more)
}

impl ListBody {
    fn new(selection: &Selection<'_>, users: Vec<User>, pagination: Option<Value>) -> Self {
        let users = users.into_iter();
        Self {
            users: users
                .map(|user| UserBody::new(user, None, Vec::new()))
                .collect(),
            aud: selection.aud.to_owned(),
            pagination,
        }
    }
}
