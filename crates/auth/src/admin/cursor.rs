//! Lists by cursor: each page continues behind the last row of the one before, without count or
//! offset. Used where the project enables it and the request names no page number.

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use serde_json::{Value, json};
use url::form_urlencoded;
use uuid::Uuid;

use crate::{
    AuthError,
    model::user_list::Position,
    request::page::{QueryPairs, find_value, parse_number},
    wire_time,
};

const DEFAULT_SIZE: u64 = 50;
const MAX_SIZE: u64 = 1000;

/// `limit` and `cursor` of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) limit: i64,
    pub(super) after: Option<Position>,
}

/// The JSON inside of a cursor, which is opaque to clients.
#[derive(Deserialize)]
struct CursorJson {
    created_at: String,
    id: Uuid,
}

impl Cursor {
    pub(super) fn parse(query_pairs: &QueryPairs) -> Result<Self, AuthError> {
        let limit = parse_number(query_pairs, "limit")?.unwrap_or(DEFAULT_SIZE);
        if limit == 0 {
            return Err(AuthError::validation_failed(
                "Bad Pagination Parameters: limit must be greater than 0",
            ));
        }
        let after = find_value(query_pairs, "cursor").map(|text| {
            parse_position(text).ok_or_else(|| {
                AuthError::validation_failed(
                    "Bad Pagination Parameters: the cursor is none of ours",
                )
            })
        });
        Ok(Self {
            limit: i64::try_from(limit.min(MAX_SIZE)).unwrap_or(i64::MAX),
            after: after.transpose()?,
        })
    }
}

fn parse_position(text: &str) -> Option<Position> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
    let json: CursorJson = serde_json::from_slice(&bytes).ok()?;
    let created_at = plinth_db::parse_time(&json.created_at)?;
    Some(Position {
        created_at,
        id: json.id,
    })
}

fn render_position(position: Position) -> String {
    let created_at = wire_time::render(position.created_at);
    let json = json!({ "created_at": created_at, "id": position.id });
    BASE64URL_NOPAD.encode(json.to_string().as_bytes())
}

/// `pagination` of the body.
pub(super) fn body(next: Option<Position>) -> Value {
    match next {
        Some(next) => json!({ "next_cursor": render_position(next), "has_more": true }),
        None => json!({ "has_more": false }),
    }
}

/// `Link`, while there is a next page.
pub(super) fn headers(path: &str, query_pairs: &QueryPairs, next: Option<Position>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(next) = next else {
        return headers;
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("cursor", &render_position(next));
    let others = query_pairs.iter();
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

    use super::*;
    use crate::request::page::parse_pairs;

    #[test]
    fn a_position_is_read_as_it_was_rendered() {
        let position = Position {
            created_at: datetime!(2026-01-02 03:04:05.678901 UTC),
            id: crate::random::uuid(),
        };

        assert_eq!(parse_position(&render_position(position)), Some(position));
    }

    #[test]
    fn limits_and_cursors_are_checked() {
        let limit = |query| {
            Cursor::parse(&parse_pairs(Some(query)))
                .ok()
                .map(|it| it.limit)
        };
        assert_eq!(limit(""), Some(50));
        assert_eq!(limit("limit=7&cursor="), Some(7));
        assert_eq!(limit("limit=5000"), Some(1000));
        for query in ["limit=0", "limit=-1", "limit=x", "cursor=x", "cursor=e30"] {
            assert_eq!(limit(query), None, "{query}");
        }
    }

    proptest! {
        #[test]
        fn any_cursor_is_read_or_rejected(text in ".*") {
            let _ = parse_position(&text);
        }
    }
}
