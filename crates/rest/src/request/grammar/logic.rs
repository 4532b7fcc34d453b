//! Logic trees: the keys `and` and `or`, and their values.

use std::borrow::Cow;

use winnow::{
    Parser,
    combinator::{delimited, terminated},
};

use crate::request::{EmbedPath, Filter, LogicOperator, LogicTree};

use super::{
    Input, Parsed, Production,
    combinators::{attempt, either, label, lexeme, nested, optional, separated},
    expectations::Expectations,
    filter::{condition, raw, whole_quoted},
    names::{delimiter, field, owned_path},
    tokens::{chars0, symbol, word},
};

/// Of nested groups.
const MAX_DEPTH: usize = 32;

/// The key of a logic tree: the path of its embed, then `and`, `or`, `not.and` or `not.or`.
pub(in crate::request) struct LogicPath;

impl Production for LogicPath {
    type Output = (EmbedPath, String);
    const WHAT: &'static str = "logic path";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        let mut path = owned_path(input)?;
        let operator = path.pop().unwrap_or_default();
        let levels = path.len();
        path.retain(|name| name != "not");
        let is_negated = path.len() < levels;
        if is_negated {
            Ok((path, format!("not.{operator}")))
        } else {
            Ok((path, operator))
        }
    }
}

/// The value of such a key, with the operator prepended.
pub(in crate::request) struct LogicTreeValue;

impl Production for LogicTreeValue {
    type Output = LogicTree;
    const WHAT: &'static str = "logic tree";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        tree(input)
    }
}

fn tree<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<LogicTree> {
    let filter = attempt(filter).map(LogicTree::Filter);
    either(filter, group).parse_next(input)
}

fn filter<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Filter> {
    let field = terminated(field, delimiter).parse_next(input)?;
    let condition = condition(value).parse_next(input)?;
    Ok(condition.on(field))
}

fn group<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<LogicTree> {
    let not = optional(attempt((word("not"), delimiter)));
    let not = label("negation operator (not)", not).parse_next(input)?;
    let and = attempt(word("and")).value(LogicOperator::And);
    let or = word("or").value(LogicOperator::Or);
    let operator = label("logic operator (and, or)", either(and, or)).parse_next(input)?;
    let children = separated(tree, lexeme(symbol(',')));
    let children = nested(MAX_DEPTH, children);
    let children =
        delimited(lexeme(symbol('(')), children, lexeme(symbol(')'))).parse_next(input)?;
    Ok(LogicTree::Group {
        is_negated: not.is_some(),
        operator,
        children,
    })
}

/// A value in a tree: quoted, in braces, or up to the next comma or parenthesis.
fn value<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    either(whole_quoted, either(attempt(braces), raw)).parse_next(input)
}

fn braces<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    let inner = chars0(|char| !matches!(char, '{' | '}'), &[]);
    delimited(word("{"), inner, word("}"))
        .take()
        .map(Cow::Borrowed)
        .parse_next(input)
}
