//! What is asked of the database to make milestones and to use them.

use std::{ops::RangeInclusive, sync::Arc};

use plinth_db::{DbError, Params, Queries, Row};
use postgres_types::ToSql;
use time::OffsetDateTime;

use super::{
    super::{cursor::Position, order::Order, selection::IN_AUDIENCE},
    INTERVAL, List, Milestones, Stretch,
};

/// How many rows are read at once to make milestones, even if fewer would do: whoever reads on will
/// need them. What was read is not lost when the rest takes too long for a request.
const STEPS: RangeInclusive<u64> = 20_000..=250_000;

const COUNT: &str = "select count(*) as number from auth.users u where";

type ParamRef<'a> = &'a (dyn ToSql + Sync);

/// Rows that are an interval apart, from a milestone on, or the top, for about so many rows. None of
/// them is younger than `until`, and none lacks the time.
pub(in crate::admin) async fn read_on(
    db: &mut impl Queries,
    list: List<'_>,
    from: Option<Position>,
    wanted: u64,
    until: OffsetDateTime,
) -> Result<Vec<Position>, DbError> {
    let (beyond, direction) = (list.order.beyond(), list.order.as_sql());
    let start = match from {
        Some(_) => format!("and (u.created_at, u.id) {beyond}= ($5, $6)"),
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
    let limit = wanted.clamp(*STEPS.start(), *STEPS.end()) + 1;
    let (limit, interval) = (limit.cast_signed(), INTERVAL.cast_signed());
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

/// How many rows come before a milestone. Those without a time are the newest.
pub(in crate::admin) async fn count_before(
    db: &mut impl Queries,
    list: List<'_>,
    milestone: Position,
) -> Result<u64, DbError> {
    let before = list.order.before();
    let mut sql = format!("{COUNT} {IN_AUDIENCE} and (u.created_at, u.id) {before} ($2, $3)");
    if list.order == Order::NewestFirst {
        sql =
            format!("select ({sql}) + ({COUNT} {IN_AUDIENCE} and u.created_at is null) as number");
    }
    let params: Params<'_> = &[&list.aud, &milestone.created_at, &milestone.id];
    number(db, &sql, params).await
}

/// How many rows there are in a stretch.
pub(in crate::admin) async fn count_in(
    db: &mut impl Queries,
    list: List<'_>,
    Stretch { start, end, .. }: Stretch,
) -> Result<u64, DbError> {
    let between = between(list.order, 2);
    let sql = format!("{COUNT} {IN_AUDIENCE} and {between}");
    let Position { created_at, id } = &start;
    number(
        db,
        &sql,
        &[&list.aud, created_at, id, &end.created_at, &end.id],
    )
    .await
}

/// How many rows there are in all, and for each of these milestones, how many there are between
/// the first and the last.
pub(in crate::admin) async fn count_all(
    db: &mut impl Queries,
    aud: &str,
    milestones: &[Arc<Milestones>],
) -> Result<(u64, Vec<u64>), DbError> {
    let mut columns = "count(*) as total".to_owned();
    let ends = milestones.iter().map(|it| (it.first().row, it.last().row));
    let ends: Vec<(Position, Position)> = ends.collect();
    let mut params: Vec<ParamRef<'_>> = vec![&aud];
    for (index, (milestones, (first, last))) in milestones.iter().zip(&ends).enumerate() {
        let between = between(milestones.order, params.len() + 1);
        columns += &format!(", count(*) filter (where {between}) as spanned_{index}");
        params.extend([&first.created_at as ParamRef<'_>, &first.id]);
        params.extend([&last.created_at as ParamRef<'_>, &last.id]);
    }
    let sql = format!("select {columns} from auth.users u where {IN_AUDIENCE}");
    let Some(row) = db.query_opt(&sql, &params).await? else {
        return Ok((0, vec![0; milestones.len()]));
    };
    let number = |column: &str| -> Result<u64, DbError> {
        let number: i64 = row.try_get(column)?;
        Ok(number.unsigned_abs())
    };
    let spanned = (0..milestones.len()).map(|index| number(&format!("spanned_{index}")));
    Ok((number("total")?, spanned.collect::<Result<_, _>>()?))
}

/// A condition whose parameters are two places, of which the first one is numbered so.
fn between(order: Order, first: usize) -> String {
    let (beyond, before) = (order.beyond(), order.before());
    let numbers = [first, first + 1, first + 2, first + 3].map(|number| format!("${number}"));
    let [from, from_id, to, to_id] = numbers;
    format!(
        "(u.created_at, u.id) {beyond}= ({from}, {from_id})
         and (u.created_at, u.id) {before} ({to}, {to_id})"
    )
}

/// How many rows have no time.
pub(in crate::admin) async fn count_undated(
    db: &mut impl Queries,
    list: List<'_>,
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
