//! Queries for what only the database can decide: whether an unusual filter matches, what an unusual
//! value is as JSON, whether a filter is valid. Many values go in one statement.

use plinth_db::{DbError, PgError, Queries};

use super::{
    ChangeRequest, Filter, Table,
    request::ChangeRequestError,
    table::{Column, Rights},
};

const EVALUATE_FILTERS: &str = "
    select coalesce(
        realtime.check_equality_op(q.op::realtime.equality_op, q.type::regtype, q.value, q.operand, q.negate),
        false
    ) as matches
    from unnest($1::text[], $2::oid[], $3::text[], $4::text[], $5::boolean[])
        with ordinality as q (op, type, value, operand, negate, place)
    order by q.place";

const CAST_TO_JSON: &str = "
    select realtime.cast(q.value, q.type::regtype)::text as json
    from unnest($1::text[], $2::oid[]) with ordinality as q (value, type, place)
    order by q.place";

const CHECK_FILTER: &str = "
    select realtime.check_filter(
        row($1::text, $2::text::realtime.equality_op, $3::text, $4::boolean)::realtime.user_defined_filter,
        $5::oid::regtype
    )::text";

/// A value to be compared with a filter.
#[derive(Debug, Clone, Copy)]
pub struct FilterQuery<'a> {
    pub filter: &'a Filter,
    /// The column's type.
    pub type_oid: u32,
    /// `None` for NULL.
    pub value: Option<&'a str>,
}

/// Whether each value matches, in the order of the queries.
pub async fn evaluate_filters(
    db: &mut impl Queries,
    queries: &[FilterQuery<'_>],
) -> Result<Vec<bool>, DbError> {
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let operators: Vec<_> = queries.iter().map(|q| q.filter.operator.name()).collect();
    let types: Vec<_> = queries.iter().map(|q| q.type_oid).collect();
    let values: Vec<_> = queries.iter().map(|q| q.value).collect();
    let operands: Vec<_> = queries.iter().map(|q| q.filter.value.as_str()).collect();
    let negations: Vec<_> = queries.iter().map(|q| q.filter.is_negated).collect();
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&operators, &types, &values, &operands, &negations];
    let rows = db.query(EVALUATE_FILTERS, &params).await?;
    rows.iter().map(|row| row.try_get("matches")).collect()
}

/// A value that only the database can convert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCast {
    pub type_oid: u32,
    pub text: String,
}

/// JSON for each value, in their order.
pub async fn cast_to_json(
    db: &mut impl Queries,
    casts: &[ValueCast],
) -> Result<Vec<Vec<u8>>, DbError> {
    if casts.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<_> = casts.iter().map(|q| q.text.as_str()).collect();
    let types: Vec<_> = casts.iter().map(|q| q.type_oid).collect();
    let rows = db.query(CAST_TO_JSON, &[&texts, &types]).await?;
    let json = |row: &plinth_db::Row| row.try_get::<_, String>("json").map(String::into_bytes);
    rows.iter().map(json).collect()
}

/// Validates a request for a table and a role, by the rules of the table `realtime.subscription`. The
/// outer error means that the database could not be asked, the inner one that the request is invalid.
pub async fn validate_request(
    db: &mut impl Queries,
    request: &ChangeRequest,
    table: &Table,
    rights: &Rights,
) -> Result<Result<(), ChangeRequestError>, DbError> {
    let readable = |name: &str| table.column(name).filter(|column| rights.can_read(column));
    let raised = |text: String| Ok(Err(request.database_error(&PgError::new("P0001", text))));
    for filter in &request.filters {
        let Some(column) = readable(&filter.column) else {
            return raised(format!("invalid column for filter {}", filter.column));
        };
        if let Err(error) = check_filter(db, filter, column).await {
            return match error.pg_error() {
                Some(error) => Ok(Err(request.database_error(error))),
                None => Err(error),
            };
        }
    }
    for name in request.select.iter().flatten() {
        if readable(name).is_none() {
            return raised(format!("invalid column for select {name}"));
        }
    }
    Ok(Ok(()))
}

async fn check_filter(
    db: &mut impl Queries,
    filter: &Filter,
    column: &Column,
) -> Result<(), DbError> {
    let operator = filter.operator.name();
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] = [
        &filter.column,
        &operator,
        &filter.value,
        &filter.is_negated,
        &column.type_oid,
    ];
    db.query(CHECK_FILTER, &params).await.map(drop)
}
