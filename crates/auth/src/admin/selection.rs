//! Which users a list is of.

use plinth_db::{DbError, Queries};
use postgres_types::ToSql;
use tokio::sync::OnceCell;

use super::{cursor::Position, order::Order, search::Search};
use crate::model::{User, users};

/// Which users.
pub(super) struct Selection<'a> {
    pub(super) aud: &'a str,
    pub(super) filter: Option<&'a str>,
    search: OnceCell<Search>,
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
    pub(super) fn new(aud: &'a str, filter: Option<&'a str>) -> Self {
        Self {
            aud,
            filter,
            search: OnceCell::new(),
        }
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
        let search = self.search(db).await?;
        let mut params = self.params(search);
        let mut condition = self.condition(search);
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
        let condition = self.condition(search);
        let sql = format!("select count(*) as total from auth.users u where {condition}");
        let total: i64 = match db.query_opt(&sql, &self.params(search)).await? {
            Some(row) => row.try_get("total")?,
            None => 0,
        };
        Ok(total.unsigned_abs())
    }

    /// How the filter is looked for, if there is one.
    async fn search(&self, db: &mut impl Queries) -> Result<Option<&Search>, DbError> {
        let Some(filter) = self.filter else {
            return Ok(None);
        };
        let prepare = async || Search::prepare(db, filter).await;
        self.search.get_or_try_init(prepare).await.map(Some)
    }

    /// The `where` clause; its parameters are the audience and what is searched for.
    fn condition(&self, search: Option<&Search>) -> String {
        match search {
            None => IN_AUDIENCE.to_owned(),
            Some(search) => format!("{IN_AUDIENCE} and {}", search.condition()),
        }
    }

    fn params<'b>(&'b self, search: Option<&'b Search>) -> Vec<ParamRef<'b>> {
        let mut params: Vec<ParamRef<'b>> = vec![&self.aud];
        params.extend(search.into_iter().flat_map(Search::params));
        params
    }
}

type ParamRef<'a> = &'a (dyn ToSql + Sync);
