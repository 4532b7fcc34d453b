//! `GET /admin/users`: all users of the audience, a page at a time.

use axum::{Json, extract::RawQuery};
use http::HeaderMap;
use plinth_db::{DbError, Queries};
use postgres_types::ToSql;
use serde::Serialize;
use serde_json::Value;

use super::{
    Page,
    cursor::{self, Cursor, Position},
    page::{Pairs, pairs, value},
    total::Totals,
};
use crate::{
    AuthError,
    model::{User, UserBody, users},
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
    let selection = Selection {
        aud: context.audience(),
        filter: value(&asked, "filter"),
    };
    let names_page = value(&asked, "page")
        .or(value(&asked, "per_page"))
        .is_some();
    match context.config.is_cursor_paging_enabled && !names_page {
        true => by_cursor(&context, &asked, order, &selection).await,
        false => by_page(&context, &asked, order, &selection).await,
    }
}

async fn by_page(
    context: &Context,
    asked: &Pairs,
    order: Order,
    selection: &Selection<'_>,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let page = Page::parse(asked)?;
    let mut db = context.db().await?;
    let rows = selection
        .read(&mut db, order, None, page.limit() + 1, page.offset())
        .await?;
    let (users, has_more) = cut(rows, page.limit());
    let total = selection.total(context, &mut db).await?;
    let total = Totals::settle(total, page.rows_seen(users.len()), has_more);
    let headers = page.headers("/admin/users", asked, total);
    Ok((headers, Json(selection.body(users, None))))
}

async fn by_cursor(
    context: &Context,
    asked: &Pairs,
    order: Order,
    selection: &Selection<'_>,
) -> Result<(HeaderMap, Json<ListBody>), AuthError> {
    let cursor = Cursor::parse(asked)?;
    let mut db = context.db().await?;
    let rows = selection
        .read(&mut db, order, cursor.after, cursor.limit + 1, 0)
        .await?;
    let (users, has_more) = cut(rows, cursor.limit);
    let next = users.last().map(Position::of).filter(|_| has_more);
    let headers = cursor::headers("/admin/users", asked, next);
    let pagination = Some(cursor::body(next));
    Ok((headers, Json(selection.body(users, pagination))))
}

/// One row more than asked for was read: it tells whether there is another page.
fn cut(mut rows: Vec<User>, limit: i64) -> (Vec<User>, bool) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    (rows, has_more)
}

/// Which users.
struct Selection<'a> {
    aud: &'a str,
    filter: Option<&'a str>,
}

/// Rows of seeds have no instance.
const IN_AUDIENCE: &str = "(u.instance_id = '00000000-0000-0000-0000-000000000000'
                            or u.instance_id is null) and u.aud = $1";
const MATCHES: &str = "(u.email like $2 or u.raw_user_meta_data->>'full_name' ilike $2)";

