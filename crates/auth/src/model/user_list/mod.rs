//! Lists of users: all of an audience, or those that a search finds, ordered by age.

mod common_pieces;
mod positions;
mod search;

use plinth_db::{DbError, Queries, Row};
use postgres_types::ToSql;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{User, users};

pub(crate) use common_pieces::CommonPieces;
pub(crate) use positions::{
    Segment, UserOrder, count_before, count_in, count_undated, count_with_segments, read_every_nth,
};
use search::Source;
pub(crate) use search::{Pieces, Search};

type ParamRef<'a> = &'a (dyn ToSql + Sync);

/// Users of the audience `$1`. Rows of seeds have no instance.
const IN_AUDIENCE: &str = "(u.instance_id = '00000000-0000-0000-0000-000000000000'
                            or u.instance_id is null) and u.aud = $1";

/// The position of a row in a list. The newer the user, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) created_at: OffsetDateTime,
    pub(crate) id: Uuid,
}

impl Position {
    pub(crate) fn of(user: &User) -> Self {
        Self {
            created_at: user.created_at,
            id: user.id,
        }
    }
}

/// The order of a list, by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    NewestFirst,
    OldestFirst,
}

impl Order {
    /// How rows that come later compare with one.
    fn later(self) -> &'static str {
        match self {
            Self::NewestFirst => "<",
            Self::OldestFirst => ">",
        }
    }

    /// How rows that come earlier compare with one.
    fn earlier(self) -> &'static str {
        match self {
            Self::NewestFirst => ">",
            Self::OldestFirst => "<",
        }
    }

    fn direction(self) -> &'static str {
        match self {
            Self::NewestFirst => "desc",
            Self::OldestFirst => "asc",
        }
    }

    /// Whether a row comes earlier than another.
    pub(crate) fn is_before(self, row: Position, other: Position) -> bool {
        match self {
            Self::NewestFirst => row > other,
            Self::OldestFirst => row < other,
        }
    }
}

/// Where reading begins.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    First,
    /// Behind a row.
    After(Position),
    /// At a row, or where it would be if it were still there.
    At(Position),
}

/// Which users.
pub(crate) struct UserList<'a> {
    aud: &'a str,
    search: Option<Search>,
}

impl<'a> UserList<'a> {
    pub(crate) fn new(aud: &'a str, search: Option<Search>) -> Self {
        Self { aud, search }
    }

    pub(crate) fn audience(&self) -> &'a str {
        self.aud
    }

    pub(crate) fn is_search(&self) -> bool {
        self.search.is_some()
    }

    /// Rows from `start` on, without the first `skip`.
    pub(crate) async fn read(
        &self,
        db: &mut impl Queries,
        order: Order,
        start: Start,
        limit: i64,
        skip: i64,
    ) -> Result<Vec<User>, DbError> {
        let rows = self.rows(db, order, start, limit, skip).await?;
        rows.iter().map(User::from_row).collect()
    }

    /// Rows that a search finds, without the first `skip`, and how many it finds in all.
    pub(crate) async fn read_search(
        &self,
        db: &mut impl Queries,
        order: Order,
        limit: i64,
        skip: i64,
    ) -> Result<(Vec<User>, u64), DbError> {
        let rows = self.rows(db, order, Start::First, limit, skip).await?;
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
        start: Start,
        limit: i64,
        skip: i64,
    ) -> Result<Vec<Row>, DbError> {
        let mut params = self.params();
        let (source, mut condition) = self.source();
        let start = match &start {
            Start::First => None,
            Start::After(row) => Some((order.later(), "", row)),
            Start::At(row) => Some((order.later(), "=", row)),
        };
        if let Some((later, or_equal, row)) = start {
            let (first, second) = (params.len() + 1, params.len() + 2);
            condition +=
                &format!(" and (u.created_at, u.id) {later}{or_equal} (${first}, ${second})");
            params.push(&row.created_at);
            params.push(&row.id);
        }
        let (first, second) = (params.len() + 1, params.len() + 2);
        params.push(&limit);
        params.push(&skip);
        let direction = order.direction();
        let columns = users::COLUMNS;
        let limit = format!("limit ${first} offset ${second}");
        // The id makes the order unique where many rows were inserted at once.
        let sql = match self.search {
            None => format!(
                "select {columns} from {source} u where {condition}
                 order by u.created_at {direction}, u.id {direction} {limit}"
            ),
            // Materialized, because reading in order until enough rows match would read the whole
            // table where few do.
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

    /// What the rows are selected from, and the `where` clause; their parameters are those of
    /// [`Self::params`].
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
