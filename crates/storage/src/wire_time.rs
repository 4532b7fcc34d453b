//! Times in responses: UTC with milliseconds, truncated (storage contract §1.3).

use serde::Serializer;
use time::{OffsetDateTime, UtcOffset};

/// `2021-02-17T04:43:32.770Z`
pub(crate) fn render(time: OffsetDateTime) -> String {
    let time = time.checked_to_offset(UtcOffset::UTC).unwrap_or(time);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    )
}

/// For `#[serde(serialize_with = "wire_time::option")]`.
pub(crate) fn option<S: Serializer>(
    time: &Option<OffsetDateTime>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => out.serialize_str(&render(*time)),
        None => out.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn times_are_truncated_to_milliseconds() {
        let time = datetime!(2021-02-17 06:43:32.770999 +2);
        assert_eq!(render(time), "2021-02-17T04:43:32.770Z");
    }
}
