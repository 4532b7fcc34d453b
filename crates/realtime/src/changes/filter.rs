//! Filters as subscribers write them (realtime contract §9.4): `column=[not.]operator.value`, and
//! several of them with commas in between.

use std::fmt;

use super::inspect::inspect_texts;

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Like,
    ILike,
    Is,
    Match,
    IMatch,
    IsDistinct,
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::In,
        Self::Like,
        Self::ILike,
        Self::Is,
        Self::Match,
        Self::IMatch,
        Self::IsDistinct,
    ];

    /// As subscribers and the database's own enum spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "eq",
            Self::NotEqual => "neq",
            Self::Less => "lt",
            Self::LessOrEqual => "lte",
            Self::Greater => "gt",
            Self::GreaterOrEqual => "gte",
            Self::In => "in",
            Self::Like => "like",
            Self::ILike => "ilike",
            Self::Is => "is",
            Self::Match => "match",
            Self::IMatch => "imatch",
            Self::IsDistinct => "isdistinct",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operator| operator.name() == name)
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The column, which may not exist.
    pub column: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what; for [`Operator::In`] the literal of a Postgres array.
    pub value: String,
    /// Whether it is to be false instead.
    pub is_negated: bool,
}

impl fmt::Display for Filter {
    /// As the reference shows a filter in its errors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = [&self.column, self.operator.name(), &self.value];
        let texts = inspect_texts(&texts);
        let texts = texts.trim_start_matches('[').trim_end_matches(']');
        write!(f, "{{{texts}, {}}}", self.is_negated)
    }
}

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFilter {
    /// No `=`, no operator, or one that does not exist: what was found in its place.
    #[error("Error parsing `filter` params: {}", inspect_texts(.0))]
    Unreadable(Vec<String>),
    #[error("Error parsing `filter` params: `in` filter value must be wrapped by parentheses")]
    InWithoutParentheses,
    #[error(
        "Error parsing `filter` params: filter must not contain empty segments \
         (check for extra commas)"
    )]
    EmptySegment,
}

/// All conditions of a filter, which must all hold. A blank one has none.
pub fn parse(text: &str) -> Result<Vec<Filter>, BadFilter> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    segments(text).map(segment).collect()
}

/// Parts between those commas that are neither in parentheses nor in quotes.
fn segments(text: &str) -> impl Iterator<Item = &str> {
    let mut place = Place::default();
    text.split(move |c| place.is_separated_by(c))
}

/// Where in the text the next character stands.
#[derive(Default)]
struct Place {
    depth: usize,
    is_quoted: bool,
    is_escaped: bool,
    /// A quote opens a run only directly after one of these.
    may_open: bool,
}

impl Place {
    /// Takes a character in; whether it ends a segment.
    fn is_separated_by(&mut self, c: char) -> bool {
        let may_open = std::mem::replace(&mut self.may_open, matches!(c, '.' | '(' | ','));
        if self.is_quoted {
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '"' => self.is_quoted = false,
                _ => {}
            }
            self.may_open = false;
            return false;
        }
        match c {
            '"' => self.is_quoted = may_open,
            '(' => self.depth += 1,
            ')' => self.depth = self.depth.saturating_sub(1),
            ',' => return self.depth == 0,
            _ => {}
        }
        false
    }
}

fn segment(text: &str) -> Result<Filter, BadFilter> {
    let text = text.trim();
    if text.is_empty() {
        return Err(BadFilter::EmptySegment);
    }
    let unreadable = |parts: &[&str]| {
        let parts = parts.iter().copied().map(str::to_owned);
        Err(BadFilter::Unreadable(parts.collect()))
    };
    let Some((column, condition)) = text.split_once('=') else {
        return unreadable(&[text]);
    };
    let (condition, is_negated) = match condition.strip_prefix("not.") {
        Some(condition) => (condition, true),
        None => (condition, false),
    };
    let Some((name, value)) = condition.split_once('.') else {
        return unreadable(&[condition]);
    };
    let Some(operator) = Operator::named(name) else {
        return unreadable(&[name, value]);
    };
    let value = match operator {
        Operator::In => array(value).ok_or(BadFilter::InWithoutParentheses)?,
        _ => unquoted(value).unwrap_or_else(|| value.to_owned()),
    };
    Ok(Filter {
        column: column.to_owned(),
        operator,
        value,
        is_negated,
    })
}

fn array(value: &str) -> Option<String> {
    let inside = value.strip_prefix('(')?.strip_suffix(')')?;
    Some(format!("{{{inside}}}"))
}

