//! `Location` of an inserted row (rest contract §2.3).

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use serde_json::value::RawValue;

/// The query that selects the row by its primary key; `None` if it has none.
pub(super) fn of_row(row: &str, primary_key: &[Arc<str>]) -> Option<String> {
    let row: BTreeMap<String, &RawValue> = serde_json::from_str(row).ok()?;
    let mut key: Vec<(&str, &RawValue)> = primary_key
        .iter()
        .filter_map(|column| Some((&**column, *row.get(&**column)?)))
        .collect();
    key.sort_by_key(|(column, _)| *column);
    let pairs: Vec<String> = key
        .into_iter()
        .map(|(column, value)| {
            let condition = match value.get() {
                "null" => "is.null".to_owned(),
                raw => format!("eq.{}", as_text(raw)),
            };
            format!("{}={}", encode(column), encode(&condition))
        })
        .collect();
    (!pairs.is_empty()).then(|| pairs.join("&"))
}

/// A JSON value as PostgreSQL prints it as text: strings without quotes, numbers with every digit.
fn as_text(raw: &str) -> String {
    match serde_json::from_str::<String>(raw) {
        Ok(text) => text,
        Err(_) => raw.to_owned(),
    }
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(row: &str, key: &[&str], expected: Option<&str>) {
        let key: Vec<Arc<str>> = key.iter().map(|column| Arc::from(*column)).collect();
        assert_eq!(of_row(row, &key).as_deref(), expected);
    }

    #[test]
    fn a_row_is_found_by_its_key() {
        check(r#"{"id":1,"name":"x"}"#, &["id"], Some("id=eq.1"));
        check(
            r#"{"b":2,"a":"x y"}"#,
            &["b", "a"],
            Some("a=eq.x%20y&b=eq.2"),
        );
        check(
            r#"{"id":12345678901234567890.10}"#,
            &["id"],
            Some("id=eq.12345678901234567890.10"),
        );
    }

    #[test]
    fn a_null_is_found_as_null() {
        check(r#"{"id":null}"#, &["id"], Some("id=is.null"));
    }

    #[test]
    fn without_a_key_there_is_no_place() {
        check(r#"{"name":"x"}"#, &["id"], None);
        check(r#"{"name":"x"}"#, &[], None);
    }
}
