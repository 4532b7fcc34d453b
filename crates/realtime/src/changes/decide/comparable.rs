//! Values of the types that are compared in process, exactly as PostgreSQL compares them.

use std::cmp::Ordering;

use time::{Date, Month, Time};

use super::super::{Column, json_value::oid};

/// How a column's values are parsed and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Float4,
    Float8,
    Numeric,
    Bool,
    Uuid,
    Date,
    Timestamp,
    TimestampTz,
    /// Compared for equality only; the order depends on the collation.
    Text,
}

/// A parsed value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Comparable {
    Integer(i64),
    Float(f64),
    Numeric(Numeric),
    Bool(bool),
    Uuid(u128),
    /// Microseconds, from an arbitrary origin.
    Time(i128),
    Text(Box<str>),
}

/// A value as the key of a hash map.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EqualityKey {
    Integer(i64),
    Bool(bool),
    Uuid(u128),
    Time(i128),
    Text(Box<str>),
}

impl Kind {
    /// `None` for types that only the database can compare.
    pub(super) fn for_column(column: &Column) -> Option<Self> {
        match column.base_type_oid {
            oid::INT2 | oid::INT4 | oid::INT8 => Some(Self::Integer),
            oid::FLOAT4 => Some(Self::Float4),
            oid::FLOAT8 => Some(Self::Float8),
            oid::NUMERIC => Some(Self::Numeric),
            oid::BOOL => Some(Self::Bool),
            oid::UUID => Some(Self::Uuid),
            oid::DATE => Some(Self::Date),
            oid::TIMESTAMP => Some(Self::Timestamp),
            oid::TIMESTAMPTZ => Some(Self::TimestampTz),
            oid::TEXT | oid::VARCHAR if column.has_deterministic_collation => Some(Self::Text),
            _ => None,
        }
    }

    pub(super) fn has_known_order(self) -> bool {
        self != Self::Text
    }

    /// `None` for what PostgreSQL might parse differently.
    pub(super) fn parse(self, text: &str) -> Option<Comparable> {
        match self {
            Self::Integer => integer(text).map(Comparable::Integer),
            Self::Float4 => {
                let number: f32 = float(text)?.parse().ok()?;
                Some(Comparable::Float(f64::from(number)))
            }
            Self::Float8 => Some(Comparable::Float(float(text)?.parse().ok()?)),
            Self::Numeric => Numeric::parse(text).map(Comparable::Numeric),
            Self::Bool => boolean(text).map(Comparable::Bool),
            Self::Uuid => uuid(text).map(Comparable::Uuid),
            Self::Date => date(text).map(|days| Comparable::Time(days * DAY)),
            Self::Timestamp => timestamp(text).map(|(local, _)| Comparable::Time(local)),
            Self::TimestampTz => {
                let (local, offset) = timestamp(text)?;
                // Without an offset, it depends on the session's time zone.
                Some(Comparable::Time(local - offset?))
            }
            Self::Text => Some(Comparable::Text(text.into())),
        }
    }
}

impl Comparable {
    /// `None` for values of different kinds.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            // In PostgreSQL NaN equals itself and is greater than everything, and zero has no sign.
            (Self::Float(a), Self::Float(b)) => match (a.is_nan(), b.is_nan()) {
                (false, false) => a.partial_cmp(b)?,
                (a, b) => a.cmp(&b),
            },
            (Self::Numeric(a), Self::Numeric(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Uuid(a), Self::Uuid(b)) => a.cmp(b),
            (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => return None,
        })
    }

    /// `None` for numbers that have several equal forms.
    pub(super) fn equality_key(&self) -> Option<EqualityKey> {
        match self {
            Self::Integer(number) => Some(EqualityKey::Integer(*number)),
            Self::Bool(value) => Some(EqualityKey::Bool(*value)),
            Self::Uuid(number) => Some(EqualityKey::Uuid(*number)),
            Self::Time(time) => Some(EqualityKey::Time(*time)),
            Self::Text(text) => Some(EqualityKey::Text(text.clone())),
            Self::Float(_) | Self::Numeric(_) => None,
        }
    }
}

