//! Values as node-postgres gives them: numbers where JavaScript has them, JSON as it is, the rest as
//! PostgreSQL's texts.

use std::collections::HashMap;

use plinth_db::{QuotedLiteral, ScriptColumn, ScriptRow};
use postgres_types::Type;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Value, value::RawValue};

/// The largest integer that JavaScript has exactly.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// A row as an object, its members in the order of the columns.
pub(in crate::api::pg) struct RowObject(Vec<(String, Cell)>);

enum Cell {
    Plain(Value),
    /// JSON, every digit as it is.
    Json(Box<RawValue>),
}

impl RowObject {
    pub(super) fn new(columns: &[ScriptColumn], row: ScriptRow) -> Self {
        let mut members: Vec<(String, Cell)> = Vec::with_capacity(columns.len());
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (column, text) in columns.iter().zip(row.cells) {
            let cell = text.map_or(Cell::Plain(Value::Null), |text| cell(column.type_oid, text));
            // Of columns with the same name the last one counts.
            match places.get(column.name.as_str()) {
                Some(&place) => members[place].1 = cell,
                None => {
                    places.insert(&column.name, members.len());
                    members.push((column.name.clone(), cell));
                }
            }
        }
        Self(members)
    }
}

impl Serialize for RowObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in &self.0 {
            match cell {
                Cell::Plain(value) => map.serialize_entry(name, value)?,
                Cell::Json(value) => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

fn cell(oid: u32, text: String) -> Cell {
    match Type::from_oid(oid) {
        Some(Type::JSON | Type::JSONB) => match RawValue::from_string(text) {
            Ok(value) => Cell::Json(value),
            Err(_) => Cell::Plain(Value::Null),
        },
        Some(type_) => Cell::Plain(plain(&type_, text)),
        None => Cell::Plain(Value::String(text)),
    }
}

fn plain(type_: &Type, text: String) -> Value {
    match *type_ {
        Type::BOOL => Value::Bool(text == "t"),
        Type::INT2 | Type::INT4 | Type::OID => number(text),
        Type::INT8 => match text.parse::<i64>() {
            Ok(number) if number.unsigned_abs() <= MAX_SAFE => Value::from(number),
            _ => Value::String(text),
        },
        Type::FLOAT4 | Type::FLOAT8 => float(&text),
        Type::BYTEA => buffer(&text),
        Type::BOOL_ARRAY => array(&text, |item| Value::Bool(item == "t")),
        Type::INT2_ARRAY | Type::INT4_ARRAY | Type::OID_ARRAY => array(&text, number),
        Type::FLOAT4_ARRAY | Type::FLOAT8_ARRAY | Type::NUMERIC_ARRAY => {
            array(&text, |item| float(&item))
        }
        Type::JSON_ARRAY | Type::JSONB_ARRAY => array(&text, |item| {
            serde_json::from_str(&item).unwrap_or_default()
        }),
        Type::BYTEA_ARRAY => array(&text, |item| buffer(&item)),
        Type::INT8_ARRAY
        | Type::TEXT_ARRAY
        | Type::VARCHAR_ARRAY
        | Type::BPCHAR_ARRAY
        | Type::CHAR_ARRAY
        | Type::NAME_ARRAY
        | Type::UUID_ARRAY
        | Type::DATE_ARRAY
        | Type::TIMESTAMP_ARRAY
        | Type::TIMESTAMPTZ_ARRAY
        | Type::TIME_ARRAY
        | Type::TIMETZ_ARRAY
        | Type::INET_ARRAY
        | Type::CIDR_ARRAY
        | Type::MACADDR_ARRAY
        | Type::MONEY_ARRAY => array(&text, Value::String),
        _ => Value::String(text),
    }
}

fn number(text: String) -> Value {
    text.parse::<i64>().map_or(Value::String(text), Value::from)
}

/// JSON has no NaN and no infinity.
fn float(text: &str) -> Value {
    text.parse::<f64>().map_or(Value::Null, Value::from)
}

/// A `Buffer` of Node.js as JSON.
fn buffer(hex: &str) -> Value {
    let digits = hex.strip_prefix("\\x").unwrap_or_default().as_bytes();
    let bytes = digits.chunks_exact(2).map(|pair| {
        let text = std::str::from_utf8(pair).unwrap_or_default();
        u8::from_str_radix(text, 16).unwrap_or_default()
    });
    serde_json::json!({ "type": "Buffer", "data": bytes.collect::<Vec<u8>>() })
}

/// The text of an array, with `item` for each value.
fn array(text: &str, item: impl Fn(String) -> Value) -> Value {
    // Bounds other than 1 come first: `[0:2]={1,2,3}`.
    let start = text.find('{').unwrap_or_default();
    let mut rest = &text[start..];
    parse_array(&mut rest, &item).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn parse_array(rest: &mut &str, item: &impl Fn(String) -> Value) -> Option<Value> {
    *rest = rest.strip_prefix('{')?;
    let mut values = Vec::new();
    if let Some(after) = rest.strip_prefix('}') {
        *rest = after;
        return Some(Value::Array(values));
    }
    loop {
        values.push(match rest.chars().next()? {
            '{' => parse_array(rest, item)?,
            '"' => item(quoted(rest)?),
            _ => {
                let end = rest.find([',', '}'])?;
                let (text, after) = rest.split_at(end);
                *rest = after;
                match text {
                    "NULL" => Value::Null,
                    text => item(text.to_owned()),
                }
            }
        });
        let separator = rest.chars().next()?;
        *rest = &rest[separator.len_utf8()..];
        match separator {
            ',' => {}
            '}' => return Some(Value::Array(values)),
            _ => return None,
        }
    }
}

fn quoted(rest: &mut &str) -> Option<String> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => text.push(characters.next()?.1),
            '"' => {
                *rest = &rest[at + 1..];
                return Some(text);
            }
            c => text.push(c),
        }
    }
    None
}

