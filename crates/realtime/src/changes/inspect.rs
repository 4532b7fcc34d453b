//! Values in Elixir's `inspect` form, as the reference server shows them in its errors.

use std::fmt::Write as _;

use serde_json::Value;

/// A list of strings.
pub(super) fn inspect_texts(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<_> = texts
        .iter()
        .map(|text| inspect_text(text.as_ref()))
        .collect();
    format!("[{}]", texts.join(", "))
}

/// Any JSON value.
pub(super) fn inspect(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => inspect_text(text),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(inspect).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{} => {}", inspect_text(name), inspect(value))
            };
            let fields: Vec<_> = fields.iter().map(field).collect();
            format!("%{{{}}}", fields.join(", "))
        }
    }
}

fn inspect_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_control() => _ = write!(shown, "\\x{:02X}", u32::from(c)),
            c => shown.push(c),
        }
    }
    shown.push('"');
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_in_elixir() {
        let value = json!({"a": [1, null, true], "b": "x\"\\\n\u{1}ü"});
        let expected = r#"%{"a" => [1, nil, true], "b" => "x\"\\\n\x01ü"}"#;
        assert_eq!(inspect(&value), expected);
    }
}
