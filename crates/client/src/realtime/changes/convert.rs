//! Converts column values from PostgreSQL's text format to JSON (realtime contract §9.6). JSON values stay
//! as they are.

use serde_json::{Number, Value};

/// A value of a column of this type.
pub(super) fn convert(kind: &str, value: Value) -> Value {
    let Value::String(text) = value else {
        return value;
    };
    if let Some(element) = kind.strip_prefix('_') {
        return array(element, text);
    }
    match kind {
        "bool" => match text.as_str() {
            "t" => Value::Bool(true),
            "f" => Value::Bool(false),
            _ => Value::String(text),
        },
        "float4" | "float8" | "int2" | "int4" | "int8" | "numeric" | "oid" => {
            number(&text).map_or(Value::String(text), Value::Number)
        }
        "json" | "jsonb" => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        "timestamp" => Value::String(text.replacen(' ', "T", 1)),
        _ => Value::String(text),
    }
}

/// Integers stay exact.
fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    let whole = text.parse::<i64>().map(Number::from);
    let whole = whole.or_else(|_| text.parse::<u64>().map(Number::from));
    whole.ok().or_else(|| Number::from_f64(text.parse().ok()?))
}

fn array(element: &str, text: String) -> Value {
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let Some(inner) = inner else {
        return Value::String(text);
    };
    let items = serde_json::from_str::<Vec<Value>>(&format!("[{inner}]"));
    let items = items.unwrap_or_else(|_| {
        if inner.is_empty() {
            Vec::new()
        } else {
            inner.split(',').map(Value::from).collect()
        }
    });
    let items = items.into_iter().map(|item| convert(element, item));
    Value::Array(items.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_become_what_their_type_says() {
        let check = |kind: &str, text: &str, expected: Value| {
            assert_eq!(convert(kind, json!(text)), expected, "{kind} {text}");
        };

        check("bool", "t", json!(true));
        check("bool", "f", json!(false));
        check("bool", "maybe", json!("maybe"));
        check("int8", "9223372036854775807", json!(i64::MAX));
        check("numeric", "1.25", json!(1.25));
        check("float8", "NaN", json!("NaN"));
        check("int4", "x", json!("x"));
        check("jsonb", r#"{"a":[1]}"#, json!({ "a": [1] }));
        check("json", "{", json!("{"));
        check(
            "timestamp",
            "2024-01-02 03:04:05",
            json!("2024-01-02T03:04:05"),
        );
        check(
            "timestamptz",
            "2024-01-02 03:04:05+00",
            json!("2024-01-02 03:04:05+00"),
        );
        check("text", "t", json!("t"));
        check("_int4", "{1,2}", json!([1, 2]));
        check("_bool", "{t,f}", json!([true, false]));
        check("_text", "{}", json!([]));
        check("_text", "{a,b}", json!(["a", "b"]));
        check("_text", "no array", json!("no array"));
        check("what", "x", json!("x"));
    }

    #[test]
    fn what_is_json_already_stays() {
        for value in [
            json!(null),
            json!(1),
            json!(true),
            json!([1, "t"]),
            json!({ "a": 1 }),
        ] {
            for kind in ["bool", "int8", "json", "_bool", "timestamp"] {
                assert_eq!(convert(kind, value.clone()), value);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_value_ends_in_a_panic(kind in "_?(bool|int4|json|timestamp|x)", text in ".{0,30}") {
            _ = convert(&kind, Value::String(text));
        }
    }
}
