//! Timestamps in requests.

use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

/// Parses a timestamp, in UTC. `None` if it is invalid or not representable in PostgreSQL: an offset
/// may move it beyond the year 9999.
pub fn parse_time(text: &str) -> Option<OffsetDateTime> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let time = time.checked_to_offset(UtcOffset::UTC)?;
    (time.year() > 0).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_sent_to_postgres_is_no_time() {
        let time = parse_time("2026-01-31T12:00:00+02:00").expect("a time");
        assert_eq!((time.hour(), time.offset()), (10, UtcOffset::UTC));
        for text in [
            "9999-12-31T23:59:59-23:59",
            "0000-01-01T00:00:00+23:59",
            "0000-06-01T00:00:00Z",
            "2026-01-31",
            "",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
