//! Pagination cursor.
//!
//! Every stored record has one position: its time, then its stream, segment and offset. Positions
//! order all records totally, so "before this position" continues a search without repeating or
//! leaving out any, even between records of the same microsecond.

use std::{fmt, str::FromStr};

use crate::{QueryError, Source, Timestamp, is_valid_project};

/// The position of a record in the total order. The order of the fields matters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) time: Timestamp,
    pub(crate) project: String,
    pub(crate) source: Source,
    pub(crate) segment: String,
    pub(crate) offset: u64,
}

/// End of a page. Opaque to clients; its content may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub(crate) Position);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position {
            time,
            project,
            source,
            segment,
            offset,
        } = &self.0;
        write!(
            f,
            "{}.{project}.{source}.{segment}.{offset}",
            time.as_micros()
        )
    }
}

impl FromStr for Cursor {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        parse(text).map(Self).ok_or(QueryError::InvalidCursor)
    }
}

fn parse(text: &str) -> Option<Position> {
    let mut parts = text.split('.');
    let position = Position {
        time: Timestamp::from_micros(parts.next()?.parse().ok()?),
        project: parts
            .next()
            .filter(|project| is_valid_project(project))?
            .to_owned(),
        source: parts.next()?.parse().ok()?,
        segment: parts.next().filter(|segment| is_stamp(segment))?.to_owned(),
        offset: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(position)
}

fn is_stamp(segment: &str) -> bool {
    segment.len() == 22 && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back() {
        let cursor = Cursor(Position {
            time: Timestamp::from_micros(-5),
            project: "shop-2_eu".to_owned(),
            source: Source::Postgres,
            segment: "20260801T100000000009Z".to_owned(),
            offset: 4711,
        });

        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }

    #[test]
    fn anything_else_is_rejected() {
        for text in [
            "",
            "1",
            "1.shop.api.20260801T100000000009Z",
            "1.shop.api.20260801T100000000009Z.1.2",
            "x.shop.api.20260801T100000000009Z.1",
            "1.../up.api.20260801T100000000009Z.1",
            "1.shop.kong.20260801T100000000009Z.1",
            "1.shop.api.../../etc/passwd.1",
        ] {
            assert_eq!(
                text.parse::<Cursor>(),
                Err(QueryError::InvalidCursor),
                "{text}"
            );
        }
    }
}