impl Selection<'_> {
    /// The `where` clause; its parameters are the audience and, with a filter, the pattern.
    fn condition(&self) -> String {
        match self.filter {
            None => IN_AUDIENCE.to_owned(),
            Some(_) => format!("{IN_AUDIENCE} and {MATCHES}"),
        }
    }

    /// Rows of a page, by number or after a position.
    async fn read(
        &self,
        db: &mut impl Queries,
        order: Order,
        after: Option<Position>,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<User>, DbError> {
        let pattern = self.filter.map(substring);
        let mut params = self.params(&pattern);
        let mut condition = self.condition();
        if let Some(after) = &after {
            let (first, second) = (params.len() + 1, params.len() + 2);
            let beyond = order.beyond();
            condition += &format!(" and (u.created_at, u.id) {beyond} (${first}, ${second})");
            params.push(&after.created_at);
            params.push(&after.id);
        }
        let (first, second) = (params.len() + 1, params.len() + 2);
        params.push(&limit);
        params.push(&offset);
        let direction = order.as_sql();
        // The id makes pages fit together where many rows were made at once.
        let sql = format!(
            "select {} from auth.users u where {condition}
             order by u.created_at {direction}, u.id {direction}
             limit ${first} offset ${second}",
            users::COLUMNS
        );
        let rows = db.query(&sql, &params).await?;
        rows.iter().map(User::from_row).collect()
    }

    fn body(&self, users: Vec<User>, pagination: Option<Value>) -> ListBody {
        let users = users.into_iter();
        ListBody {
            users: users
                .map(|user| UserBody::new(user, None, Vec::new()))
                .collect(),
            aud: self.aud.to_owned(),
            pagination,
        }
    }

    async fn total(&self, context: &Context, db: &mut impl Queries) -> Result<u64, DbError> {
        let totals = &context.state.user_totals;
        let what = format!("{}\n{}", self.aud, self.filter.unwrap_or_default());
        if let Some(total) = totals.remembered(&what, context.now) {
            return Ok(total);
        }
        let pattern = self.filter.map(substring);
        let sql = format!(
            "select count(*) as total from auth.users u where {}",
            self.condition()
        );
        let rows = db.query(&sql, &self.params(&pattern)).await?;
        let total: i64 = match rows.first() {
            Some(row) => row.try_get("total")?,
            None => 0,
        };
        totals.remember(&what, total.unsigned_abs(), context.now);
        Ok(total.unsigned_abs())
    }

    fn params<'b>(&'b self, pattern: &'b Option<String>) -> Vec<ParamRef<'b>> {
        let mut params: Vec<ParamRef<'b>> = vec![&self.aud];
        if let Some(pattern) = pattern {
            params.push(pattern);
        }
        params
    }
}

type ParamRef<'a> = &'a (dyn ToSql + Sync);

/// A pattern for `like` that matches the text anywhere, whatever signs are in it.
pub(super) fn substring(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for sign in text.chars() {
        if matches!(sign, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(sign);
    }
    pattern.push('%');
    pattern
}

/// By age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    NewestFirst,
    OldestFirst,
}

impl Order {
    /// `sort=created_at asc`, several times if need be: with one column, the first decides.
    fn parse(asked: &Pairs) -> Result<Self, AuthError> {
        let sorts = asked.iter().filter(|(name, _)| name == "sort");
        let orders: Result<Vec<Self>, AuthError> = sorts.map(|(_, sort)| Self::one(sort)).collect();
        Ok(orders?.first().copied().unwrap_or(Self::NewestFirst))
    }

    fn one(sort: &str) -> Result<Self, AuthError> {
        let (field, direction) = sort.split_once(' ').unwrap_or((sort, "desc"));
        if field != "created_at" {
            return Err(AuthError::invalid(format!(
                "Bad Sort Parameters: bad field for sort '{field}'"
            )));
        }
        match direction.to_ascii_lowercase().as_str() {
            "asc" => Ok(Self::OldestFirst),
            "desc" => Ok(Self::NewestFirst),
            _ => Err(AuthError::invalid(format!(
                "Bad Sort Parameters: bad direction for sort '{direction}', only 'asc' and \
                 'desc' allowed"
            ))),
        }
    }

    /// How rows that come later compare with one.
    fn beyond(self) -> &'static str {
        match self {
            Self::NewestFirst => "<",
            Self::OldestFirst => ">",
        }
    }

    fn as_sql(self) -> &'static str {
        match self {
            Self::NewestFirst => "desc",
            Self::OldestFirst => "asc",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_age_sorts() {
        let check = |query, expected| {
            assert_eq!(Order::parse(&pairs(Some(query))).ok(), expected, "{query}");
        };
        check("", Some(Order::NewestFirst));
        check("sort=created_at", Some(Order::NewestFirst));
        check("sort=created_at%20asc", Some(Order::OldestFirst));
        check(
            "sort=created_at+DESC&sort=created_at+asc",
            Some(Order::NewestFirst),
        );
        check("sort=email", None);
        check("sort=created_at%20up", None);
        check("sort=", None);
        check("sort=created_at%20asc&sort=id", None);
    }

    #[test]
    fn a_filter_is_a_text_and_no_pattern() {
        assert_eq!(substring("a_b%c\\"), "%a\\_b\\%c\\\\%");
    }
}
