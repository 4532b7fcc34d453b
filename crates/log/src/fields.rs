//! The fields of a record, in the order in which they were added.
//!
//! There are a dozen at most, and every request creates records: a linear search is faster than a tree.

use std::{borrow::Cow, fmt, ops::Index};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

type Name = Cow<'static, str>;

/// Capacity that suffices for most records.
const USUAL_CAPACITY: usize = 12;

/// Details by their names.
///
/// ```
/// use plinth_log::{Level, Record, Source};
///
/// let record = Record::new(Source::Rest, Level::Info, "rows were read").field("status", 200);
/// assert_eq!(record.fields["status"], 200);
/// assert_eq!(record.fields.get("path"), None);
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Fields(Vec<(Name, Value)>);

impl Fields {
    /// The detail of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    /// Whether there is a detail of this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(name, value)| (&**name, value))
    }

    /// Adds a detail, or replaces the one of the same name.
    pub fn insert(&mut self, name: impl Into<Name>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.push(name, value),
        }
    }

    /// Adds a detail whose name is new.
    pub(crate) fn push(&mut self, name: Name, value: Value) {
        if self.0.capacity() == 0 {
            self.0.reserve_exact(USUAL_CAPACITY);
        }
        self.0.push((name, value));
    }
}

impl IntoIterator for Fields {
    type Item = (Name, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Index<&str> for Fields {
    type Output = Value;

    /// Null where there is none, as in JSON.
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            fields.push(name.into(), value);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_of_the_same_name_replaces_the_first() {
        let mut fields = Fields::default();
        fields.insert("b", 1);
        fields.insert("a", "x");
        fields.insert("b".to_owned(), 2);

        let text = serde_json::to_string(&fields).unwrap();
        assert_eq!(text, r#"{"b":2,"a":"x"}"#);
        assert!(fields.contains_key("a") && !fields.contains_key("c"));
        assert_eq!(fields["c"], Value::Null);
    }

    #[test]
    fn they_read_back_in_their_order() {
        let text = r#"{"z":{"deep":[1,null]},"a":true}"#;

        let fields: Fields = serde_json::from_str(text).unwrap();

        assert_eq!(serde_json::to_string(&fields).unwrap(), text);
        assert!(serde_json::from_str::<Fields>("[1]").is_err());
    }
}
