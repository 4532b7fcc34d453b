//! Ban durations, in the format of Go: `1h30m`.

use time::Duration;

use crate::AuthError;

/// A change of a user's ban.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ban {
    Lift,
    /// From now on.
    For(Duration),
}

impl Ban {
    /// `none` or a duration; empty is no change.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, AuthError> {
        match text {
            "" => Ok(None),
            "none" => Ok(Some(Self::Lift)),
            _ => match duration(text) {
                Some(duration) if duration.is_zero() => Ok(Some(Self::Lift)),
                Some(duration) => Ok(Some(Self::For(duration))),
                None => Err(AuthError::validation_failed(format!(
                    "invalid format for ban duration: {text}"
                ))),
            },
        }
    }
}

/// A sign, then numbers with units. Go counts in 64-bit nanoseconds, so durations above about 292
/// years are rejected here too.
fn duration(text: &str) -> Option<Duration> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = unsigned;
    let mut nanoseconds = 0_i128;
    while !rest.is_empty() {
        let (part, after) = part(rest)?;
        nanoseconds += part;
        rest = after;
    }
    let nanoseconds = i64::try_from(nanoseconds).ok()?;
    let is_something = !unsigned.is_empty();
    is_something.then(|| {
        if text.starts_with('-') {
            Duration::nanoseconds(-nanoseconds)
        } else {
            Duration::nanoseconds(nanoseconds)
        }
    })
}

/// One number and its unit, in nanoseconds, and what follows.
fn part(text: &str) -> Option<(i128, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !is_number(c))?;
    let (number, rest) = text.split_at(end);
    let end = rest.find(is_number).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let unit: i128 = match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole = match whole {
        "" => 0,
        whole => i128::from(whole.parse::<i64>().ok()?),
    };
    let mut value = whole * unit;
    let mut worth = unit;
    for digit in fraction.bytes().take(18) {
        worth /= 10;
        value += i128::from(digit - b'0') * worth;
    }
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_read_as_go_reads_them() {
        let check = |text, expected| assert_eq!(duration(text), expected, "{text}");
        check("24h", Some(Duration::hours(24)));
        check("1h30m", Some(Duration::minutes(90)));
        check("1.5h", Some(Duration::minutes(90)));
        check(".5s", Some(Duration::milliseconds(500)));
        check("-10s", Some(Duration::seconds(-10)));
        check("+10s", Some(Duration::seconds(10)));
        check("1m1ms1us1ns", Some(Duration::new(60, 1_001_001)));
        check("0", Some(Duration::ZERO));
        check("876000h", Some(Duration::hours(876_000)));
        for text in [
            "",
            "-",
            "h",
            "1",
            "10",
            "1d",
            "1h ",
            " 1h",
            "1h1",
            "1.h.",
            ".h",
            "1..2s",
            "1e3s",
            "none",
            "forever",
            "99999999h",
            "9999999999999999999999s",
            "\u{661}s",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn none_lifts_and_nothing_changes_nothing() {
        assert_eq!(Ban::parse("").ok(), Some(None));
        assert_eq!(Ban::parse("none").ok(), Some(Some(Ban::Lift)));
        assert_eq!(Ban::parse("0s").ok(), Some(Some(Ban::Lift)));
        assert!(Ban::parse("soon").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_duration_or_an_error(text in ".*") {
            let _ = Ban::parse(&text);
        }

        #[test]
        fn whole_numbers_are_themselves(hours in 0_i64..2_000_000, minutes in 0_i64..1_000) {
            let text = format!("{hours}h{minutes}m");
            let expected = Duration::hours(hours) + Duration::minutes(minutes);
            prop_assert_eq!(duration(&text), Some(expected));
        }
    }
}
