//! A JSON object whose values are kept verbatim: numbers keep their digits, members their order.

use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::outgoing::push_json_string;

/// An object, member by member.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawObject(Vec<(Box<str>, Box<RawValue>)>);

impl RawObject {
    /// `None` if it is not an object.
    pub(crate) fn parse(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// The value of a member; of several with one name, the last one.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        let member = self.0.iter().rev().find(|(own, _)| &**own == name);
        member.map(|(_, value)| &**value)
    }

    /// Without the members of these names.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|(own, _)| !names.contains(&&**own));
        self
    }

    /// The members without the braces.
    pub(crate) fn members(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            if !text.is_empty() {
                text.push(',');
            }
            push_json_string(&mut text, name);
            text.push(':');
            text.push_str(value.get());
        }
        text
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<Box<str>>()? {
                    members.push((name, map.next_value()?));
                }
                Ok(RawObject(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<RawObject> {
        let raw: Box<RawValue> = serde_json::from_str(text).expect("JSON");
        RawObject::parse(&raw)
    }

    #[test]
    fn members_keep_their_order_and_their_digits() {
        let object = parse(r#"{"b":1.000,"a":{"x":12345678901234567890123},"b":2}"#);

        let object = object.expect("an object");
        assert_eq!(object.get("b").map(RawValue::get), Some("2"));
        assert_eq!(
            object.without(&["b"]).members(),
            r#""a":{"x":12345678901234567890123}"#
        );
    }

    #[test]
    fn other_values_are_not_objects() {
        for text in ["[]", "1", "null", "\"{}\""] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
