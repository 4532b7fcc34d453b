//! LSNs, and the timestamps of the replication protocol.

use std::{fmt, str::FromStr};

use time::{Duration, OffsetDateTime, macros::datetime};

/// PostgreSQL counts microseconds from here.
const EPOCH: OffsetDateTime = datetime!(2000-01-01 0:00 UTC);

/// A log sequence number: a position in the WAL, written as `16/B374D848`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before every position.
    pub const ZERO: Self = Self(0);
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 as u32)
    }
}

/// A text that is not an LSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in the write-ahead log")]
pub struct BadLsn;

impl FromStr for Lsn {
    type Err = BadLsn;

    fn from_str(text: &str) -> Result<Self, BadLsn> {
        let half = |digits: &str| {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = is_plain.then(|| u32::from_str_radix(digits, 16).ok());
            number.flatten().ok_or(BadLsn)
        };
        let (high, low) = text.split_once('/').ok_or(BadLsn)?;
        Ok(Self(u64::from(half(high)?) << 32 | u64::from(half(low)?)))
    }
}

/// Converts a server timestamp, clamped to what the type can hold.
pub(super) fn time_at(microseconds: i64) -> OffsetDateTime {
    EPOCH.saturating_add(Duration::microseconds(microseconds))
}

/// The current time as a server timestamp.
pub(super) fn microseconds_now() -> i64 {
    (OffsetDateTime::now_utc() - EPOCH).whole_microseconds() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        for (number, text) in [
            (0, "0/0"),
            (0x16_B374_D848, "16/B374D848"),
            (u64::MAX, "FFFFFFFF/FFFFFFFF"),
        ] {
            assert_eq!(Lsn(number).to_string(), text);
            assert_eq!(text.parse(), Ok(Lsn(number)));
        }
        for wrong in [
            "",
            "/",
            "1",
            "1/",
            "/1",
            "1/G",
            "+1/1",
            "1/1/1",
            "100000000/0",
        ] {
            assert_eq!(wrong.parse::<Lsn>(), Err(BadLsn), "{wrong}");
        }
    }

    #[test]
    fn time_begins_with_the_year_2000_and_never_overflows() {
        assert_eq!(time_at(1_500_000), datetime!(2000-01-01 0:00:01.5 UTC));
        assert!(time_at(i64::MAX) > time_at(0) && time_at(i64::MIN) < time_at(0));
        let now = OffsetDateTime::now_utc() - time_at(microseconds_now());
        assert!(now.abs() < Duration::seconds(1));
    }
}
