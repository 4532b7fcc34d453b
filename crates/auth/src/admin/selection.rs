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
/// The same, found by what `$3` says must be there.
const MATCHES_BY_TRIGRAMS: &str = "
    (auth.search_trigrams(u.email) operator(pg_catalog.@>) $3 and u.email like $2
     or auth.search_trigrams(u.raw_user_meta_data->>'full_name') operator(pg_catalog.@>) $3
         and u.raw_user_meta_data->>'full_name' ilike $2)";

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
        let search = self.search(db).await?;
        let mut params = self.params(&search);
        let mut condition = self.condition(&search);
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
        let columns = users::COLUMNS;
        let limit = format!("limit ${first} offset ${second}");
        // The id makes pages fit together where many rows were made at once.
        let sql = match self.filter {
            None => format!(
                "select {columns} from auth.users u where {condition}
                 order by u.created_at {direction}, u.id {direction} {limit}"
            ),
            // Found first and ordered then: reading in order until enough rows fit would mean
            // reading all where few do.
            Some(_) => format!(
                "with matching as materialized (
                     select u.id, u.created_at from auth.users u where {condition}
                 ), page as (
                     select * from matching order by created_at {direction}, id {direction} {limit}
                 )
                 select {columns} from page p join auth.users u on u.id = p.id
                 order by p.created_at {direction}, p.id {direction}"
            ),
        };
        let rows = db.query(&sql, &params).await?;
        rows.iter().map(User::from_row).collect()
    }

    pub(super) async fn count(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let search = self.search(db).await?;
        let condition = self.condition(&search);
        let sql = format!("select count(*) as total from auth.users u where {condition}");
        let total: i64 = match db.query_opt(&sql, &self.params(&search)).await? {
            Some(row) => row.try_get("total")?,
            None => 0,
        };
        Ok(total.unsigned_abs())
    }

    /// How the filter is looked for, if there is one. A schema that another program made has no
    /// index for it.
    async fn search(&self, db: &mut impl Queries) -> Result<Option<Search>, DbError> {
        let Some(filter) = self.filter else {
            return Ok(None);
        };
        let mut trigrams = trigrams(filter);
        if !trigrams.is_empty() {
            let sql = "select to_regprocedure('auth.search_trigrams(text)') is not null";
            let row = db.query_opt(sql, &[]).await?;
            if !row.is_some_and(|row| row.try_get(0).unwrap_or(false)) {
                trigrams.clear();
            }
        }
        let pattern = substring(filter);
        Ok(Some(Search { pattern, trigrams }))
    }

    /// The `where` clause; its parameters are the audience and what is searched for.
    fn condition(&self, search: &Option<Search>) -> String {
        match search {
            None => IN_AUDIENCE.to_owned(),
            Some(search) if search.trigrams.is_empty() => format!("{IN_AUDIENCE} and {MATCHES}"),
            Some(_) => format!("{IN_AUDIENCE} and {MATCHES_BY_TRIGRAMS}"),
        }
    }

    fn params<'b>(&'b self, search: &'b Option<Search>) -> Vec<ParamRef<'b>> {
        let mut params: Vec<ParamRef<'b>> = vec![&self.aud];
        if let Some(search) = search {
            params.push(&search.pattern);
            if !search.trigrams.is_empty() {
                params.push(&search.trigrams);
            }
        }
        params
    }
}

/// A text that is looked for.
struct Search {
    pattern: String,
    /// What every text has that it is a part of; nothing if that says nothing.
    trigrams: Vec<String>,
}

/// As the index has them, which knows small and capital letters of ASCII only.
fn trigrams(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let plain = letters
        .windows(3)
        .filter(|three| three.iter().all(char::is_ascii));
    let mut trigrams: Vec<String> = plain
        .map(|three| three.iter().map(char::to_ascii_lowercase).collect())
        .collect();
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
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

    #[test]
    fn three_letters_that_every_locale_writes_alike_narrow_a_search() {
        assert_eq!(trigrams("ABCabcd"), ["abc", "bca", "bcd", "cab"]);
        assert_eq!(trigrams("Jürgen"), ["gen", "rge"]);
        assert_eq!(trigrams("ab"), [""; 0]);
        assert_eq!(trigrams("äöü"), [""; 0]);
    }
}
