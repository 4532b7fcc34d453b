//! The value of `order`.

use std::borrow::Cow;

use winnow::{
    Parser,
    combinator::{delimited, preceded, terminated},
};

use crate::request::{Direction, Field, Nulls, OrderTerm};

use super::{
    Input, Parsed, Production,
    combinators::{attempt, either, lexeme, optional, peek, separated},
    expectations::Expectations,
    names::{delimiter, field, name},
    tokens::{end, symbol, word},
};

/// The value of `order`.
pub(in crate::request) struct Order;

impl Production for Order {
    type Output = Vec<OrderTerm>;
    const WHAT: &'static str = "order";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        let term = either(attempt(related_term), own_term);
        separated(lexeme(term), symbol(',')).parse_next(input)
    }
}

/// `relation(column).desc`
fn related_term<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<OrderTerm> {
    let relation = name.map(Cow::into_owned).parse_next(input)?;
    let field = delimited(symbol('('), field, symbol(')')).parse_next(input)?;
    term(Some(relation), field, input)
}

/// `column.desc`
fn own_term<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<OrderTerm> {
    let field = field(input)?;
    term(None, field, input)
}

/// The rest of a term. Only a comma or the end may follow.
fn term<'a, E: Expectations>(
    relation: Option<String>,
    field: Field,
    input: &mut Input<'a, E>,
) -> Parsed<OrderTerm> {
    let direction = optional(direction).parse_next(input)?;
    let nulls = terminated(optional(nulls), end_of_term);
    let nulls = either(nulls, end_of_term.value(None)).parse_next(input)?;
    Ok(OrderTerm {
        relation,
        field,
        direction,
        nulls,
    })
}

fn direction<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Direction> {
    let ascending = attempt(preceded(delimiter, word("asc"))).value(Direction::Ascending);
    let descending = attempt(preceded(delimiter, word("desc"))).value(Direction::Descending);
    either(ascending, descending).parse_next(input)
}

fn nulls<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Nulls> {
    let first = attempt(preceded(delimiter, word("nullsfirst"))).value(Nulls::First);
    let last = attempt(preceded(delimiter, word("nullslast"))).value(Nulls::Last);
    either(first, last).parse_next(input)
}

fn end_of_term<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<()> {
    either(attempt(peek(symbol(','))), end).parse_next(input)
}
