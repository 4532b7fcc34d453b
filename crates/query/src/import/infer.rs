//! The type of a column, from some of its values.

/// Types from the narrowest to the widest: the first one that takes all values.
const TYPES: [(&str, fn(&str) -> bool); 8] = [
    ("boolean", is_boolean),
    ("bigint", is_integer),
    ("numeric", is_number),
    ("uuid", is_uuid),
    ("date", is_date),
    ("timestamptz", is_time_with_zone),
    ("timestamp", is_time),
    ("jsonb", is_json),
];

/// A type that takes all these values; `text` if there are none.
pub(super) fn infer<'a>(values: impl Iterator<Item = &'a str> + Clone) -> &'static str {
    if values.clone().next().is_none() {
        return "text";
    }
    let found = TYPES
        .iter()
        .find(|(_, takes)| values.clone().all(|value| takes(value)));
    found.map_or("text", |(name, _)| name)
}

fn is_boolean(value: &str) -> bool {
    matches!(
        value,
        "true" | "false" | "TRUE" | "FALSE" | "True" | "False"
    )
}

/// `007` is no number: its zeros mean something.
fn is_integer(value: &str) -> bool {
    value.parse::<i64>().is_ok() && !has_leading_zero(value) && !value.starts_with('+')
}

fn is_number(value: &str) -> bool {
    let is_plain = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"-.eE+".contains(&byte));
    is_plain
        && value.parse::<f64>().is_ok_and(f64::is_finite)
        && !has_leading_zero(value)
        && !value.starts_with('+')
}

fn has_leading_zero(value: &str) -> bool {
    let digits = value.trim_start_matches('-').as_bytes();
    digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit()
}

fn is_uuid(value: &str) -> bool {
    has_form(value, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
}

fn is_date(value: &str) -> bool {
    has_form(value, "0000-00-00") && has_good_month(value)
}

fn is_time_with_zone(value: &str) -> bool {
    let Some(clock) = after_date(value) else {
        return false;
    };
    let zone = clock.find(['Z', '+', '-']).map(|at| clock.split_at(at));
    zone.is_some_and(|(clock, zone)| {
        let forms = ["Z", "+00", "+00:00", "+0000", "-00", "-00:00", "-0000"];
        is_clock(clock) && forms.iter().any(|form| has_form(zone, form))
    })
}

fn is_time(value: &str) -> bool {
    after_date(value).is_some_and(is_clock)
}

/// What follows `2026-01-31T` or `2026-01-31 `.
fn after_date(value: &str) -> Option<&str> {
    let (date, rest) = value.split_at_checked(10)?;
    (is_date(date) && rest.starts_with(['T', ' '])).then(|| &rest[1..])
}

fn is_clock(value: &str) -> bool {
    let whole = value.split_once('.');
    let (clock, fraction) = whole.unwrap_or((value, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_fraction && (has_form(clock, "00:00:00") || has_form(clock, "00:00"))
}

fn has_good_month(date: &str) -> bool {
    let number = |range: std::ops::Range<usize>| date[range].parse::<u8>().unwrap_or(0);
    (1..=12).contains(&number(5..7)) && (1..=31).contains(&number(8..10))
}

fn is_json(value: &str) -> bool {
    value.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok()
}

/// `0` stands for a digit, `x` for a hexadecimal one.
fn has_form(value: &str, form: &str) -> bool {
    value.len() == form.len()
        && value
            .bytes()
            .zip(form.bytes())
            .all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit(),
                other => byte == other,
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_as_narrow_as_the_values_allow() {
        for (values, expected) in [
            (&["1", "-20"][..], "bigint"),
            (&["1", "2.5"], "numeric"),
            (&["1e3"], "numeric"),
            (&["007", "1"], "text"),
            (&["99999999999999999999"], "numeric"),
            (&["true", "False"], "boolean"),
            (&["2026-01-31"], "date"),
            (&["2026-13-31"], "text"),
            (
                &["2026-01-31T10:00:00Z", "2026-01-31 10:00+02"],
                "timestamptz",
            ),
            (&["2026-01-31 10:00:00.5"], "timestamp"),
            (&["2026-01-31", "x"], "text"),
            (&["{\"a\":1}", "[]"], "jsonb"),
            (&["{"], "text"),
            (&["123e4567-e89b-12d3-a456-426614174000"], "uuid"),
            (&["é2026-01-3"], "text"),
            (&["NaN"], "text"),
            (&[], "text"),
        ] {
            assert_eq!(infer(values.iter().copied()), expected, "{values:?}");
        }
    }
}
