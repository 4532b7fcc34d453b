//! `GET /admin/users`: all users of the audience, a page at a time.

use axum::{Json, extract::RawQuery, response::IntoResponse};
use plinth_db::{DbError, Queries};
use postgres_types::ToSql;
use serde::Serialize;

use super::{
    Page,
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
}

/// `GET /admin/users`
pub(crate) async fn list(
    context: Context,
    _admin: Admin,
    RawQuery(query): RawQuery,
) -> Result<impl IntoResponse, AuthError> {
    let asked = pairs(query.as_deref());
    let page = Page::parse(&asked)?;
    let order = Order::parse(&asked)?;
    let selection = Selection {
        aud: context.audience(),
        filter: value(&asked, "filter"),
    };

    let mut db = context.db().await?;
    // One more than asked for tells whether there is another page.
    let mut rows = selection.read(&mut db, order, page).await?;
    let has_more = rows.len() as u64 > page.limit().unsigned_abs();
    rows.truncate(usize::try_from(page.limit()).unwrap_or(usize::MAX));
    let total = selection.total(&context, &mut db).await?;
    let total = Totals::settle(total, page.rows_seen(rows.len()), has_more);

    let users = rows.into_iter();
    let body = ListBody {
        users: users
            .map(|user| UserBody::new(user, None, Vec::new()))
            .collect(),
        aud: selection.aud.to_owned(),
    };
    Ok((page.headers("/admin/users", &asked, total), Json(body)))
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

    async fn read(
        &self,
        db: &mut impl Queries,
        order: Order,
        page: Page,
    ) -> Result<Vec<User>, DbError> {
        let direction = order.as_sql();
        let condition = self.condition();
        let pattern = self.filter.map(substring);
        let (limit, offset) = (page.limit() + 1, page.offset());
        let mut params = self.params(&pattern);
        let (first, second) = (params.len() + 1, params.len() + 2);
        params.push(&limit);
        params.push(&offset);
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
