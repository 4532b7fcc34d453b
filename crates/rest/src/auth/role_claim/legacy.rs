//! The older path syntax: `.key`, `."any key"`, `[0]`, and at the end `[?(@ == "text")]`.

use serde_json::{Map, Value};

use super::cursor::Cursor;

/// Steps into the claims.
#[derive(Debug, Clone)]
pub(super) struct LegacyPath(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
    /// The first text of an array that compares so.
    FirstText(Comparison, String),
}

#[derive(Debug, Clone, Copy)]
enum Comparison {
    Equals,
    Differs,
    StartsWith,
    EndsWith,
    Contains,
}

/// Longer ones first, where one is the beginning of another.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("==^", Comparison::EndsWith),
    ("==", Comparison::Equals),
    ("!=", Comparison::Differs),
    ("^==", Comparison::StartsWith),
    ("*==", Comparison::Contains),
];

impl Comparison {
    fn holds(self, found: &str, wanted: &str) -> bool {
        match self {
            Self::Equals => found == wanted,
            Self::Differs => found != wanted,
            Self::StartsWith => found.starts_with(wanted),
            Self::EndsWith => found.ends_with(wanted),
            Self::Contains => found.contains(wanted),
        }
    }
}

impl LegacyPath {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut cursor = Cursor::new(text);
        let mut steps = Vec::new();
        while !cursor.is_at_end() {
            steps.push(step(&mut cursor)?);
        }
        match steps.is_empty() {
            true => Err(cursor.expected("a path")),
            false => Ok(Self(steps)),
        }
    }

    pub(super) fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        let Step::Key(key) = first else { return None };
        rest.iter()
            .try_fold(claims.get(key)?, |value, step| match step {
                Step::Key(key) => value.as_object()?.get(key),
                Step::Index(index) => value.as_array()?.get(*index),
                Step::FirstText(comparison, wanted) => value.as_array()?.iter().find(|item| {
                    item.as_str()
                        .is_some_and(|text| comparison.holds(text, wanted))
                }),
            })
    }
}

fn step(cursor: &mut Cursor<'_>) -> Result<Step, String> {
    if cursor.eat(".") {
        if cursor.peek() == Some('"') {
            return quoted(cursor).map(Step::Key);
        }
        let key = cursor.take_while(|c| c.is_alphanumeric() || "_$@".contains(c));
        return match key.is_empty() {
            true => Err(cursor.expected("a key")),
            false => Ok(Step::Key(key.to_owned())),
        };
    }
    if cursor.eat("[?(") {
        return filter(cursor);
    }
    cursor.expect("[")?;
    let digits = cursor.take_while(|c| c.is_ascii_digit());
    let index = digits.parse().map_err(|_| cursor.expected("an index"))?;
    cursor.expect("]")?;
    Ok(Step::Index(index))
}

fn filter(cursor: &mut Cursor<'_>) -> Result<Step, String> {
    cursor.expect("@")?;
    cursor.skip_spaces();
    let comparison = COMPARISONS.iter().find(|(word, _)| cursor.eat(word));
    let (_, comparison) =
        *comparison.ok_or_else(|| cursor.expected("one of ==, !=, ^==, ==^ and *=="))?;
    cursor.skip_spaces();
    let wanted = quoted(cursor)?;
    cursor.expect(")]")?;
    match cursor.is_at_end() {
        true => Ok(Step::FirstText(comparison, wanted)),
        false => Err(cursor.expected("the end of the path")),
    }
}

fn quoted(cursor: &mut Cursor<'_>) -> Result<String, String> {
    cursor.expect("\"")?;
    let text = cursor.take_while(|c| c != '"').to_owned();
    cursor.expect("\"")?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        let claims = json!({ "roles": ["other", "test_author", { "k": "v" }] });
        let claims = claims.as_object().expect("an object");
        let path = LegacyPath::parse(path).expect("a good path");
        assert_eq!(path.find(claims).and_then(Value::as_str), expected);
    }

    #[test]
    fn a_filter_finds_the_first_text_that_compares_so() {
        check(r#".roles[?(@ == "test_author")]"#, Some("test_author"));
        check(r#".roles[?(@ != "other")]"#, Some("test_author"));
        check(r#".roles[?(@ ^== "test_")]"#, Some("test_author"));
        check(r#".roles[?(@ ==^ "author")]"#, Some("test_author"));
        check(r#".roles[?(@ *== "_")]"#, Some("test_author"));
        check(r#".roles[?(@=="nobody")]"#, None);
    }

    #[test]
    fn a_filter_ends_the_path() {
        assert!(LegacyPath::parse(r#".a[?(@ == "x")].b"#).is_err());
        assert!(LegacyPath::parse(r#".a[?(@ = "x")]"#).is_err());
        assert!(LegacyPath::parse(".a[x]").is_err());
    }
}
