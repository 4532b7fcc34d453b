//! Times in JSON: RFC 3339 in UTC with microseconds, without trailing zeros (auth contract §1.2).

use serde::Serializer;
use time::{OffsetDateTime, UtcOffset};

/// `2026-01-02T10:11:12.1234Z`
pub(crate) fn render(time: OffsetDateTime) -> String {
    let time = time.to_offset(UtcOffset::UTC);
    let mut text = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    );
    let micros = time.microsecond();
    if micros > 0 {
        let digits = format!(".{micros:06}");
        text.push_str(digits.trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// For `#[serde(serialize_with = "wire_time::serialize")]`.
pub(crate) fn serialize<S: Serializer>(time: &OffsetDateTime, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&render(*time))
}

/// The same for optional times.
pub(crate) mod option {
    use super::{OffsetDateTime, Serializer, render};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<OffsetDateTime>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => out.serialize_str(&render(*time)),
            None => out.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn zeros_at_the_end_of_the_fraction_are_left_out() {
        let check = |time, expected| assert_eq!(render(time), expected);
        check(datetime!(2026-01-02 10:11:12 UTC), "2026-01-02T10:11:12Z");
        check(
            datetime!(2026-01-02 10:11:12.1 UTC),
            "2026-01-02T10:11:12.1Z",
        );
        check(
            datetime!(2026-01-02 12:11:12.123456 +2),
            "2026-01-02T10:11:12.123456Z",
        );
    }
}