/// What is in the quotes, if the value is one quoted run and nothing else.
fn unquoted(value: &str) -> Option<String> {
    let mut rest = value.strip_prefix('"')?.chars();
    let mut text = String::with_capacity(value.len());
    loop {
        match rest.next()? {
            '\\' => text.push(rest.next()?),
            '"' => return rest.as_str().is_empty().then_some(text),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(column: &str, operator: Operator, value: &str) -> Filter {
        Filter {
            column: column.to_owned(),
            operator,
            value: value.to_owned(),
            is_negated: false,
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[Filter]) {
        assert_eq!(parse(text).as_deref(), Ok(expected), "{text}");
    }

    #[track_caller]
    fn refuse(text: &str, expected: &str) {
        let refused = parse(text).expect_err("refused").to_string();
        assert_eq!(
            refused,
            format!("Error parsing `filter` params: {expected}")
        );
    }

    use Operator::*;

    #[test]
    fn every_operator_is_known_and_can_be_negated() {
        for operator in Operator::ALL {
            let (written, kept) = match operator {
                In => ("(1,2)", "{1,2}"),
                _ => ("1", "1"),
            };
            let expected = filter("id", operator, kept);
            check(
                &format!("id={}.{written}", operator.name()),
                std::slice::from_ref(&expected),
            );
            let negated = Filter {
                is_negated: true,
                ..expected
            };
            check(&format!("id=not.{}.{written}", operator.name()), &[negated]);
        }
    }

    #[test]
    fn a_blank_filter_has_no_conditions() {
        check("", &[]);
        check(" \t ", &[]);
    }

    #[test]
    fn several_conditions_are_trimmed() {
        let expected = [filter("a", Equal, "1"), filter("b", Greater, "2")];
        check(" a=eq.1 ,  b=gt.2 ", &expected);
    }

    #[test]
    fn the_value_is_the_rest() {
        check("a=eq.x.y=z", &[filter("a", Equal, "x.y=z")]);
        check("a=eq.", &[filter("a", Equal, "")]);
        check("a=eq.not.eq.1", &[filter("a", Equal, "not.eq.1")]);
        check("a=in.()", &[filter("a", In, "{}")]);
    }

    #[test]
    fn commas_in_quotes_and_parentheses_do_not_separate() {
        check(r#"a=eq."x,y""#, &[filter("a", Equal, "x,y")]);
        let expected = [
            filter("a", In, r#"{1,"b,)c",(2,3)}"#),
            filter("b", Is, "null"),
        ];
        check(r#"a=in.(1,"b,)c",(2,3)),b=is.null"#, &expected);
        check("a=eq.f(1,2)", &[filter("a", Equal, "f(1,2)")]);
        check(
            "a=eq.),b=eq.2",
            &[filter("a", Equal, ")"), filter("b", Equal, "2")],
        );
    }

    #[test]
    fn quotes_count_only_where_a_value_begins() {
        let expected = [filter("a", Equal, r#"x"y"#), filter("b", Equal, r#"z"w"#)];
        check(r#"a=eq.x"y,b=eq.z"w"#, &expected);
        check(r#"a=eq."x"y"#, &[filter("a", Equal, r#""x"y"#)]);
        check(r#"a=eq."x"#, &[filter("a", Equal, r#""x"#)]);
    }

    #[test]
    fn a_backslash_in_quotes_protects_what_follows() {
        check(r#"a=eq."x\",\\y""#, &[filter("a", Equal, r#"x",\y"#)]);
        check(r"a=eq.x\y", &[filter("a", Equal, r"x\y")]);
    }

    #[test]
    fn what_cannot_be_read_is_shown() {
        refuse("id", r#"["id"]"#);
        refuse("id=5", r#"["5"]"#);
        refuse("id=foo.5", r#"["foo", "5"]"#);
        refuse("id=EQ.5", r#"["EQ", "5"]"#);
        refuse("id=not.foo.5.6", r#"["foo", "5.6"]"#);
        refuse("id=a\"b\\", r#"["a\"b\\"]"#);
    }

    #[test]
    fn empty_segments_and_naked_lists_are_errors() {
        let empty = "filter must not contain empty segments (check for extra commas)";
        for text in [
            ",",
            "a=eq.1,",
            ",a=eq.1",
            "a=eq.1,,b=eq.2",
            "a=eq.1, ,b=eq.2",
        ] {
            refuse(text, empty);
        }
        let naked = "`in` filter value must be wrapped by parentheses";
        for text in ["id=in.1", "id=in.(1", "id=not.in.1)", "id=in."] {
            refuse(text, naked);
        }
    }

    #[test]
    fn a_filter_is_shown_as_the_reference_shows_it() {
        let shown = filter("notacolumn", Equal, "123").to_string();
        assert_eq!(shown, r#"{"notacolumn", "eq", "123", false}"#);
    }

    fn quoted(text: &str) -> String {
        let escaped = text.replace('\\', r"\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    }

    proptest! {
        #[test]
        fn every_value_can_be_written_in_quotes(values in prop::collection::vec(".*", 1..4)) {
            let texts = values.iter().map(|value| format!("c=eq.{}", quoted(value)));
            let texts: Vec<_> = texts.collect();
            let expected: Vec<_> = values.iter().map(|value| filter("c", Equal, value)).collect();
            prop_assert_eq!(parse(&texts.join(",")), Ok(expected));
        }

        #[test]
        fn no_text_is_a_panic(text in "[a-z=.,()\"\\\\ ]{0,40}|.*") {
            _ = parse(&text);
        }
    }
}
