//! The older path syntax: `.key`, `."any key"`, `[0]`, and at the end `[?(@ == "text")]`.

use serde_json::{Map, Value};
use winnow::{
    ModalResult, Parser as _,
    ascii::{digit1, multispace0},
    combinator::{alt, delimited, opt, preceded, repeat},
    token::take_while,
};

/// Steps into the claims.
#[derive(Debug, Clone)]
pub(super) struct LegacyPath(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
    /// The first string of an array for which the comparison holds.
    FirstString(Comparison, String),
}

#[derive(Debug, Clone, Copy)]
enum Comparison {
    Equals,
    Differs,
    StartsWith,
    EndsWith,
    Contains,
}

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
        path.parse(text).map_err(|error| {
            let position = text[..error.offset()].chars().count() + 1;
            format!("not a path from character {position} on")
        })
    }

    pub(super) fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        let Step::Key(key) = first else { return None };
        rest.iter()
            .try_fold(claims.get(key)?, |value, step| match step {
                Step::Key(key) => value.as_object()?.get(key),
                Step::Index(index) => value.as_array()?.get(*index),
                Step::FirstString(comparison, wanted) => value.as_array()?.iter().find(|item| {
                    item.as_str()
                        .is_some_and(|text| comparison.holds(text, wanted))
                }),
            })
    }
}

fn path(input: &mut &str) -> ModalResult<LegacyPath> {
    let steps = repeat(0.., alt((key, index)));
    (steps, opt(filter))
        .map(|(mut steps, filter): (Vec<Step>, Option<Step>)| {
            steps.extend(filter);
            LegacyPath(steps)
        })
        .verify(|path| !path.0.is_empty())
        .parse_next(input)
}

fn key(input: &mut &str) -> ModalResult<Step> {
    let plain = take_while(1.., |c: char| c.is_alphanumeric() || "_$@".contains(c));
    preceded('.', alt((quoted, plain.map(str::to_owned))))
        .map(Step::Key)
        .parse_next(input)
}

fn index(input: &mut &str) -> ModalResult<Step> {
    delimited('[', digit1.parse_to(), ']')
        .map(Step::Index)
        .parse_next(input)
}

/// Only the last step can be one.
fn filter(input: &mut &str) -> ModalResult<Step> {
    let condition = (
        preceded(('@', multispace0), comparison),
        preceded(multispace0, quoted),
    );
    delimited("[?(", condition, ")]")
        .map(|(comparison, wanted)| Step::FirstString(comparison, wanted))
        .parse_next(input)
}

fn comparison(input: &mut &str) -> ModalResult<Comparison> {
    // `==^` before `==`, which it begins with.
    alt((
        "==^".value(Comparison::EndsWith),
        "==".value(Comparison::Equals),
        "!=".value(Comparison::Differs),
        "^==".value(Comparison::StartsWith),
        "*==".value(Comparison::Contains),
    ))
    .parse_next(input)
}

/// Text in double quotes; there are no escapes.
fn quoted(input: &mut &str) -> ModalResult<String> {
    delimited('"', take_while(0.., |c| c != '"'), '"')
        .map(str::to_owned)
        .parse_next(input)
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
