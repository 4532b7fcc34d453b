//! Lists that go on from the last row seen: no count, no offset. Used where the project wants it
//! and the caller names no page.

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use url::form_urlencoded;
use uuid::Uuid;

use super::page::{Pairs, number, value};
use crate::{AuthError, model::User, wire_time};

const DEFAULT_SIZE: u64 = 50;
const MAX_SIZE: u64 = 1000;

/// The place of a row in the list: where a page ended, say. The newer, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) created_at: OffsetDateTime,
    pub(super) id: Uuid,
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) limit: i64,
    pub(super) after: Option<Position>,
}

/// How a position travels; to clients it is a word without meaning.
#[derive(Serialize, Deserialize)]
struct Written {
    created_at: String,
    id: Uuid,
}

impl Cursor {
    /// `limit` and `cursor`.
    pub(super) fn parse(asked: &Pairs) -> Result<Self, AuthError> {
        let limit = number(asked, "limit")?.unwrap_or(DEFAULT_SIZE);
        if limit == 0 {
            return Err(AuthError::invalid(
                "Bad Pagination Parameters: limit must be greater than 0",
            ));
        }
        let after = value(asked, "cursor").map(|text| {
            Position::parse(text).ok_or_else(|| {
                AuthError::invalid("Bad Pagination Parameters: the cursor is none of ours")
            })
        });
        Ok(Self {
            limit: i64::try_from(limit.min(MAX_SIZE)).unwrap_or(i64::MAX),
            after: after.transpose()?,
        })
    }
}

impl Position {
    pub(super) fn of(user: &User) -> Self {
        Self {
            created_at: user.created_at,
            id: user.id,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let written: Written = serde_json::from_slice(&bytes).ok()?;
        let created_at = plinth_db::parse_time(&written.created_at)?;
        Some(Self {
            created_at,
            id: written.id,
        })
    }

    fn render(self) -> String {
        let written = json!({ "created_at": wire_time::render(self.created_at), "id": self.id });
        BASE64URL_NOPAD.encode(written.to_string().as_bytes())
    }
}

/// `pagination` of the body.
pub(super) fn body(next: Option<Position>) -> Value {
    match next {
        Some(next) => json!({ "next_cursor": next.render(), "has_more": true }),
        None => json!({ "has_more": false }),
    }
}

/// `Link`, while there is a next page.
pub(super) fn headers(path: &str, asked: &Pairs, next: Option<Position>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(next) = next else {
        return headers;
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("cursor", &next.render());
    let others = asked.iter();
    query.extend_pairs(others.filter(|(name, _)| name != "page" && name != "cursor"));
    let link = format!("<{path}?{}>; rel=\"next\"", query.finish());
    if let Ok(link) = HeaderValue::from_str(&link) {
        headers.insert(header::LINK, link);
    }
    headers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::{super::page::pairs, *};

    #[test]
    fn a_position_survives_its_way() {
        let position = Position {
            created_at: datetime!(2026-01-02 03:04:05.678901 UTC),
            id: crate::random::uuid(),
        };

        assert_eq!(Position::parse(&position.render()), Some(position));
    }

    #[test]
    fn limits_and_cursors_are_checked() {
        let limit = |query| Cursor::parse(&pairs(Some(query))).ok().map(|it| it.limit);
        assert_eq!(limit(""), Some(50));
        assert_eq!(limit("limit=7&cursor="), Some(7));
        assert_eq!(limit("limit=5000"), Some(1000));
        for query in ["limit=0", "limit=-1", "limit=x", "cursor=x", "cursor=e30"] {
            assert_eq!(limit(query), None, "{query}");
        }
    }

    proptest! {
        #[test]
        fn any_cursor_is_read_or_refused(text in ".*") {
            let _ = Position::parse(&text);
        }
    }
}
