//! Positions in lists that are ordered by time and id, newest first: what a cursor contains.

use std::{fmt, str::FromStr};

use time::OffsetDateTime;
use uuid::Uuid;

/// The row after which a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyset {
    /// Its time, to the microsecond, as PostgreSQL stores it.
    pub at: OffsetDateTime,
    /// Its id.
    pub id: Uuid,
}

impl fmt::Display for Keyset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.at.unix_timestamp_nanos() / 1000;
        write!(formatter, "{micros}_{}", self.id.simple())
    }
}

impl FromStr for Keyset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (micros, id) = text.split_once('_')?;
            let nanos = i128::from(micros.parse::<i64>().ok()?).checked_mul(1000)?;
            let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?;
            let id = id.parse().ok()?;
            (at.year() > 0).then_some(Self { at, id })
        };
        parsed().ok_or_else(|| format!("{text:?} is no cursor of this list"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_back() {
        let position = Keyset {
            at: OffsetDateTime::from_unix_timestamp_nanos(1_785_578_400_000_001_000)
                .expect("a time"),
            id: Uuid::from_u128(7),
        };

        assert_eq!(position.to_string().parse(), Ok(position));
    }

    #[test]
    fn any_other_text_is_rejected() {
        for text in [
            "",
            "_",
            "1",
            "1_",
            "x_00000000000000000000000000000007",
            "9999999999999999999_1",
            "-99999999999999999_00000000000000000000000000000007",
        ] {
            assert!(text.parse::<Keyset>().is_err(), "{text}");
        }
    }
}