/// A decimal number of any size, normalized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numeric {
    is_negative: bool,
    /// Digits before the point, without leading zeros.
    whole: Box<str>,
    /// Digits after the point, without trailing zeros.
    fraction: Box<str>,
}

impl Numeric {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if digits.len() <= usize::from(digits.contains('.')) {
            return None;
        }
        let (is_whole, is_fraction) = (is_plain(whole), is_plain(fraction));
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let is_zero = whole.is_empty() && fraction.is_empty();
        (is_whole && is_fraction).then(|| Self {
            is_negative: is_negative && !is_zero,
            whole: whole.into(),
            fraction: fraction.into(),
        })
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let larger = || {
            let whole = self.whole.len().cmp(&other.whole.len());
            let whole = whole.then_with(|| self.whole.cmp(&other.whole));
            whole.then_with(|| self.fraction.cmp(&other.fraction))
        };
        match (self.is_negative, other.is_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => larger(),
            (true, true) => larger().reverse(),
        }
    }
}

fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    // PostgreSQL also accepts 0x10 and 1_000, which are left to it.
    text.parse().ok()
}

/// Infinity has many names, which are left to PostgreSQL.
fn float(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_number = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    (is_number || text == "NaN").then_some(text)
}

fn boolean(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    match text.as_str() {
        "t" | "tr" | "tru" | "true" | "y" | "ye" | "yes" | "on" | "1" => Some(true),
        "f" | "fa" | "fal" | "fals" | "false" | "n" | "no" | "of" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn uuid(text: &str) -> Option<u128> {
    uuid::Uuid::try_parse(text).ok().map(|uuid| uuid.as_u128())
}

const DAY: i128 = 24 * 60 * 60 * 1_000_000;

/// `2025-11-03` in days.
fn date(text: &str) -> Option<i128> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 || month.len() != 2 || day.len() != 2 {
        return None;
    }
    let month = Month::try_from(number(month)? as u8).ok()?;
    let date = Date::from_calendar_date(number(year)? as i32, month, number(day)? as u8);
    Some(i128::from(date.ok()?.to_julian_day()))
}

/// `2025-11-03 09:32:55.123+01`: local time and offset, both in microseconds.
fn timestamp(text: &str) -> Option<(i128, Option<i128>)> {
    let text = text.trim();
    let Some((day, rest)) = text.split_once([' ', 'T', 't']) else {
        return Some((date(text)? * DAY, None));
    };
    let (clock, offset) = match rest.find(['+', '-', 'Z', 'z']) {
        Some(index) => (&rest[..index], Some(offset(&rest[index..])?)),
        None => (rest, None),
    };
    let local = date(day)? * DAY + time_of_day(clock)?;
    Some((local, offset))
}

fn time_of_day(text: &str) -> Option<i128> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let second = parts.next().map_or(Some(0), number)?;
    if parts.next().is_some() || fraction.len() > 6 {
        return None;
    }
    let digits = format!("{fraction:0<6}");
    let time = Time::from_hms(hour as u8, minute as u8, second as u8).ok()?;
    let seconds = time.duration_since(Time::MIDNIGHT).whole_seconds();
    Some(i128::from(seconds) * 1_000_000 + i128::from(number(&digits)?))
}

fn offset(text: &str) -> Option<i128> {
    let sign = match text.as_bytes().first()? {
        b'Z' | b'z' => return (text.len() == 1).then_some(0),
        b'-' => -1,
        _ => 1,
    };
    let mut parts = text[1..].split(':');
    let hours = parts.next().filter(|hours| hours.len() == 2)?;
    let minutes = parts.next().unwrap_or("00");
    let seconds = parts.next().unwrap_or("00");
    let seconds = number(hours)? * 3600 + number(minutes)? * 60 + number(seconds)?;
    parts
        .next()
        .is_none()
        .then_some(sign * i128::from(seconds) * 1_000_000)
}

/// Up to six digits, and nothing else.
fn number(digits: &str) -> Option<u32> {
    let is_plain = !digits.is_empty() && digits.len() <= 6;
    let is_plain = is_plain && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}
