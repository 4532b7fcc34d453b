//! Reading JSON objects one by one: an array of them, one per line, or just one after the other.

use serde_json::value::RawValue;

use crate::QueryError;

use super::record::{Lines, MAX_RECORD_BYTES, too_long};

/// Cuts a stream into objects.
#[derive(Default)]
pub(super) struct ObjectReader {
    object: Vec<u8>,
    /// The line on which the object begins.
    first_line: u64,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    lines: Lines,
    pub(super) fault: Option<String>,
}

/// An object of the stream.
pub(super) struct ObjectText<'a> {
    pub(super) line: u64,
    pub(super) text: &'a [u8],
    pub(super) fault: Option<String>,
}

impl ObjectReader {
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        found: &mut impl FnMut(ObjectText<'_>) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let mut start = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' {
                self.lines.current += 1;
            }
            if self.depth == 0 {
                self.between(byte)?;
                start = at;
                continue;
            }
            if self.is_in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                self.extend(&bytes[start..=at])?;
                start = at + 1;
                found(ObjectText {
                    line: self.first_line,
                    text: &self.object,
                    fault: self.fault.take(),
                })?;
                self.object.clear();
            }
        }
        if self.depth > 0 {
            self.extend(&bytes[start..])?;
        }
        Ok(())
    }

    /// Outside of all objects.
    fn between(&mut self, byte: u8) -> Result<(), QueryError> {
        match byte {
            b'{' => {
                self.depth = 1;
                self.first_line = self.lines.current;
                Ok(())
            }
            b'[' | b']' | b',' | b' ' | b'\t' | b'\n' | b'\r' => Ok(()),
            _ => Err(QueryError::BadFile {
                line: self.lines.current,
                reason: "an object was expected here: { … }".to_owned(),
            }),
        }
    }

    pub(super) fn finish(&self) -> Result<(), QueryError> {
        if self.depth == 0 {
            return Ok(());
        }
        Err(QueryError::BadFile {
            line: self.first_line,
            reason: "the object that begins here has no end".to_owned(),
        })
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), QueryError> {
        if self.object.len() + bytes.len() > MAX_RECORD_BYTES {
            return Err(too_long(self.first_line));
        }
        self.object.extend_from_slice(bytes);
        Ok(())
    }
}

/// The members of an object, in their order.
pub(super) struct Members<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: serde::de::MapAccess<'de>>(
                self,
                mut map: M,
            ) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Visitor).map(Members)
    }
}

/// The text of a value as PostgreSQL reads it; `None` for null.
pub(super) fn value_text(value: &RawValue, is_array: bool) -> Option<String> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'n') => None,
        Some(b'"') => Some(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())),
        Some(b'[') if is_array => Some(array_text(text).unwrap_or_else(|| text.to_owned())),
        _ => Some(text.to_owned()),
    }
}

/// `["a", null]` as `{"a",NULL}`.
fn array_text(json: &str) -> Option<String> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    let items = items.into_iter().map(|item| {
        let text = item.get();
        if text.starts_with('[') {
            return array_text(text);
        }
        Some(match value_text(item, false) {
            None => "NULL".to_owned(),
            Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        })
    });
    let items: Vec<String> = items.collect::<Option<_>>()?;
    Some(format!("{{{}}}", items.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(text: &str, size: usize) -> Result<Vec<(u64, String)>, QueryError> {
        let mut reader = ObjectReader::default();
        let mut all = Vec::new();
        let mut found = |object: ObjectText<'_>| {
            let text = String::from_utf8(object.text.to_vec()).expect("text");
            all.push((object.line, text));
            Ok(())
        };
        for piece in text.as_bytes().chunks(size) {
            reader.push(piece, &mut found)?;
        }
        reader.finish()?;
        Ok(all)
    }

    #[test]
    fn objects_are_found_in_pieces_of_any_size() {
        let text = "[{\"a\": \"}\\\"\"},\n {\"b\": {\"c\": [1]}}]\n{}\n";
        for size in 1..20 {
            let found = objects(text, size).expect("objects");
            let expected = [
                (1, "{\"a\": \"}\\\"\"}"),
                (2, "{\"b\": {\"c\": [1]}}"),
                (3, "{}"),
            ];
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert_eq!((found.0, &*found.1), expected);
            }
        }
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_line() {
        for (text, line) in [("[{},\n1]", 2), ("\n\n{\"a\": 1", 3), ("nothing", 1)] {
            let error = objects(text, 100).expect_err("refused");
            assert!(
                matches!(error, QueryError::BadFile { line: at, .. } if at == line),
                "{error}"
            );
        }
    }

    #[test]
    fn values_become_texts_of_postgres() {
        let check = |json: &str, expected: Option<&str>| {
            let value: &RawValue = serde_json::from_str(json).expect("JSON");
            assert_eq!(value_text(value, true).as_deref(), expected, "{json}");
        };
        check("null", None);
        check("12345678901234567890.10", Some("12345678901234567890.10"));
        check("\"a\\u00e9\"", Some("aé"));
        check("[\"a\\\"b\", null, [1]]", Some("{\"a\\\"b\",NULL,{\"1\"}}"));
        check("{\"a\":1}", Some("{\"a\":1}"));
    }
}
