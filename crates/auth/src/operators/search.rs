//! Searches for users: parameters, cursor, total.

use data_encoding::BASE64URL_NOPAD;
use plinth_db::{DbError, Queries};
use plinth_project::{AdministrationError, SortOrder as Direction, UserPage, UserSearch, UserSort};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Outcome, invalid, user_object};
use crate::{
    model::{
        UserBody,
        user_list::CommonPieces,
        user_search::{
            self, Filter, IdPrefix, KeyValue, Metadata, PhonePrefix, Position, SortKey, SortOrder,
            Text,
        },
    },
    request::RequestContext,
    wire_time,
};

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 200;
/// Longer texts are in no column.
const MAX_TEXT_CHARS: usize = 300;

/// A search of a million users without an index takes about a second.
const SEARCH_TIMEOUT_MS: &str = "10000";
/// Above that, the planner's estimate has to do.
const COUNT_TIMEOUT_MS: &str = "2000";

/// The JSON inside a cursor, which is opaque to clients. It names the order, because it is a position in
/// that order only.
#[derive(Serialize, Deserialize)]
struct CursorJson {
    sort: UserSort,
    order: Direction,
    key: Option<String>,
    id: Uuid,
}

pub(super) async fn search(context: &RequestContext, search: &UserSearch) -> Outcome<UserPage> {
    let order = order_of(search);
    let after = given(&search.cursor).map(|text| {
        parse_cursor(text, order)
            .ok_or_else(|| invalid("cursor: it is not one of this list's order"))
    });
    let after = after.transpose()?;
    let limit = search.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(invalid(format!("limit: 1 to {MAX_LIMIT}")));
    }
    let filter = filter_of(context, search).await?;

    let mut db = context.begin().await?;
    set_timeout(&mut db, SEARCH_TIMEOUT_MS).await?;
    let found = user_search::read(&mut db, &filter, order, after.as_ref(), limit + 1).await;
    let mut found = found.map_err(too_slow)?;
    db.commit().await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = found.len() > size;
    found.truncate(size);
    let next = found.last().filter(|_| has_more);
    let next = next.map(|last| render_cursor(&last.position, order));

    let total = if search.count.unwrap_or(after.is_none()) {
        Some(count(context, &filter).await?)
    } else {
        None
    };
    let users = found.into_iter().map(|found| {
        let body = UserBody::with_relations(found.user, found.relations);
        user_object(&body)
    });
    Ok(UserPage {
        users: users.collect::<Outcome<_>>()?,
        next,
        total: total.map(|total| total.users),
        is_estimate: total.is_some_and(|total| total.is_estimate),
    })
}

/// In a transaction of its own, which ends if counting takes too long.
async fn count(context: &RequestContext, filter: &Filter) -> Outcome<user_search::Total> {
    let mut db = context.begin().await?;
    set_timeout(&mut db, COUNT_TIMEOUT_MS).await?;
    let total = user_search::count(&mut db, filter).await?;
    db.rollback().await?;
    Ok(total)
}

pub(super) async fn set_timeout(
    db: &mut impl Queries,
    milliseconds: &'static str,
) -> Result<(), DbError> {
    let sql = "select pg_catalog.set_config('statement_timeout', $1, true)";
    db.query(sql, &[&milliseconds]).await?;
    Ok(())
}

pub(super) fn too_slow(error: DbError) -> AdministrationError {
    let is_cancelled = error
        .sqlstate()
        .is_some_and(|state| state.code() == "57014");
    if is_cancelled {
        invalid("The search takes too long; narrow it, or sort by the age of accounts")
    } else {
        error.into()
    }
}

fn order_of(search: &UserSearch) -> SortOrder {
    let key = match search.sort.unwrap_or_default() {
        UserSort::CreatedAt => SortKey::CreatedAt,
        UserSort::LastSignInAt => SortKey::LastSignInAt,
        UserSort::Email => SortKey::Email,
        UserSort::Phone => SortKey::Phone,
    };
    let is_time = matches!(key, SortKey::CreatedAt | SortKey::LastSignInAt);
    let is_descending = match search.order {
        Some(direction) => direction == Direction::Desc,
        None => is_time,
    };
    SortOrder { key, is_descending }
}

