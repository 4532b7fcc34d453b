//! JSON bodies: validates them, and collects the keys of their objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use bytes::Bytes;
use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::{error::RestError, request::Payload};

/// A body whose keys are given by `columns`; PostgreSQL validates it.
pub(super) fn unchecked(text: Bytes, keys: BTreeSet<String>) -> Payload {
    let is_object = first_byte(&text) == Some(b'{');
    Payload::Json {
        text,
        keys,
        is_object,
    }
}

/// An object, or an array of objects with equal keys. Other valid JSON counts as no rows.
pub(super) fn checked(text: Bytes) -> Result<Payload, RestError> {
    let shape = Shape::parse(&text).ok_or_else(invalid)?;
    match shape {
        Shape::Object(keys) => Ok(Payload::Json {
            text,
            keys: keys.into_set(),
            is_object: true,
        }),
        Shape::Array(rows) if rows.count == 0 => Ok(no_rows()),
        Shape::Array(rows) if rows.is_uniform => Ok(Payload::Json {
            text,
            keys: rows.keys.into_set(),
            is_object: false,
        }),
        Shape::Array(_) => Err(RestError::InvalidBody(
            "All object keys must match".to_owned(),
        )),
        Shape::Scalar => Ok(no_rows()),
    }
}

pub(super) fn no_rows() -> Payload {
    Payload::Json {
        text: Bytes::from_static(b"[]"),
        keys: BTreeSet::new(),
        is_object: false,
    }
}

fn invalid() -> RestError {
    RestError::InvalidBody("Empty or invalid json".to_owned())
}

fn first_byte(text: &[u8]) -> Option<u8> {
    text.iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace())
}

enum Shape {
    Object(Keys),
    Array(Rows),
    Scalar,
}

impl Shape {
    /// `None` if the text is not JSON.
    fn parse(text: &[u8]) -> Option<Self> {
        // serde_json does not validate UTF-8 in ignored values.
        let text = std::str::from_utf8(text).ok()?;
        let mut json = serde_json::Deserializer::from_str(text);
        let shape = match first_byte(text.as_bytes())? {
            b'{' => {
                let mut keys = Keys::default();
                let object = Element {
                    keys: &mut keys,
                    row: 1,
                };
                (&mut json).deserialize_map(object).ok()?;
                Self::Object(keys)
            }
            b'[' => {
                let mut rows = Rows::default();
                (&mut json).deserialize_seq(&mut rows).ok()?;
                Self::Array(rows)
            }
            _ => {
                (&mut json).deserialize_ignored_any(IgnoredAny).ok()?;
                Self::Scalar
            }
        };
        json.end().ok()?;
        Some(shape)
    }
}

/// The keys of the first object, and the row in which each was last seen.
#[derive(Default)]
struct Keys {
    /// In the order of the first object, which most likely is that of the others too.
    names: Vec<String>,
    seen_in: Vec<usize>,
    places: BTreeMap<String, usize>,
}

impl Keys {
    fn into_set(self) -> BTreeSet<String> {
        self.places.into_keys().collect()
    }

    fn add(&mut self, name: &str) {
        self.places.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.seen_in.push(1);
    }

    /// The position of `name`, which most likely is `guess`.
    fn find(&self, name: &str, guess: usize) -> Option<usize> {
        match self.names.get(guess) {
            Some(known) if known == name => Some(guess),
            _ => self.places.get(name).copied(),
        }
    }
}

/// The elements of an array; only the keys of objects are read.
struct Rows {
    keys: Keys,
    count: usize,
    is_uniform: bool,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            keys: Keys::default(),
            count: 0,
            is_uniform: true,
        }
    }
}

impl<'de> Visitor<'de> for &mut Rows {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Row(self))?.is_some() {}
        Ok(())
    }
}

struct Row<'r>(&'r mut Rows);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, element: D) -> Result<(), D::Error> {
        let rows = self.0;
        rows.count += 1;
        if rows.is_uniform {
            let keys = &mut rows.keys;
            let row = rows.count;
            rows.is_uniform = element.deserialize_any(Element { keys, row })?;
        } else {
            element.deserialize_ignored_any(IgnoredAny)?;
        }
        Ok(())
    }
}

