//! JSON texts with preserved formatting (client contract S1, C6).
//!
//! A stored session is compared and shared with other clients as text. So its members keep their order and
//! numbers their digits; only whitespace is removed, and strings are normalised as other clients do.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The same JSON without whitespace and with normalised strings.
pub(crate) fn compact(text: &str) -> Result<String, serde_json::Error> {
    let text = serde_json::from_str::<&RawValue>(text)?.get();
    let mut compact = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('"') {
        push_without_whitespace(&mut compact, &rest[..at]);
        let end = at + string_length(&rest[at..]);
        push_string(&mut compact, &rest[at..end]);
        rest = &rest[end..];
    }
    push_without_whitespace(&mut compact, rest);
    Ok(compact)
}

fn push_without_whitespace(compact: &mut String, text: &str) {
    compact.extend(text.chars().filter(|char| !char.is_ascii_whitespace()));
}

/// Bytes of the string that the text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

fn push_string(compact: &mut String, quoted: &str) {
    let respelled = quoted
        .contains('\\')
        .then(|| serde_json::from_str::<String>(quoted).ok())
        .flatten();
    match respelled {
        Some(value) => compact.push_str(&quote(&value)),
        // Half of a surrogate pair is valid JSON but not valid text; it stays as it is.
        None => compact.push_str(quoted),
    }
}

/// A text as JSON.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object's members in their order. The last value of a repeated name counts, at the position of the first,
/// as in JavaScript.
#[derive(Default)]
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// `None` for anything but an object.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.get())
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Whether JavaScript would take the member for true.
    pub(crate) fn is_truthy(&self, name: &str) -> bool {
        match self.get(name) {
            None | Some("null" | "false" | "\"\"") => false,
            Some(text) => serde_json::from_str::<f64>(text).ok() != Some(0.0),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Self::Value = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    let known = members.iter().position(|(known, _)| *known == name);
                    match known {
                        Some(at) => members[at].1 = value,
                        None if members.len() >= MAX_MEMBERS => {
                            return Err(A::Error::custom("too many members"));
                        }
                        None => members.push((name, value)),
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(InOrder).map(Self)
    }
}

/// Far more than any server sends; keeps lookups cheap.
const MAX_MEMBERS: usize = 256;

/// Writes an object from names and JSON values.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::from("{");
    for (name, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&quote(name));
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn whitespace_goes_and_numbers_keep_their_digits() {
        let check = |text: &str, expected: &str| assert_eq!(compact(text).unwrap(), expected);

        check(
            " { \"b\" : 1.50 ,\n \"a\" : [ 1e3, -0.0 ] } ",
            r#"{"b":1.50,"a":[1e3,-0.0]}"#,
        );
        check(r#""a  b""#, r#""a  b""#);
        check(r#"["\\", "\"", 1]"#, r#"["\\","\"",1]"#);
    }

    #[test]
    fn strings_are_spelled_as_javascript_does() {
        let check = |text: &str, expected: &str| assert_eq!(compact(text).unwrap(), expected);

        check(r#""\u00e9\/\u0041""#, r#""é/A""#);
        check(r#""\u0001\n\u000c\u2028""#, "\"\\u0001\\n\\f\u{2028}\"");
        check(r#""\ud83d\ude00""#, "\"\u{1f600}\"");
        check(r#""\ud83d""#, r#""\ud83d""#);
    }

    #[test]
    fn what_is_not_json_is_rejected() {
        for text in ["", "{", "{\"a\":}", "[1,]", "\"\\x\"", "{} {}"] {
            assert!(compact(text).is_err(), "{text}");
        }
    }

    #[test]
    fn members_keep_their_order_and_the_last_of_a_name_counts() {
        let members = Members::parse(r#"{"z":1,"a":"x","z":{"y": 2}}"#).unwrap();

        let names: Vec<&str> = members.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!(members.get("z"), Some(r#"{"y": 2}"#));
        assert_eq!(members.string("a").as_deref(), Some("x"));
        assert!(Members::parse("[1]").is_none());
        assert!(Members::parse("null").is_none());
    }

    #[test]
    fn truth_is_javascripts() {
        let members = Members::parse(
            r#"{"a":0,"b":0.0,"c":"","d":null,"e":false,"f":"0","g":[],"h":3600,"i":-0}"#,
        );
        let members = members.unwrap();

        let truthy = |name: &str| members.is_truthy(name);
        assert!(["f", "g", "h"].into_iter().all(truthy));
        assert!(
            !["a", "b", "c", "d", "e", "i", "absent"]
                .into_iter()
                .any(truthy)
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| members.into_iter().collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn compact_is_what_was_meant_and_stays_so(value in any_json()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();

            let text = compact(&pretty).unwrap();

            assert_eq!(text, value.to_string());
            assert_eq!(compact(&text).unwrap(), text);
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            if let Ok(compacted) = compact(&text) {
                let same = |text: &str| serde_json::from_str::<Value>(text).ok();
                assert_eq!(same(&compacted), same(&text));
            }
            Members::parse(&text);
        }
    }
}