async fn filter_of(context: &RequestContext, search: &UserSearch) -> Outcome<Filter> {
    let mut filter = Filter {
        phone: parse("phone", &search.phone, PhonePrefix::parse)?,
        id: parse("id", &search.id, IdPrefix::parse)?,
        metadata: parse("metadata", &search.metadata, Metadata::parse)?,
        is_confirmed: search.confirmed,
        is_banned: search.banned,
        is_anonymous: search.anonymous,
        has_factor: search.mfa,
        provider: given(&search.provider).map(str::to_owned),
        signed_in_since: time("signed_in_since", &search.signed_in_since)?,
        signed_in_until: time("signed_in_until", &search.signed_in_until)?,
        now: Some(context.now),
        ..Filter::default()
    };
    let texts = [&search.q, &search.email, &search.name].map(given);
    if texts.iter().all(Option::is_none) {
        return Ok(filter);
    }
    let is_long = |text: &&str| text.chars().count() > MAX_TEXT_CHARS;
    if texts.iter().flatten().any(is_long) {
        return Err(invalid(format!(
            "q, email, name: at most {MAX_TEXT_CHARS} characters"
        )));
    }
    let mut db = context.db().await?;
    let common = context
        .state
        .common_pieces
        .get(&mut db, context.now)
        .await?;
    let common: Option<&CommonPieces> = common.as_deref();
    let [q, email, name] = texts.map(|text| text.map(|text| Text::new(text, common)));
    filter.anything = q;
    filter.email = email;
    filter.name = name;
    Ok(filter)
}

/// A parameter that is there and not blank.
pub(super) fn given(text: &Option<String>) -> Option<&str> {
    let text = text.as_deref()?.trim();
    (!text.is_empty()).then_some(text)
}

fn parse<T>(
    name: &str,
    text: &Option<String>,
    read: impl Fn(&str) -> Option<T>,
) -> Outcome<Option<T>> {
    let parsed = given(text).map(|text| {
        read(text).ok_or_else(|| invalid(format!("{name}: {text:?} cannot be searched for")))
    });
    parsed.transpose()
}

pub(super) fn time(name: &str, text: &Option<String>) -> Outcome<Option<OffsetDateTime>> {
    let parsed = given(text).map(|text| {
        plinth_db::parse_time(text).ok_or_else(|| {
            invalid(format!(
                "{name}: {text:?} is no time, as in 2026-01-31T12:00:00Z"
            ))
        })
    });
    parsed.transpose()
}

fn wire_order(order: SortOrder) -> (UserSort, Direction) {
    let sort = match order.key {
        SortKey::CreatedAt => UserSort::CreatedAt,
        SortKey::LastSignInAt => UserSort::LastSignInAt,
        SortKey::Email => UserSort::Email,
        SortKey::Phone => UserSort::Phone,
    };
    let direction = if order.is_descending {
        Direction::Desc
    } else {
        Direction::Asc
    };
    (sort, direction)
}

fn render_cursor(position: &Position, order: SortOrder) -> String {
    let (sort, order) = wire_order(order);
    let key = position.key.as_ref().map(|key| match key {
        KeyValue::Time(time) => wire_time::render(*time),
        KeyValue::Text(text) => text.clone(),
    });
    let cursor = CursorJson {
        sort,
        order,
        key,
        id: position.id,
    };
    BASE64URL_NOPAD.encode(&serde_json::to_vec(&cursor).unwrap_or_default())
}

fn parse_cursor(text: &str, order: SortOrder) -> Option<Position> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
    let cursor: CursorJson = serde_json::from_slice(&bytes).ok()?;
    if (cursor.sort, cursor.order) != wire_order(order) {
        return None;
    }
    let key = match cursor.key {
        None => None,
        Some(text) => Some(match order.key {
            SortKey::CreatedAt | SortKey::LastSignInAt => {
                KeyValue::Time(plinth_db::parse_time(&text)?)
            }
            SortKey::Email | SortKey::Phone => KeyValue::Text(text),
        }),
    };
    Some(Position { key, id: cursor.id })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_cursor_is_a_position_in_its_own_order() {
        let order = |key, is_descending| SortOrder { key, is_descending };
        let id = crate::random::uuid();
        for (key, value) in [
            (
                SortKey::CreatedAt,
                Some(KeyValue::Time(datetime!(2026-01-02 03:04:05.678901 UTC))),
            ),
            (
                SortKey::Email,
                Some(KeyValue::Text("a\"b@ü.test".to_owned())),
            ),
            (SortKey::Phone, None),
        ] {
            let position = Position { key: value, id };
            let text = render_cursor(&position, order(key, true));

            assert_eq!(parse_cursor(&text, order(key, true)), Some(position));
            assert_eq!(parse_cursor(&text, order(key, false)), None);
            assert_eq!(
                parse_cursor(&text, order(SortKey::LastSignInAt, true)),
                None
            );
        }
    }

    proptest! {
        #[test]
        fn any_cursor_is_read_or_rejected(text in ".*") {
            let order = SortOrder { key: SortKey::CreatedAt, is_descending: true };
            let _ = parse_cursor(&text, order);
        }
    }
}
