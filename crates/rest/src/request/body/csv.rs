//! `text/csv` bodies: a line of names, then lines of values, converted to a JSON array of objects.

use std::{borrow::Cow, collections::BTreeSet};

use bytes::Bytes;

use crate::{error::RestError, request::Payload};

use super::json;

type Record<'a> = Vec<Cow<'a, str>>;

/// The field `NULL` is null. Fields without a name and blank lines are dropped.
pub(super) fn rows(body: &[u8]) -> Result<Payload, RestError> {
    let text = std::str::from_utf8(body).map_err(|_| problem("invalid UTF-8", ""))?;
    let mut reader = Reader { rest: text };
    let names = reader.record()?;
    if !reader.end_of_line() {
        return Err(reader.problem("not enough input"));
    }

    let mut layout: Option<Layout<'_>> = None;
    let mut json = String::with_capacity(text.len() * 2);
    loop {
        let record = reader.record()?;
        let is_blank = matches!(&record[..], [field] if field.is_empty());
        if !is_blank {
            let current = Layout::for_line(layout, &names, record.len())?;
            json.push(if json.is_empty() { '[' } else { ',' });
            push_row(&mut json, &current, &record);
            layout = Some(current);
        }
        if !reader.end_of_line() {
            break;
        }
    }
    if !reader.rest.is_empty() {
        return Err(reader.problem("endOfInput"));
    }

    let Some(layout) = layout else {
        return Ok(json::no_rows());
    };
    json.push(']');
    Ok(Payload::Json {
        text: Bytes::from(json),
        keys: layout.keys.into_iter().map(str::to_owned).collect(),
        is_object: false,
    })
}

/// The names of a line's fields.
struct Layout<'n> {
    width: usize,
    /// Positions and names; the last of repeated names wins.
    fields: Vec<(usize, &'n str)>,
    keys: BTreeSet<&'n str>,
}

impl<'n> Layout<'n> {
    fn new(names: &'n [Cow<'_, str>], width: usize) -> Self {
        let mut keys = BTreeSet::new();
        let mut fields: Vec<(usize, &str)> = Vec::with_capacity(width);
        for (at, name) in names[..width].iter().enumerate().rev() {
            if keys.insert(&**name) {
                fields.push((at, name));
            }
        }
        fields.reverse();
        Self {
            width,
            fields,
            keys,
        }
    }

    /// For a line with this number of fields, which must have the same names as the lines before.
    fn for_line(
        previous: Option<Self>,
        names: &'n [Cow<'_, str>],
        fields: usize,
    ) -> Result<Self, RestError> {
        let width = fields.min(names.len());
        match previous {
            Some(previous) if previous.width == width => Ok(previous),
            Some(previous) => {
                let layout = Self::new(names, width);
                if layout.keys == previous.keys {
                    Ok(layout)
                } else {
                    Err(RestError::InvalidBody(
                        "All lines must have same number of fields".to_owned(),
                    ))
                }
            }
            None => Ok(Self::new(names, width)),
        }
    }
}

fn push_row(json: &mut String, layout: &Layout<'_>, record: &Record<'_>) {
    json.push('{');
    let fields = layout.fields.iter();
    let fields = fields.filter_map(|&(at, name)| Some((name, record.get(at)?)));
    for (count, (name, field)) in fields.enumerate() {
        if count > 0 {
            json.push(',');
        }
        push_string(json, name);
        json.push(':');
        match &field[..] {
            "NULL" => json.push_str("null"),
            field => push_string(json, field),
        }
    }
    json.push('}');
}

