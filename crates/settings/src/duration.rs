//! Durations as Go writes them: `1h30m`, `500ms`, `1.5s`.

use std::time::Duration;

const UNITS: [(&str, u128); 8] = [
    // Longer names first, so that `ms` is not read as minutes.
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// Parses a duration; `None` when the text is not one. A bare `0` needs no unit.
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    if text.is_empty() {
        return None;
    }
    let mut nanoseconds: u128 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let number_length = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(number_length);
        let (unit, scale) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        nanoseconds = nanoseconds.checked_add(scaled(number, *scale)?)?;
        rest = &after[unit.len()..];
    }
    // The same maximum as Go's: 64 bits of nanoseconds, about 292 years.
    let nanoseconds = i64::try_from(nanoseconds).ok()?.unsigned_abs();
    Some(Duration::from_nanos(nanoseconds))
}

/// Writes a duration so that [`parse`] reads it again.
pub(crate) fn render(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    let mut text = String::new();
    let mut rest = duration.as_nanos();
    for (unit, scale) in [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
    ] {
        let count = rest / scale;
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
            rest %= scale;
        }
    }
    if rest > 0 {
        text.push_str(&format!("{rest}ns"));
    }
    text
}

/// A decimal number times a unit, without floating-point loss.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let mut total = match whole {
        "" => 0,
        digits => digits.parse::<u128>().ok()?.checked_mul(scale)?,
    };
    let mut unit = scale;
    for digit in fraction.bytes() {
        unit /= 10;
        total = total.checked_add(u128::from(digit - b'0') * unit)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_understood() {
        let check = |text: &str, milliseconds: u64| {
            assert_eq!(
                parse(text),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        };
        check("0", 0);
        check("5s", 5_000);
        check("1h30m", 5_400_000);
        check("1.5s", 1_500);
        check(".5s", 500);
        check("250ms", 250);
        check("1000us", 1);
        check("168h", 604_800_000);
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "5",
            "s",
            "5 s",
            "-5s",
            "1.2.3s",
            "5d",
            "1h30",
            ".s",
            "99999999999999h",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_written_duration_reads_back() {
        for text in ["0s", "1h30m", "7ms", "168h", "1s500ms", "3ns"] {
            let duration = parse(text).expect("valid");

            assert_eq!(render(duration), text);
        }
    }
}
