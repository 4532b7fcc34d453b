//! What only the database can tell: whether an unusual filter fits, what an unusual value looks
//! like as JSON, whether a filter makes sense at all. Many questions are one statement.

use plinth_db::{DbError, PgError, Queries};

use super::{
    ChangeRequest, Filter, Table,
    request::BadRequest,
    table::{Column, Rights},
};

const FITS: &str = "
    select coalesce(
        realtime.check_equality_op(q.op::realtime.equality_op, q.type::regtype, q.value, q.operand, q.negate),
        false
    ) as fits
    from unnest($1::text[], $2::oid[], $3::text[], $4::text[], $5::boolean[])
        with ordinality as q (op, type, value, operand, negate, place)
    order by q.place";

const AS_JSON: &str = "
    select realtime.cast(q.value, q.type::regtype)::text as json
    from unnest($1::text[], $2::oid[]) with ordinality as q (value, type, place)
    order by q.place";

const CHECK_FILTER: &str = "
    select realtime.check_filter(
        row($1::text, $2::text::realtime.equality_op, $3::text, $4::boolean)::realtime.user_defined_filter,
        $5::oid::regtype
    )::text";

/// Whether a value fits a filter.
#[derive(Debug, Clone, Copy)]
pub struct FilterQuestion<'a> {
    pub filter: &'a Filter,
    /// The column's type.
    pub type_oid: u32,
    /// `None` for NULL.
    pub value: Option<&'a str>,
}

/// Answers in the order of the questions.
pub async fn fits(
    db: &mut impl Queries,
    questions: &[FilterQuestion<'_>],
) -> Result<Vec<bool>, DbError> {
    if questions.is_empty() {
        return Ok(Vec::new());
    }
    let operators: Vec<_> = questions.iter().map(|q| q.filter.operator.name()).collect();
    let types: Vec<_> = questions.iter().map(|q| q.type_oid).collect();
    let values: Vec<_> = questions.iter().map(|q| q.value).collect();
    let operands: Vec<_> = questions.iter().map(|q| q.filter.value.as_str()).collect();
    let negations: Vec<_> = questions.iter().map(|q| q.filter.is_negated).collect();
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&operators, &types, &values, &operands, &negations];
    let rows = db.query(FITS, &params).await?;
    rows.iter().map(|row| row.try_get("fits")).collect()
}

/// What an unusual value looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueQuestion {
    pub type_oid: u32,
    pub text: String,
}

/// JSON for each value, in their order.
pub async fn as_json(
    db: &mut impl Queries,
    questions: &[ValueQuestion],
) -> Result<Vec<Vec<u8>>, DbError> {
    if questions.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<_> = questions.iter().map(|q| q.text.as_str()).collect();
    let types: Vec<_> = questions.iter().map(|q| q.type_oid).collect();
    let rows = db.query(AS_JSON, &[&texts, &types]).await?;
    let json = |row: &plinth_db::Row| row.try_get::<_, String>("json").map(String::into_bytes);
    rows.iter().map(json).collect()
}

/// Whether a request makes sense for a table and a role, by the rules of the table
/// `realtime.subscription`. The outer error is the database's absence, the inner one the answer.
pub async fn check(
    db: &mut impl Queries,
    request: &ChangeRequest,
    table: &Table,
    rights: &Rights,
) -> Result<Result<(), BadRequest>, DbError> {
    let readable = |name: &str| table.column(name).filter(|column| rights.can_read(column));
    let raised = |text: String| Ok(Err(request.refused(&PgError::new("P0001", text))));
    for filter in &request.filters {
        let Some(column) = readable(&filter.column) else {
            return raised(format!("invalid column for filter {}", filter.column));
        };
        if let Err(error) = check_filter(db, filter, column).await {
            return match error.refusal() {
                Some(refusal) => Ok(Err(request.refused(refusal))),
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
