//! The vectors, and which of their fields were read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::Value;

/// The file.
pub(crate) struct Vectors {
    file: Value,
    read: RefCell<BTreeSet<String>>,
}

/// A place in the file. Going there reads nothing yet.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    vectors: &'a Vectors,
    path: String,
    value: &'a Value,
}

impl Vectors {
    pub(crate) fn load() -> Self {
        Self::of(serde_json::from_str(include_str!("../cookie-vectors.json")).unwrap())
    }

    fn of(file: Value) -> Self {
        Self {
            file,
            read: RefCell::default(),
        }
    }

    /// A member of the file itself.
    pub(crate) fn field(&self, name: &str) -> Field<'_> {
        let root = Field {
            vectors: self,
            path: String::new(),
            value: &self.file,
        };
        root.field(name)
    }

    /// All cases of a group, which must be so many.
    pub(crate) fn cases(&self, group: &str, count: usize) -> Vec<Field<'_>> {
        let cases = self.field(group).items();
        assert_eq!(cases.len(), count, "{group}");
        cases
    }

    /// The places that were not read.
    pub(crate) fn unread(&self) -> Vec<String> {
        let mut unread = Vec::new();
        self.collect_unread("", &self.file, &mut unread);
        unread
    }

    fn collect_unread(&self, path: &str, value: &Value, unread: &mut Vec<String>) {
        if self.read.borrow().contains(path) {
            return;
        }
        match value {
            Value::Array(items) if !items.is_empty() => {
                for (at, item) in items.iter().enumerate() {
                    self.collect_unread(&format!("{path}[{at}]"), item, unread);
                }
            }
            Value::Object(members) if !members.is_empty() => {
                for (name, member) in members {
                    self.collect_unread(&format!("{path}.{name}"), member, unread);
                }
            }
            _ => unread.push(path.to_owned()),
        }
    }
}

impl<'a> Field<'a> {
    /// A member, which must be there.
    pub(crate) fn field(&self, name: &str) -> Self {
        let found = self.find(name);
        found.unwrap_or_else(|| panic!("{}.{name} is missing", self.path))
    }

    /// A member that not every vector has.
    pub(crate) fn find(&self, name: &str) -> Option<Self> {
        Some(Self {
            vectors: self.vectors,
            path: format!("{}.{name}", self.path),
            value: self.value.get(name)?,
        })
    }

    pub(crate) fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().expect("a list");
        if items.is_empty() {
            self.read();
        }
        let item = |(at, value)| Self {
            vectors: self.vectors,
            path: format!("{}[{at}]", self.path),
            value,
        };
        items.iter().enumerate().map(item).collect()
    }

    /// The value with all that is in it.
    pub(crate) fn read(&self) -> &'a Value {
        let mut read = self.vectors.read.borrow_mut();
        read.insert(self.path.clone());
        self.value
    }

    pub(crate) fn text(&self) -> &'a str {
        self.read().as_str().expect("a text")
    }

    /// A text, or null.
    pub(crate) fn maybe_text(&self) -> Option<&'a str> {
        let value = self.read();
        assert!(value.is_string() || value.is_null(), "{}", self.path);
        value.as_str()
    }
}

#[test]
fn unread_vectors_are_reported() {
    let file = serde_json::json!({
        "cases": [{ "a": 1, "b": { "c": 2, "d": [] } }, { "a": 3, "new": "x" }],
        "empty": {},
    });
    let vectors = Vectors::of(file);

    for case in vectors.cases("cases", 2) {
        case.field("a").read();
        case.find("b").inspect(|b| _ = b.field("c").read());
    }

    let expected = [".cases[0].b.d", ".cases[1].new", ".empty"];
    assert_eq!(vectors.unread(), expected);
    vectors.field("cases").read();
    vectors.field("empty").read();
    assert_eq!(vectors.unread(), [""; 0]);
}
