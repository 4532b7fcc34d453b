//! Values as JSON (realtime contract §9.7): what `to_jsonb` would return, made from the text form of
//! the replication stream. The stream's session writes dates as ISO in UTC, and `bytea` as hex.

use super::array_literal::{self, Element};

/// Oids of types with a conversion of their own.
pub(crate) mod oid {
    pub(crate) const BOOL: u32 = 16;
    pub(crate) const BYTEA: u32 = 17;
    pub(crate) const INT8: u32 = 20;
    pub(crate) const INT2: u32 = 21;
    pub(crate) const INT4: u32 = 23;
    pub(crate) const TEXT: u32 = 25;
    pub(crate) const JSON: u32 = 114;
    pub(crate) const FLOAT4: u32 = 700;
    pub(crate) const FLOAT8: u32 = 701;
    pub(crate) const VARCHAR: u32 = 1043;
    pub(crate) const DATE: u32 = 1082;
    pub(crate) const TIMESTAMP: u32 = 1114;
    pub(crate) const TIMESTAMPTZ: u32 = 1184;
    pub(crate) const NUMERIC: u32 = 1700;
    pub(crate) const UUID: u32 = 2950;
    pub(crate) const JSONB: u32 = 3802;
    /// Types from here on are not built in.
    pub(crate) const FIRST_USER: u32 = 16_384;
}

/// How a type's values are converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Number,
    Bool,
    /// JSON already.
    Json,
    Bytes,
    Timestamp,
    TimestampTz,
    /// The text itself.
    Text,
    Array {
        element: Box<Shape>,
        delimiter: char,
    },
    /// Only the database can convert it: composite types, types of extensions.
    Unknown,
}

impl Shape {
    /// For a type that is neither a domain nor an array, by its oid and `pg_type.typtype`.
    pub(super) fn for_type(type_oid: u32, kind: char) -> Self {
        match (type_oid, kind) {
            (oid::INT2 | oid::INT4 | oid::INT8, _) => Self::Number,
            (oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC, _) => Self::Number,
            (oid::BOOL, _) => Self::Bool,
            (oid::JSON | oid::JSONB, _) => Self::Json,
            (oid::BYTEA, _) => Self::Bytes,
            (oid::TIMESTAMP, _) => Self::Timestamp,
            (oid::TIMESTAMPTZ, _) => Self::TimestampTz,
            // All enums, ranges and multiranges.
            (_, 'e' | 'r' | 'm') => Self::Text,
            (..oid::FIRST_USER, 'b') => Self::Text,
            // An extension may define a cast of its type to JSON.
            _ => Self::Unknown,
        }
    }

    /// Appends a value as JSON; returns `false`, with nothing appended, if only the database can.
    pub fn write(&self, text: &str, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let is_known = self.try_write(text, out);
        if !is_known {
            out.truncate(start);
        }
        is_known
    }

    fn try_write(&self, text: &str, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Number => write_number(text, out),
            Self::Bool => match text {
                "t" | "true" => out.extend_from_slice(b"true"),
                "f" | "false" => out.extend_from_slice(b"false"),
                _ => return false,
            },
            Self::Json => out.extend_from_slice(text.as_bytes()),
            Self::Bytes => match text.strip_prefix("\\x") {
                Some(hex) => write_string(hex, out),
                None => return false,
            },
            Self::Timestamp => write_string(&text.replacen(' ', "T", 1), out),
            Self::TimestampTz => write_string(&with_full_offset(&text.replacen(' ', "T", 1)), out),
            Self::Text => write_string(text, out),
            Self::Array { element, delimiter } => {
                let Some(elements) = array_literal::parse(text, *delimiter) else {
                    return false;
                };
                return write_array(element, &elements, out);
            }
            Self::Unknown => return false,
        }
        true
    }
}

/// `NaN` and infinity are strings.
fn write_number(text: &str, out: &mut Vec<u8>) {
    if text.ends_with(|c: char| c.is_ascii_digit()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        write_string(text, out);
    }
}

fn write_array(shape: &Shape, elements: &[Element], out: &mut Vec<u8>) -> bool {
    out.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let is_known = match element {
            Element::Null => {
                out.extend_from_slice(b"null");
                true
            }
            // In an array, `to_jsonb` keeps the prefix `\x`.
            Element::Text(text) if *shape == Shape::Bytes => {
                write_string(text, out);
                true
            }
            Element::Text(text) => shape.try_write(text, out),
            Element::Array(elements) => write_array(shape, elements, out),
        };
        if !is_known {
            return false;
        }
    }
    out.push(b']');
    true
}

/// `+00` becomes `+00:00`.
fn with_full_offset(text: &str) -> String {
    let (moment, era) = match text.strip_suffix(" BC") {
        Some(moment) => (moment, " BC"),
        None => (text, ""),
    };
    let is_short = moment
        .rfind(['+', '-'])
        .is_some_and(|index| index + 3 == moment.len());
    if is_short && moment.contains(':') {
        format!("{moment}:00{era}")
    } else {
        text.to_owned()
    }
}

pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    // Neither writing to memory nor serializing a string can fail.
    _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shape: &Shape, text: &str, expected: &str) {
        let mut out = b"before:".to_vec();
        assert!(shape.write(text, &mut out), "{text}");
        assert_eq!(String::from_utf8_lossy(&out), format!("before:{expected}"));
    }

    fn base(type_oid: u32) -> Shape {
        Shape::for_type(type_oid, 'b')
    }

    #[test]
    fn numbers_keep_their_digits() {
        check(
            &base(oid::INT8),
            "9223372036854775807",
            "9223372036854775807",
        );
        check(
            &base(oid::NUMERIC),
            "-0.10000000000000000000001",
            "-0.10000000000000000000001",
        );
        check(&base(oid::FLOAT8), "1e+20", "1e+20");
        for odd in ["NaN", "Infinity", "-Infinity"] {
            check(&base(oid::FLOAT4), odd, &format!("\"{odd}\""));
            check(&base(oid::NUMERIC), odd, &format!("\"{odd}\""));
        }
    }

    #[test]
    fn simple_types_are_converted() {
        check(&base(oid::BOOL), "t", "true");
        check(&base(oid::BOOL), "f", "false");
        check(
            &base(oid::JSONB),
            r#"{"a": [1, null]}"#,
            r#"{"a": [1, null]}"#,
        );
        check(&base(oid::TEXT), "a\"b\\\n\u{1}ü", r#""a\"b\\\n\u0001ü""#);
        check(&base(oid::UUID), "a0ee", "\"a0ee\"");
        check(&base(oid::DATE), "2025-11-03", "\"2025-11-03\"");
        let (interval, inet, money) = (1186, 869, 790);
        check(&base(interval), "1 day 02:00:00", "\"1 day 02:00:00\"");
        check(&base(inet), "10.0.0.1/8", "\"10.0.0.1/8\"");
        check(&base(money), "$1.00", "\"$1.00\"");
        check(&Shape::for_type(90_000, 'e'), "happy", "\"happy\"");
        check(&Shape::for_type(3904, 'r'), "[1,5)", "\"[1,5)\"");
    }

    #[test]
    fn bytea_has_no_prefix() {
        check(&base(oid::BYTEA), "\\x0102030405", "\"0102030405\"");
        check(&base(oid::BYTEA), "\\x", "\"\"");
    }

    #[test]
    fn times_are_iso() {
        let tz = base(oid::TIMESTAMPTZ);
        check(
            &tz,
            "2025-11-03 09:32:55+00",
            "\"2025-11-03T09:32:55+00:00\"",
        );
        check(
            &tz,
            "2025-11-03 09:32:55.123456+00",
            "\"2025-11-03T09:32:55.123456+00:00\"",
        );
        check(
            &tz,
            "2025-11-03 09:32:55+05:30",
            "\"2025-11-03T09:32:55+05:30\"",
        );
        check(
            &tz,
            "0044-03-15 00:00:00+00 BC",
            "\"0044-03-15T00:00:00+00:00 BC\"",
        );
        check(&tz, "infinity", "\"infinity\"");
        check(&tz, "-infinity", "\"-infinity\"");
        check(
            &base(oid::TIMESTAMP),
            "2025-11-03 09:32:55",
            "\"2025-11-03T09:32:55\"",
        );
    }

    #[test]
    fn arrays_are_arrays() {
        let array = |type_oid| Shape::Array {
            element: Box::new(base(type_oid)),
            delimiter: ',',
        };
        check(&array(oid::INT4), "{1,NULL,3}", "[1,null,3]");
        check(&array(oid::INT4), "{{1,2},{3,4}}", "[[1,2],[3,4]]");
        check(
            &array(oid::TEXT),
            r#"{a,"b,\"c",NULL,"NULL"}"#,
            r#"["a","b,\"c",null,"NULL"]"#,
        );
        check(&array(oid::JSONB), r#"{"{\"a\": 1}"}"#, r#"[{"a": 1}]"#);
        check(
            &array(oid::TIMESTAMPTZ),
            r#"{"2025-11-03 09:32:55+00"}"#,
            r#"["2025-11-03T09:32:55+00:00"]"#,
        );
        check(&array(oid::BYTEA), r#"{"\\x01"}"#, r#"["\\x01"]"#);
        check(&array(oid::BOOL), "{}", "[]");
    }

    #[test]
    fn nothing_is_appended_for_what_only_the_database_can_convert() {
        let unknown = Shape::for_type(90_000, 'b');
        assert_eq!(unknown, Shape::Unknown);
        assert_eq!(Shape::for_type(90_000, 'c'), Shape::Unknown);
        let array = Shape::Array {
            element: Box::new(unknown.clone()),
            delimiter: ',',
        };
        for (shape, text) in [(unknown, "x"), (array, "{x}"), (base(oid::BYTEA), "\\001")] {
            let mut out = b"before".to_vec();
            assert!(!shape.write(text, &mut out));
            assert_eq!(out, b"before");
        }
    }
}
