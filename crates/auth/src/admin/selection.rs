//! Which users a list is of.

use plinth_db::{DbError, Queries};
use postgres_types::ToSql;

use super::{cursor::Position, order::Order};
use crate::model::{User, users};

/// Which users.
pub(super) struct Selection<'a> {
    pub(super) aud: &'a str,
    pub(super) filter: Option<&'a str>,
}

/// Where reading begins.
#[derive(Clone, Copy)]
pub(super) enum From {
    TheTop,
    /// A row that was seen before.
    After(Position),
    /// A row that was seen before, if it is still there, and those after it.
    Milestone(Position),
}

/// Whom `$1` is the audience of. Rows of seeds have no instance.
pub(super) const IN_AUDIENCE: &str = "(u.instance_id = '00000000-0000-0000-0000-000000000000'
                                       or u.instance_id is null) and u.aud = $1";
const MATCHES: &str = "(u.email like $2 or u.raw_user_meta_data->>'full_name' ilike $2)";

impl Selection<'_> {
    /// Rows from somewhere on, without the first `skip`.
    pub(super) async fn read(
        &self,
        db: &mut impl Queries,
        order: Order,
        from: From,
        limit: i64,
        skip: i64,
    ) -> Result<Vec<User>, DbError> {
        let pattern = self.filter.map(substring);
        let mut params = self.params(&pattern);
        let mut condition = self.condition();
        let start = match &from {
            From::TheTop => None,
            From::After(row) => Some((order.beyond(), "", row)),
            From::Milestone(row) => Some((order.beyond(), "=", row)),
        };
        if let Some((beyond, itself, row)) = start {
            let (first, second) = (params.len() + 1, params.len() + 2);
            condition +=
                &format!(" and (u.created_at, u.id) {beyond}{itself} (${first}, ${second})");
            params.push(&row.created_at);
            params.push(&row.id);
        }
        let (first, second) = (params.len() + 1, params.len() + 2);
        params.push(&limit);
        params.push(&skip);
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

    pub(super) async fn count(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let pattern = self.filter.map(substring);
        let condition = self.condition();
        let sql = format!("select count(*) as total from auth.users u where {condition}");
        let total: i64 = match db.query_opt(&sql, &self.params(&pattern)).await? {
            Some(row) => row.try_get("total")?,
            None => 0,
        };
        Ok(total.unsigned_abs())
    }

    /// The `where` clause; its parameters are the audience and, with a filter, the pattern.
    fn condition(&self) -> String {
        match self.filter {
            None => IN_AUDIENCE.to_owned(),
            Some(_) => format!("{IN_AUDIENCE} and {MATCHES}"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_text_and_no_pattern() {
        assert_eq!(substring("a_b%c\\"), "%a\\_b\\%c\\\\%");
    }
}