/// A value of a parameter, as SQL that PostgreSQL gives the type that it needs.
pub(super) fn parameter_sql(value: &Value) -> String {
    let literal = |text: &str| QuotedLiteral::new(text).to_string();
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => literal(text),
        Value::Array(items) => literal(&array_text(items)),
        other => literal(&other.to_string()),
    }
}

fn array_text(items: &[Value]) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|item| {
            let text = match item {
                Value::Null => return "NULL".to_owned(),
                Value::Array(items) => return array_text(items),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        })
        .collect();
    format!("{{{}}}", items.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(type_: &Type, text: &str, expected: Value) {
        assert_eq!(plain(type_, text.to_owned()), expected, "{text}");
    }

    #[test]
    fn values_are_those_of_javascript() {
        check(
            &Type::INT8,
            "9007199254740991",
            json!(9_007_199_254_740_991_i64),
        );
        check(&Type::INT8, "9007199254740992", json!("9007199254740992"));
        check(&Type::NUMERIC, "1.10", json!("1.10"));
        check(&Type::FLOAT8, "NaN", Value::Null);
        check(&Type::FLOAT8, "1.5", json!(1.5));
        check(
            &Type::BYTEA,
            r"\x00ff",
            json!({ "type": "Buffer", "data": [0, 255] }),
        );
        check(
            &Type::INT4_ARRAY,
            "[0:1]={{1,NULL},{3,4}}",
            json!([[1, null], [3, 4]]),
        );
        check(
            &Type::TEXT_ARRAY,
            r#"{"a\"b\\",c,"NULL",NULL,""}"#,
            json!(["a\"b\\", "c", "NULL", null, ""]),
        );
        check(&Type::TEXT_ARRAY, "{}", json!([]));
        check(&Type::TEXT_ARRAY, "nonsense", json!("nonsense"));
    }

    #[test]
    fn parameters_are_literals() {
        assert_eq!(parameter_sql(&json!("it's")), "'it''s'");
        assert_eq!(parameter_sql(&json!(null)), "null");
        assert_eq!(
            parameter_sql(&json!([1, "a\"b", null, [true]])),
            r#" E'{"1","a\\"b",NULL,{"true"}}'"#
        );
        assert_eq!(parameter_sql(&json!({ "a": 1 })), r#"'{"a":1}'"#);
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_an_array(text in "(\\PC|[{}\",\\\\]){0,30}") {
            array(&text, Value::String);
        }
    }
}
