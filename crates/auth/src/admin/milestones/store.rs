//! What is asked of the database to make milestones and to use them. Rows of seeds that lack the
//! time are among the newest, outside of all milestones.

use plinth_db::{DbError, Params, Queries};
use time::OffsetDateTime;

use super::{
    super::{cursor::Position, order::Order, selection::IN_AUDIENCE},
    INTERVAL, Milestones,
};

const COUNT: &str = "select count(*) as number from auth.users u where";

/// What counting all rows tells.
pub(in crate::admin) struct Counted {
    pub(in crate::admin) total: u64,
    /// How many of them are between the first and the last milestone.
    pub(in crate::admin) spanned: u64,
}

/// Reads the whole list, of rows that were there at that time.
pub(in crate::admin) async fn make(
    db: &mut impl Queries,
    aud: &str,
    until: OffsetDateTime,
) -> Result<Option<Milestones>, DbError> {
    let sql = format!(
        "select created_at, id from (
           select u.created_at, u.id,
             row_number() over (order by u.created_at desc, u.id desc) as number
           from auth.users u where {IN_AUDIENCE} and u.created_at < $2
         ) numbered
         where number > $3 and number % $3 = 1"
    );
    let interval = INTERVAL.cast_signed();
    let rows = db.query(&sql, &[&aud, &until, &interval]).await?;
    let positions: Result<Vec<Position>, DbError> = rows
        .iter()
        .map(|row| {
            Ok(Position {
                created_at: row.try_get("created_at")?,
                id: row.try_get("id")?,
            })
        })
        .collect();
    Ok(Milestones::new(positions?, INTERVAL))
}

/// Reads the whole list.
pub(in crate::admin) async fn count(
    db: &mut impl Queries,
    aud: &str,
    milestones: &Milestones,
) -> Result<Counted, DbError> {
    let sql = format!(
        "select count(*) as total, count(*) filter (where {SPANNED}) as spanned
         from auth.users u where {IN_AUDIENCE}"
    );
    let (newest, oldest) = milestones.ends();
    let Position { created_at, id } = &newest;
    let params: Params<'_> = &[&aud, created_at, id, &oldest.created_at, &oldest.id];
    let (total, spanned): (i64, i64) = match db.query_opt(&sql, params).await? {
        Some(row) => (row.try_get("total")?, row.try_get("spanned")?),
        None => (0, 0),
    };
    Ok(Counted {
        total: total.unsigned_abs(),
        spanned: spanned.unsigned_abs(),
    })
}

/// With the newer end as `$2` and `$3`, the older one as `$4` and `$5`.
const SPANNED: &str = "(u.created_at, u.id) <= ($2, $3) and (u.created_at, u.id) > ($4, $5)";

/// How many rows there are between two milestones.
pub(in crate::admin) async fn count_between(
    db: &mut impl Queries,
    aud: &str,
    newer: Position,
    older: Position,
) -> Result<u64, DbError> {
    let sql = format!("{COUNT} {IN_AUDIENCE} and {SPANNED}");
    let Position { created_at, id } = &newer;
    number(
        db,
        &sql,
        &[&aud, created_at, id, &older.created_at, &older.id],
    )
    .await
}

/// How many rows come before a milestone.
pub(in crate::admin) async fn count_before(
    db: &mut impl Queries,
    aud: &str,
    order: Order,
    milestone: Position,
) -> Result<u64, DbError> {
    let before = order.before_milestone();
    let mut sql = format!("{COUNT} {IN_AUDIENCE} and (u.created_at, u.id) {before} ($2, $3)");
    if order == Order::NewestFirst {
        sql =
            format!("select ({sql}) + ({COUNT} {IN_AUDIENCE} and u.created_at is null) as number");
    }
    number(db, &sql, &[&aud, &milestone.created_at, &milestone.id]).await
}

/// How many rows have no time.
pub(in crate::admin) async fn count_undated(
    db: &mut impl Queries,
    aud: &str,
) -> Result<u64, DbError> {
    let sql = format!("{COUNT} {IN_AUDIENCE} and u.created_at is null");
    number(db, &sql, &[&aud]).await
}

async fn number(db: &mut impl Queries, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
    let number: i64 = match db.query_opt(sql, params).await? {
        Some(row) => row.try_get("number")?,
        None => 0,
    };
    Ok(number.unsigned_abs())
}
