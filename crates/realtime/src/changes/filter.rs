//! The filter syntax (realtime contract §9.4): `column=[not.]operator.value`, several separated by
//! commas.

use std::fmt;

use super::inspect::inspect_texts;

/// A comparison operator.
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

    /// As in filters and in the enum `realtime.equality_op`.
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

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operator| operator.name() == name)
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Filter {
    /// May not exist.
    pub column: String,
    pub operator: Operator,
    /// For [`Operator::In`] the literal of a PostgreSQL array.
    pub value: String,
    /// `not.`
    pub is_negated: bool,
}

impl fmt::Display for Filter {
    /// As the reference server shows a filter in its errors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = [&self.column, self.operator.name(), &self.value];
        let texts = inspect_texts(&texts);
        let texts = texts.trim_start_matches('[').trim_end_matches(']');
        write!(f, "{{{texts}, {}}}", self.is_negated)
    }
}

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// No `=`, or no known operator: the parts that were found instead.
    #[error("Error parsing `filter` params: {}", inspect_texts(.0))]
    Syntax(Vec<String>),
    #[error("Error parsing `filter` params: `in` filter value must be wrapped by parentheses")]
    InWithoutParentheses,
    #[error(
        "Error parsing `filter` params: filter must not contain empty segments \
         (check for extra commas)"
    )]
    EmptySegment,
}

/// Parses all conditions of a filter, which are joined by AND. A blank one has none.
pub fn parse(text: &str) -> Result<Vec<Filter>, FilterError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    segments(text).map(parse_segment).collect()
}

/// Splits at commas outside of parentheses and quotes.
fn segments(text: &str) -> impl Iterator<Item = &str> {
    let mut splitter = Splitter::default();
    text.split(move |c| splitter.is_separator(c))
}

/// The state after the last character.
#[derive(Default)]
struct Splitter {
    depth: usize,
    is_quoted: bool,
    is_escaped: bool,
    /// The last character was one after which a quote opens a quoted run.
    may_open_quote: bool,
}

impl Splitter {
    /// Takes the next character; returns whether it ends a segment.
    fn is_separator(&mut self, c: char) -> bool {
        let may_open_quote =
            std::mem::replace(&mut self.may_open_quote, matches!(c, '.' | '(' | ','));
        if self.is_quoted {
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '"' => self.is_quoted = false,
                _ => {}
            }
            self.may_open_quote = false;
            return false;
        }
        match c {
            '"' => self.is_quoted = may_open_quote,
            '(' => self.depth += 1,
            ')' => self.depth = self.depth.saturating_sub(1),
            ',' => return self.depth == 0,
            _ => {}
        }
        false
    }
}

fn parse_segment(text: &str) -> Result<Filter, FilterError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(FilterError::EmptySegment);
    }
    let syntax_error = |parts: &[&str]| {
        let parts = parts.iter().copied().map(str::to_owned);
        Err(FilterError::Syntax(parts.collect()))
    };
    let Some((column, condition)) = text.split_once('=') else {
        return syntax_error(&[text]);
    };
    let (condition, is_negated) = match condition.strip_prefix("not.") {
        Some(condition) => (condition, true),
        None => (condition, false),
    };
    let Some((name, value)) = condition.split_once('.') else {
        return syntax_error(&[condition]);
    };
    let Some(operator) = Operator::from_name(name) else {
        return syntax_error(&[name, value]);
    };
    let value = match operator {
        Operator::In => array_literal(value).ok_or(FilterError::InWithoutParentheses)?,
        _ => unquote(value).unwrap_or_else(|| value.to_owned()),
    };
    Ok(Filter {
        column: column.to_owned(),
        operator,
        value,
        is_negated,
    })
}

fn array_literal(value: &str) -> Option<String> {
    let inside = value.strip_prefix('(')?.strip_suffix(')')?;
    Some(format!("{{{inside}}}"))
}

/// The value without quotes, if it is one quoted run and nothing else.
fn unquote(value: &str) -> Option<String> {
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
    fn check_error(text: &str, expected: &str) {
        let error = parse(text).expect_err("an error").to_string();
        assert_eq!(error, format!("Error parsing `filter` params: {expected}"));
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
    fn a_backslash_in_quotes_escapes_the_next_character() {
        check(r#"a=eq."x\",\\y""#, &[filter("a", Equal, r#"x",\y"#)]);
        check(r"a=eq.x\y", &[filter("a", Equal, r"x\y")]);
    }

    #[test]
    fn a_syntax_error_shows_the_parts() {
        check_error("id", r#"["id"]"#);
        check_error("id=5", r#"["5"]"#);
        check_error("id=foo.5", r#"["foo", "5"]"#);
        check_error("id=EQ.5", r#"["EQ", "5"]"#);
        check_error("id=not.foo.5.6", r#"["foo", "5.6"]"#);
        check_error("id=a\"b\\", r#"["a\"b\\"]"#);
    }

    #[test]
    fn empty_segments_and_lists_without_parentheses_are_errors() {
        let empty = "filter must not contain empty segments (check for extra commas)";
        for text in [
            ",",
            "a=eq.1,",
            ",a=eq.1",
            "a=eq.1,,b=eq.2",
            "a=eq.1, ,b=eq.2",
        ] {
            check_error(text, empty);
        }
        let bare = "`in` filter value must be wrapped by parentheses";
        for text in ["id=in.1", "id=in.(1", "id=not.in.1)", "id=in."] {
            check_error(text, bare);
        }
    }

    #[test]
    fn a_filter_is_displayed_as_the_reference_server_does() {
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
        fn no_text_makes_it_panic(text in "[a-z=.,()\"\\\\ ]{0,40}|.*") {
            _ = parse(&text);
        }
    }
}
