//! The text form of PostgreSQL arrays: `{1,"two, three",NULL,{nested}}`.

use winnow::{
    ModalResult, Parser as _,
    combinator::{alt, opt, repeat},
    error::{ContextError, ErrMode},
    token::{any, none_of, take_till, take_while},
};

/// An element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Element {
    Null,
    Text(String),
    Array(Vec<Element>),
}

/// PostgreSQL's own limit.
const MAX_DIMENSIONS: usize = 6;

/// All elements, separated by `delimiter`; `None` if the text is not an array. Stricter than
/// PostgreSQL, so that `None` does not mean that it would be rejected there.
pub(super) fn parse(text: &str, delimiter: char) -> Option<Vec<Element>> {
    let mut literal = |input: &mut &str| {
        opt(bounds).parse_next(input)?;
        array(input, delimiter, MAX_DIMENSIONS)
    };
    literal.parse(text.trim()).ok()
}

/// `[0:1]=`, the prefix of an array whose indexes do not start at one.
fn bounds(input: &mut &str) -> ModalResult<()> {
    let number = || take_while(1.., |c: char| c.is_ascii_digit() || c == '-');
    let range = ('[', number(), ':', number(), ']');
    (repeat::<_, _, (), _, _>(1.., range), '=')
        .void()
        .parse_next(input)
}

fn array(input: &mut &str, delimiter: char, dimensions: usize) -> ModalResult<Vec<Element>> {
    '{'.parse_next(input)?;
    if dimensions == 0 {
        return Err(ErrMode::Cut(ContextError::new()));
    }
    space(input)?;
    let mut elements = Vec::new();
    if opt('}').parse_next(input)?.is_some() {
        return Ok(elements);
    }
    loop {
        space(input)?;
        elements.push(element(input, delimiter, dimensions)?);
        space(input)?;
        match any.parse_next(input)? {
            '}' => return Ok(elements),
            c if c == delimiter => {}
            _ => return Err(ErrMode::Cut(ContextError::new())),
        }
    }
}

fn element(input: &mut &str, delimiter: char, dimensions: usize) -> ModalResult<Element> {
    match input.chars().next() {
        Some('{') => array(input, delimiter, dimensions - 1).map(Element::Array),
        Some('"') => quoted.map(Element::Text).parse_next(input),
        _ => bare(input, delimiter),
    }
}

fn quoted(input: &mut &str) -> ModalResult<String> {
    let escaped = ('\\', any).map(|(_, c)| c);
    let inside = repeat(0.., alt((escaped, none_of(['"', '\\']))));
    ('"', inside, '"')
        .map(|(_, text, _): (_, String, _)| text)
        .parse_next(input)
}

/// Without quotes; spaces around it are ignored, and backslashes are not supported.
fn bare(input: &mut &str, delimiter: char) -> ModalResult<Element> {
    let ends = |c: char| c == delimiter || matches!(c, '{' | '}' | '"' | '\\');
    let text: &str = take_till(1.., ends).parse_next(input)?;
    match text.trim() {
        "" => Err(ErrMode::Cut(ContextError::new())),
        null if null.eq_ignore_ascii_case("null") => Ok(Element::Null),
        text => Ok(Element::Text(text.to_owned())),
    }
}

fn space(input: &mut &str) -> ModalResult<()> {
    take_while(0.., |c: char| c.is_ascii_whitespace())
        .void()
        .parse_next(input)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Element {
        Element::Text(text.to_owned())
    }

    #[test]
    fn arrays_are_parsed() {
        let check = |literal: &str, expected: &[Element]| {
            assert_eq!(parse(literal, ',').as_deref(), Some(expected), "{literal}");
        };
        check("{}", &[]);
        check(" { } ", &[]);
        check("{1, 2 ,null}", &[text("1"), text("2"), Element::Null]);
        check(
            r#"{"a,b","c\"\\","NULL",""}"#,
            &[text("a,b"), text(r#"c"\"#), text("NULL"), text("")],
        );
        check("[0:1]={a b,c}", &[text("a b"), text("c")]);
        let inner = Element::Array(vec![text("1")]);
        check("{{1},{1}}", &[inner.clone(), inner]);
        let boxes = parse("{(1,1),(0,0);(2,2),(1,1)}", ';');
        assert_eq!(boxes, Some(vec![text("(1,1),(0,0)"), text("(2,2),(1,1)")]));
    }

    #[test]
    fn other_texts_are_not_arrays() {
        let deep = format!("{}1{}", "{".repeat(5000), "}".repeat(5000));
        for literal in [
            "", "1", "{", "{1", "{1}}", "{1,}", "{,1}", "{\"a}", "{a\"b}", &deep,
        ] {
            assert_eq!(parse(literal, ','), None, "{literal}");
        }
    }

    proptest! {
        #[test]
        fn quoted_texts_are_parsed_as_they_were(texts in prop::collection::vec(".*", 1..5)) {
            let quote = |text: &String| {
                format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
            };
            let literal: Vec<_> = texts.iter().map(quote).collect();
            let expected: Vec<_> = texts.iter().map(|it| text(it)).collect();
            prop_assert_eq!(parse(&format!("{{{}}}", literal.join(",")), ','), Some(expected));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[{}\",\\\\a\\[\\]:=1 ]{0,30}|.*") {
            _ = parse(&text, ',');
        }
    }
}
