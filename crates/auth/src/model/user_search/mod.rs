//! Searches of operators in `auth.users`: conditions, order, keyset paging, number of matches.
//!
//! Users of every audience are found. A list has two segments: rows with a sort key, then those
//! without one, so that each can be read from an index.

mod conditions;
mod count;
mod metadata;
mod prefix;

use plinth_db::{DbError, Queries, Row};
use postgres_types::ToSql;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{User, UserRelations, users};

pub(crate) use conditions::{Filter, Text};
pub(crate) use count::{Total, count};
pub(crate) use metadata::Metadata;
pub(crate) use prefix::{IdPrefix, PhonePrefix};

/// SQL after `where`, and its parameters.
#[derive(Default)]
pub(crate) struct Conditions {
    clauses: Vec<String>,
    params: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Conditions {
    /// Adds a parameter; returns its placeholder.
    fn bind(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.params.push(Box::new(value));
        format!("${}", self.params.len())
    }

    fn add(&mut self, clause: impl Into<String>) {
        self.clauses.push(clause.into());
    }

    fn sql(&self) -> String {
        match self.clauses.join(" and ") {
            all if all.is_empty() => "true".to_owned(),
            all => all,
        }
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let params = self.params.iter();
        params
            .map(|param| &**param as &(dyn ToSql + Sync))
            .collect()
    }
}

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortKey {
    CreatedAt,
    LastSignInAt,
    Email,
    Phone,
}

/// A sort key's value in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyValue {
    Time(OffsetDateTime),
    Text(String),
}

/// The position of a row: its key, if it has one, and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) key: Option<KeyValue>,
    pub(crate) id: Uuid,
}

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortOrder {
    pub(crate) key: SortKey,
    pub(crate) is_descending: bool,
}

impl SortKey {
    fn expression(self) -> &'static str {
        match self {
            Self::CreatedAt => "u.created_at",
            Self::LastSignInAt => "u.last_sign_in_at",
            Self::Email => "lower(u.email)",
            Self::Phone => "u.phone",
        }
    }

    /// Not of the expression: partial indexes name the column.
    fn column(self) -> &'static str {
        match self {
            Self::Email => "u.email",
            other => other.expression(),
        }
    }

    fn read(self, row: &Row) -> Result<Option<KeyValue>, DbError> {
        Ok(match self {
            Self::CreatedAt | Self::LastSignInAt => {
                row.try_get::<_, Option<_>>("sort_key")?.map(KeyValue::Time)
            }
            Self::Email | Self::Phone => {
                row.try_get::<_, Option<_>>("sort_key")?.map(KeyValue::Text)
            }
        })
    }
}

/// A user of a page.
pub(crate) struct Found {
    pub(crate) user: User,
    pub(crate) relations: UserRelations,
    pub(crate) position: Position,
}

/// Rows behind `after`, with identities and factors.
pub(crate) async fn read(
    db: &mut impl Queries,
    filter: &Filter,
    order: SortOrder,
    after: Option<&Position>,
    limit: i64,
) -> Result<Vec<Found>, DbError> {
    let mut found = Vec::new();
    if after.is_none_or(|after| after.key.is_some()) {
        let mut conditions = filter.conditions();
        conditions.add(format!("{} is not null", order.key.column()));
        add_position(&mut conditions, order, after);
        found = read_segment(db, conditions, order, true, limit).await?;
    }
    let left = limit - i64::try_from(found.len()).unwrap_or(limit);
    if left > 0 {
        let mut conditions = filter.conditions();
        conditions.add(format!("{} is null", order.key.column()));
        add_position(
            &mut conditions,
            order,
            after.filter(|after| after.key.is_none()),
        );
        found.extend(read_segment(db, conditions, order, false, left).await?);
    }
    Ok(found)
}

/// Rows behind a position of the same segment.
fn add_position(conditions: &mut Conditions, order: SortOrder, after: Option<&Position>) {
    let Some(Position { key, id }) = after else {
        return;
    };
    let compare = if order.is_descending { "<" } else { ">" };
    let expression = order.key.expression();
    let key = match key {
        Some(KeyValue::Time(time)) => Some(conditions.bind(*time)),
        Some(KeyValue::Text(text)) => Some(conditions.bind(text.clone())),
        None => None,
    };
    let id = conditions.bind(*id);
    conditions.add(match key {
        Some(key) => format!("({expression}, u.id) {compare} ({key}, {id})"),
        None => format!("u.id {compare} {id}"),
    });
}

async fn read_segment(
    db: &mut impl Queries,
    mut conditions: Conditions,
    order: SortOrder,
    has_key: bool,
    limit: i64,
) -> Result<Vec<Found>, DbError> {
    let direction = if order.is_descending { "desc" } else { "asc" };
    let expression = order.key.expression();
    let by_key = if has_key {
        format!("{expression} {direction}, ")
    } else {
        String::new()
    };
    let limit = conditions.bind(limit);
    let sql = format!(
        "select {}, {}, {expression} as sort_key
         from auth.users u where {}
         order by {by_key}u.id {direction} limit {limit}",
        users::COLUMNS,
        UserRelations::columns(),
        conditions.sql(),
    );
    let rows = db.query(&sql, &conditions.params()).await?;
    let found = rows.iter().map(|row| {
        let user = User::from_row(row)?;
        let position = Position {
            key: order.key.read(row)?,
            id: user.id,
        };
        Ok(Found {
            relations: UserRelations::from_row(row)?,
            user,
            position,
        })
    });
    found.collect()
}