/// Visits one element; the result is whether it is an object with the keys of the first one.
struct Element<'k> {
    keys: &'k mut Keys,
    /// Counted from one.
    row: usize,
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        let Self { keys, row } = self;
        let (mut distinct, mut are_known) = (0, true);
        let mut visit_key = |name: &str| match keys.find(name, distinct) {
            Some(at) if keys.seen_in[at] == row => {}
            Some(at) => {
                keys.seen_in[at] = row;
                distinct += 1;
            }
            None if row == 1 => {
                keys.add(name);
                distinct += 1;
            }
            None => are_known = false,
        };
        while entries.next_key_seed(KeySeed(&mut visit_key))?.is_some() {
            entries.next_value::<IgnoredAny>()?;
        }
        Ok(are_known && distinct == keys.names.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<bool, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }
}

/// Passes a key to the closure without allocating it.
struct KeySeed<F>(F);

impl<'de, F: FnMut(&str)> DeserializeSeed<'de> for KeySeed<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<(), D::Error> {
        key.deserialize_str(self)
    }
}

impl<'de, F: FnMut(&str)> Visitor<'de> for KeySeed<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(mut self, name: &str) -> Result<(), E> {
        self.0(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &'static str) -> Result<(Vec<String>, bool), String> {
        match checked(Bytes::from_static(text.as_bytes())) {
            Ok(Payload::Json {
                text: kept,
                keys,
                is_object,
            }) => {
                assert!(kept == text || (kept == "[]" && keys.is_empty()), "{text}");
                Ok((keys.into_iter().collect(), is_object))
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check(text: &'static str, expected: &[&str], is_object: bool) {
        let expected = expected.iter().copied().map(str::to_owned).collect();
        assert_eq!(keys(text), Ok((expected, is_object)), "{text}");
    }

    fn check_rejected(text: &'static str, message: &str) {
        assert_eq!(keys(text), Err(message.to_owned()), "{text}");
    }

    #[test]
    fn objects_give_their_keys() {
        check("{}", &[], true);
        check(r#"{"b":1,"a":[{"x":1}]}"#, &["a", "b"], true);
        check(r#" { "a" : null } "#, &["a"], true);
        check(r#"{"a":1,"a":2}"#, &["a"], true);
        check(r#"{"\u00e9":1e999}"#, &["é"], true);
    }

    #[test]
    fn arrays_give_the_keys_that_all_have() {
        check("[]", &[], false);
        check("[{},{}]", &[], false);
        check(r#"[{"a":1,"b":2},{"b":1,"a":2}]"#, &["a", "b"], false);
        check(r#"[{"a":1,"b":2},{"a":1,"a":3,"b":2}]"#, &["a", "b"], false);
    }

    #[test]
    fn scalars_are_no_rows() {
        for text in ["null", "1", "1e999", "\"x\"", "true"] {
            check(text, &[], false);
        }
    }

    #[test]
    fn different_keys_are_rejected() {
        let message = "All object keys must match";
        check_rejected(r#"[{"a":1},{"b":1}]"#, message);
        check_rejected(r#"[{"a":1},{}]"#, message);
        check_rejected(r#"[{"a":1},{"a":1,"b":1}]"#, message);
        check_rejected(r#"[{"a":1,"b":1},{"a":1,"a":1}]"#, message);
        check_rejected(r#"[{"a":1},null]"#, message);
        check_rejected(r#"[{"a":1},"x"]"#, message);
        check_rejected(r#"[{"a":1},[1]]"#, message);
        check_rejected("[1]", message);
        check_rejected("[[]]", message);
        check_rejected(r#"[true,{"a":1}]"#, message);
        check_rejected(r#"[-1, 2.5, 3]"#, message);
    }

    #[test]
    fn malformed_text_is_rejected_before_its_keys_are_compared() {
        let message = "Empty or invalid json";
        for text in [
            "",
            " ",
            "{",
            "[",
            "}",
            "{a:1}",
            "[1,]",
            "{}x",
            "01",
            "nul",
            "\u{feff}{}",
            r#"[{"a":1},{"b":1}"#,
            r#"[{"a":1},{"b":1},]"#,
            "{'a':1}",
            "\"\n\"",
        ] {
            check_rejected(text, message);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_rejected() {
        assert!(checked(Bytes::from_static(b"{\"a\":\"\xff\"}")).is_err());
    }

    #[test]
    fn deep_values_do_not_exhaust_the_stack() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(checked(Bytes::from(deep)).is_ok());
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(checked(Bytes::from(deep)).is_err());
    }
}
