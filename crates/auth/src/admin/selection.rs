//! Which users a list is of.

use plinth_db::{DbError, Queries, Row};
use postgres_types::ToSql;

use super::{
    cursor::Position,
    order::Order,
    search::{Search, Source},
};
use crate::{
    model::{User, users},
    request::Context,
};

/// Which users.
pub(super) struct Selection<'a> {
    pub(super) aud: &'a str,
    pub(super) filter: Option<&'a str>,
    search: Option<Search>,
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

impl<'a> Selection<'a> {
    pub(super) async fn new(
        context: &'a Context,
        db: &mut impl Queries,
        filter: Option<&'a str>,
    ) -> Result<Self, DbError> {
        let search = match filter {
            None => None,
            Some(text) => {
                let index = &context.state.user_search;
                let common = index.common_pieces(db, context.now).await?;
                Some(Search::new(text, common.as_deref()))
            }
        };
        Ok(Self {
            aud: context.audience(),
            filter,
            search,
        })
    }

    /// Rows from somewhere on, without the first `skip`.
    pub(super) async fn read(
        &self,
        db: &mut impl Queries,
        order: Order,
        from: From,
        limit: i64,
        skip: i64,
    ) -> Result<Vec<User>, DbError> {
        let rows = self.rows(db, order, from, limit, skip).await?;
        rows.iter().map(User::from_row).collect()
    }

    /// Those of a search without the first `skip`, and how many there are in all.
    pub(super) async fn search(
        &self,
        db: &mut impl Queries,
        order: Order,
        limit: i64,
        skip: i64,
    ) -> Result<(Vec<User>, u64), DbError> {
        let rows = self.rows(db, order, From::TheTop, limit, skip).await?;
        let total = match rows.first() {
            Some(row) => row.try_get::<_, i64>("total")?.unsigned_abs(),
            None if skip == 0 => 0,
            None => self.count(db).await?,
        };
        let users = rows.iter().map(User::from_row);
        Ok((users.collect::<Result<_, _>>()?, total))
    }

    async fn rows(
        &self,
        db: &mut impl Queries,
        order: Order,
        from: From,
        limit: i64,
        skip: i64,
    ) -> Result<Vec<Row>, DbError> {
        let mut params = self.params();
        let (source, mut condition) = self.source();
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
                "select {columns} from {source} u where {condition}
                 order by u.created_at {direction}, u.id {direction} {limit}"
            ),
            // Found first and ordered then: reading in order until enough rows fit would mean
            // reading all where few do.
            Some(_) => format!(
                "with matching as materialized (
                     select u.id, u.created_at from {source} u where {condition}
                 ), page as (
                     select * from matching order by created_at {direction}, id {direction} {limit}
                 )
                 select {columns}, (select count(*) from matching) as total
                 from page p join auth.users u on u.id = p.id
                 order by p.created_at {direction}, p.id {direction}"
            ),
        };
        db.query(&sql, &params).await
    }

    async fn count(&self, db: &mut impl Queries) -> Result<u64, DbError> {
        let (source, condition) = self.source();
        let sql = format!("select count(*) as total from {source} u where {condition}");
        let total: i64 = match db.query_opt(&sql, &self.params()).await? {
            Some(row) => row.try_get("total")?,
            None => 0,
        };
        Ok(total.unsigned_abs())
    }

    /// Where the rows come from, and the `where` clause; its parameters are the audience and what is
    /// searched for.
    fn source(&self) -> (&'static str, String) {
        let Some(search) = &self.search else {
            return ("auth.users", IN_AUDIENCE.to_owned());
        };
        match search.source() {
            Source::Users(matches) => ("auth.users", format!("{IN_AUDIENCE} and {matches}")),
            Source::Found(found) => (found, "true".to_owned()),
        }
    }

    fn params(&self) -> Vec<ParamRef<'_>> {
        let mut params: Vec<ParamRef<'_>> = vec![&self.aud];
        params.extend(self.search.iter().flat_map(Search::params));
        params
    }
}

type ParamRef<'a> = &'a (dyn ToSql + Sync);
