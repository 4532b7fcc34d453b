//! A moment in UTC, to the microsecond, with one fixed spelling.
//!
//! Every timestamp is written as 27 ASCII characters (`2026-08-01T10:00:00.123456Z`), so that
//! texts sort as times do and a reader can judge a line before parsing it.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// A moment in UTC, in microseconds since 1970, within the years 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest moment that can be written: the start of the year 0.
    pub const MIN: Self = Self(-62_167_219_200_000_000);
    /// The last moment that can be written: the end of the year 9999.
    pub const MAX: Self = Self(253_402_300_799_999_999);
    /// How many bytes the written form takes.
    pub(crate) const TEXT_LEN: usize = 27;

    /// What the system's clock says.
    pub fn now() -> Self {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
            }
        };
        Self::from_micros(micros)
    }

    /// Microseconds since 1970; values outside the years 0 to 9999 move to the nearest end.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Microseconds since 1970.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment plus `duration`, at most [`Timestamp::MAX`].
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(micros_of(duration)))
    }

    /// This moment minus `duration`, at least [`Timestamp::MIN`].
    pub fn saturating_sub(self, duration: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(micros_of(duration)))
    }

    /// The written form. Every record has one, so it is made without the formatting machinery.
    pub(crate) fn text(self) -> [u8; Self::TEXT_LEN] {
        let moment = OffsetDateTime::from(self);
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        write_digits(&mut text[..4], moment.year().unsigned_abs());
        write_digits(&mut text[5..7], u8::from(moment.month()).into());
        write_digits(&mut text[8..10], moment.day().into());
        write_digits(&mut text[11..13], moment.hour().into());
        write_digits(&mut text[14..16], moment.minute().into());
        write_digits(&mut text[17..19], moment.second().into());
        write_digits(&mut text[20..26], moment.microsecond());
        text
    }

    /// The UTC day, counted from 1970-01-01.
    pub(crate) fn day(self) -> i64 {
        self.0.div_euclid(MICROS_PER_DAY)
    }

    /// The start of the next UTC day.
    pub(crate) fn end_of_day(self) -> Self {
        Self::from_micros((self.day() + 1) * MICROS_PER_DAY)
    }
}

/// Writes `number` over all of `digits`, with leading zeros.
fn write_digits(digits: &mut [u8], number: u32) {
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

fn micros_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl From<OffsetDateTime> for Timestamp {
    fn from(moment: OffsetDateTime) -> Self {
        let micros = moment.unix_timestamp_nanos().div_euclid(1000);
        Self::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

impl From<Timestamp> for OffsetDateTime {
    fn from(moment: Timestamp) -> Self {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(moment.0) * 1000)
            .expect("a timestamp lies within the years 0 to 9999")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Timestamp {
    type Err = time::error::Parse;

    /// Reads any RFC 3339 time, whatever its offset and precision.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        OffsetDateTime::parse(text, &Rfc3339).map(Self::from)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_form_has_fixed_length_and_reads_back() {
        for micros in [0, 1, -1, 1_785_578_400_123_456, i64::MIN, i64::MAX] {
            let moment = Timestamp::from_micros(micros);
            let text = moment.to_string();

            assert_eq!(text.len(), Timestamp::TEXT_LEN, "{text}");
            assert_eq!(text.parse::<Timestamp>().unwrap(), moment);
        }
        assert_eq!(
            Timestamp::from_micros(1).to_string(),
            "1970-01-01T00:00:00.000001Z"
        );
    }

    #[test]
    fn offsets_are_converted_to_utc() {
        let there: Timestamp = "2026-08-01T12:00:00+02:00".parse().unwrap();
        let here: Timestamp = "2026-08-01T10:00:00Z".parse().unwrap();

        assert_eq!(there, here);
    }

    #[test]
    fn days_before_1970_are_whole_days_too() {
        assert_eq!(Timestamp::from_micros(-1).day(), -1);
        assert_eq!(Timestamp::from_micros(0).day(), 0);
        assert_eq!(Timestamp::from_micros(MICROS_PER_DAY).day(), 1);
        assert_eq!(
            Timestamp::from_micros(-1).end_of_day(),
            Timestamp::from_micros(0)
        );
    }

    #[test]
    fn arithmetic_stops_at_the_ends() {
        assert_eq!(Timestamp::MAX.saturating_add(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.saturating_sub(Duration::MAX), Timestamp::MIN);
    }
}