fn push_string(json: &mut String, text: &str) {
    json.push('"');
    for char in text.chars() {
        match char {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\0'..='\u{1f}' => json.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => json.push(char),
        }
    }
    json.push('"');
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Fields up to the end of the line.
    fn record(&mut self) -> Result<Record<'a>, RestError> {
        let mut record = vec![self.field()?];
        while let Some(rest) = self.rest.strip_prefix(',') {
            self.rest = rest;
            record.push(self.field()?);
        }
        Ok(record)
    }

    fn field(&mut self) -> Result<Cow<'a, str>, RestError> {
        match self.rest.strip_prefix('"') {
            Some(rest) => self.quoted_field(rest),
            None => {
                let is_end = |char| matches!(char, '"' | ',' | '\n' | '\r');
                let length = self.rest.find(is_end).unwrap_or(self.rest.len());
                let (field, rest) = self.rest.split_at(length);
                self.rest = rest;
                Ok(Cow::Borrowed(field))
            }
        }
    }

    /// The rest of a field after its opening quote; inner quotes are doubled.
    fn quoted_field(&mut self, mut rest: &'a str) -> Result<Cow<'a, str>, RestError> {
        let mut field = Cow::Borrowed("");
        loop {
            let Some((text, behind)) = rest.split_once('"') else {
                return Err(self.problem("trailing double quote"));
            };
            if field.is_empty() {
                field = Cow::Borrowed(text);
            } else {
                field.to_mut().push_str(text);
            }
            let Some(inner) = behind.strip_prefix('"') else {
                self.rest = behind;
                return Ok(field);
            };
            field.to_mut().push('"');
            rest = inner;
        }
    }

    /// Consumes a line ending; `false` if there is none.
    fn end_of_line(&mut self) -> bool {
        let behind = ["\r\n", "\n", "\r"]
            .iter()
            .find_map(|end| self.rest.strip_prefix(end));
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    fn problem(&self, what: &str) -> RestError {
        problem(what, self.rest)
    }
}

fn problem(what: &str, rest: &str) -> RestError {
    let shown = match rest.char_indices().nth(100) {
        Some((end, _)) => format!("{} (truncated)", &rest[..end]),
        None => format!("{rest:?}"),
    };
    RestError::InvalidBody(format!("parse error ({what}) at {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<(String, Vec<String>), String> {
        match rows(body.as_bytes()) {
            Ok(Payload::Json { text, keys, .. }) => {
                let text = String::from_utf8(text.to_vec()).expect("UTF-8");
                serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
                Ok((text, keys.into_iter().collect()))
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check(body: &str, expected: &str, keys: &[&str]) {
        let keys = keys.iter().copied().map(str::to_owned).collect();
        assert_eq!(read(body), Ok((expected.to_owned(), keys)), "{body:?}");
    }

    #[test]
    fn lines_become_objects_of_texts() {
        check("a,b\nbar,baz", r#"[{"a":"bar","b":"baz"}]"#, &["a", "b"]);
        check(
            "a,b\r\n1,2\r\n3,4\r\n",
            r#"[{"a":"1","b":"2"},{"a":"3","b":"4"}]"#,
            &["a", "b"],
        );
        check("a\n\n1\n\n", r#"[{"a":"1"}]"#, &["a"]);
        check("a,b\nNULL,", r#"[{"a":null,"b":""}]"#, &["a", "b"]);
        check("a\n", "[]", &[]);
        check("a,a\n1,2", r#"[{"a":"2"}]"#, &["a"]);
    }

    #[test]
    fn quotes_protect_what_would_end_a_field() {
        check(
            "\"a\"\n\"x,\"\"y\"\"\nz\"",
            r#"[{"a":"x,\"y\"\nz"}]"#,
            &["a"],
        );
        check("a,b\n\"\",\"\"\"\"", r#"[{"a":"","b":"\""}]"#, &["a", "b"]);
        check("a\n\\\t\u{1}", r#"[{"a":"\\\t\u0001"}]"#, &["a"]);
    }

    #[test]
    fn lines_have_as_many_fields_as_the_first() {
        let message = "All lines must have same number of fields".to_owned();
        assert_eq!(read("a,b\nfoo,bar\nbaz"), Err(message));
        check("a,b\nfoo\nbaz", r#"[{"a":"foo"},{"a":"baz"}]"#, &["a"]);
        check("a\n1,2\n3", r#"[{"a":"1"},{"a":"3"}]"#, &["a"]);
    }

    #[test]
    fn malformed_text_is_rejected() {
        let rejected = |body| read(body).expect_err("rejected");
        assert_eq!(rejected(""), "parse error (not enough input) at \"\"");
        assert_eq!(rejected("a,b"), "parse error (not enough input) at \"\"");
        assert!(rejected("a\n\"x").starts_with("parse error"));
        assert!(rejected("a\nx\"y\"").starts_with("parse error"));
        assert!(rows(b"a\n\xff").is_err());
    }
}
