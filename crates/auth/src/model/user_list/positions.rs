//! Counting rows between positions of a list, and reading every n-th position, so that pages far
//! down need not be read from the top.

use std::ops::RangeInclusive;

use plinth_db::{DbError, Params, Queries, Row};
use time::OffsetDateTime;

use super::{IN_AUDIENCE, Order, ParamRef, Position};

/// How many rows one statement of [`read_every_nth`] reads, even if fewer are wanted: who reads on
/// will need them. What was read is kept when the request times out before the rest.
const ROWS_PER_READ: RangeInclusive<u64> = 20_000..=250_000;

const COUNT: &str = "select count(*) as number from auth.users u where";

/// Users of an audience, in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserOrder<'a> {
    pub(crate) aud: &'a str,
    pub(crate) order: Order,
}

/// The rows from `start` up to, but without, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

/// Every `interval`-th position after `from`, or after the first row, over about `wanted` rows. None
/// is younger than `until`, and none lacks `created_at`.
pub(crate) async fn read_every_nth(
    db: &mut impl Queries,
    list: UserOrder<'_>,
    interval: u64,
    from: Option<Position>,
    wanted: u64,
    until: OffsetDateTime,
) -> Result<Vec<Position>, DbError> {
    let (later, direction) = (list.order.later(), list.order.direction());
    let start = match from {
        Some(_) => format!("and (u.created_at, u.id) {later}= ($5, $6)"),
        None => String::new(),
    };
    let sql = format!(
        "select created_at, id from (
           select u.created_at, u.id,
             row_number() over (order by u.created_at {direction}, u.id {direction}) as number
           from auth.users u where {IN_AUDIENCE} and u.created_at < $2 {start}
           order by u.created_at {direction}, u.id {direction} limit $3
         ) numbered
         where number > 1 and number % $4 = 1 order by number"
    );
    let limit = wanted.clamp(*ROWS_PER_READ.start(), *ROWS_PER_READ.end()) + 1;
    let (limit, interval) = (limit.cast_signed(), interval.cast_signed());
    let mut params: Vec<ParamRef<'_>> = vec![&list.aud, &until, &limit, &interval];
    if let Some(Position { created_at, id }) = &from {
        params.push(created_at);
        params.push(id);
    }
    let rows = db.query(&sql, &params).await?;
    let position = |row: &Row| {
        Ok(Position {
            created_at: row.try_get("created_at")?,
            id: row.try_get("id")?,
        })
    };
    rows.iter().map(position).collect()
}

/// How many rows come before a position. Those without `created_at` are the newest.
pub(crate) async fn count_before(
    db: &mut impl Queries,
    list: UserOrder<'_>,
    position: Position,
) -> Result<u64, DbError> {
    let earlier = list.order.earlier();
    let mut sql = format!("{COUNT} {IN_AUDIENCE} and (u.created_at, u.id) {earlier} ($2, $3)");
    if list.order == Order::NewestFirst {
        sql =
            format!("select ({sql}) + ({COUNT} {IN_AUDIENCE} and u.created_at is null) as number");
    }
    let params: Params<'_> = &[&list.aud, &position.created_at, &position.id];
    number(db, &sql, params).await
}

/// How many rows there are in a segment.
pub(crate) async fn count_in(
    db: &mut impl Queries,
    list: UserOrder<'_>,
    Segment { start, end }: Segment,
) -> Result<u64, DbError> {
    let is_inside = is_inside(list.order, 2);
    let sql = format!("{COUNT} {IN_AUDIENCE} and {is_inside}");
    let params: Params<'_> = &[
        &list.aud,
        &start.created_at,
        &start.id,
        &end.created_at,
        &end.id,
    ];
    number(db, &sql, params).await
}

/// How many rows there are in all, and in each of these segments, in one statement.
pub(crate) async fn count_with_segments(
    db: &mut impl Queries,
    aud: &str,
    segments: &[(Order, Segment)],
) -> Result<(u64, Vec<u64>), DbError> {
    let mut columns = "count(*) as total".to_owned();
    let mut params: Vec<ParamRef<'_>> = vec![&aud];
    for (index, (order, Segment { start, end })) in segments.iter().enumerate() {
        let is_inside = is_inside(*order, params.len() + 1);
        columns += &format!(", count(*) filter (where {is_inside}) as inside_{index}");
        params.extend([&start.created_at as ParamRef<'_>, &start.id]);
        params.extend([&end.created_at as ParamRef<'_>, &end.id]);
    }
    let sql = format!("select {columns} from auth.users u where {IN_AUDIENCE}");
    let Some(row) = db.query_opt(&sql, &params).await? else {
        return Ok((0, vec![0; segments.len()]));
    };
    let number = |column: &str| -> Result<u64, DbError> {
        let number: i64 = row.try_get(column)?;
        Ok(number.unsigned_abs())
    };
    let inside = (0..segments.len()).map(|index| number(&format!("inside_{index}")));
    Ok((number("total")?, inside.collect::<Result<_, _>>()?))
}

/// A condition whose parameters are the ends of a segment, from this number on.
fn is_inside(order: Order, first: usize) -> String {
    let (later, earlier) = (order.later(), order.earlier());
    let numbers = [first, first + 1, first + 2, first + 3].map(|number| format!("${number}"));
    let [start, start_id, end, end_id] = numbers;
    format!(
        "(u.created_at, u.id) {later}= ({start}, {start_id})
         and (u.created_at, u.id) {earlier} ({end}, {end_id})"
    )
}

/// How many rows have no `created_at`.
pub(crate) async fn count_undated(
    db: &mut impl Queries,
    list: UserOrder<'_>,
) -> Result<u64, DbError> {
    let sql = format!("{COUNT} {IN_AUDIENCE} and u.created_at is null");
    number(db, &sql, &[&list.aud]).await
}

async fn number(db: &mut impl Queries, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
    let number: i64 = match db.query_opt(sql, params).await? {
        Some(row) => row.try_get("number")?,
        None => 0,
    };
    Ok(number.unsigned_abs())
}
