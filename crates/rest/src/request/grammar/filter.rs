//! The value of a filter: an operator and its operand.

use std::borrow::Cow;

use winnow::{
    Parser,
    combinator::{delimited, preceded, terminated},
    error::EmptyError,
    token::rest,
};

use crate::request::{
    Field, Filter, FullTextOperator, IsValue, Operation, QuantOperator, Quantifier, SimpleOperator,
};

use super::{
    Input, Parsed, Production,
    combinators::{Rule, attempt, either, label, lexeme, optional, separated},
    expectations::{Expectations, Found},
    names::{delimiter, identifier, quoted},
    tokens::{chars0, keyword, not_followed_by, symbol, word},
};

/// For example `not.eq.5`.
pub(in crate::request) struct FilterValue;

impl Production for FilterValue {
    type Output = Condition;
    const WHAT: &'static str = "filter";

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        condition(rest_of_text).parse_next(input)
    }
}

/// The same, or `None` for an argument of a function.
pub(in crate::request) struct FilterOrArgument;

impl Production for FilterOrArgument {
    type Output = Option<Condition>;
    const WHAT: &'static str = FilterValue::WHAT;

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output> {
        optional(condition(rest_of_text)).parse_next(input)
    }
}

/// A filter without its field.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::request) struct Condition {
    pub(super) is_negated: bool,
    pub(super) operation: Operation,
}

impl Condition {
    pub(in crate::request) fn on(self, field: Field) -> Filter {
        Filter {
            field,
            is_negated: self.is_negated,
            operation: self.operation,
        }
    }
}

const SIMPLE: &[(&str, SimpleOperator)] = &[
    ("neq", SimpleOperator::NotEqual),
    ("cs", SimpleOperator::Contains),
    ("cd", SimpleOperator::ContainedIn),
    ("ov", SimpleOperator::Overlaps),
    ("sl", SimpleOperator::StrictlyLeft),
    ("sr", SimpleOperator::StrictlyRight),
    ("nxr", SimpleOperator::NotExtendsRight),
    ("nxl", SimpleOperator::NotExtendsLeft),
    ("adj", SimpleOperator::Adjacent),
];

const QUANTIFIABLE: &[(&str, QuantOperator)] = &[
    ("eq", QuantOperator::Equal),
    ("gte", QuantOperator::GreaterThanEqual),
    ("gt", QuantOperator::GreaterThan),
    ("lte", QuantOperator::LessThanEqual),
    ("lt", QuantOperator::LessThan),
    ("like", QuantOperator::Like),
    ("ilike", QuantOperator::ILike),
    ("match", QuantOperator::Match),
    ("imatch", QuantOperator::IMatch),
];

const FULL_TEXT: &[(&str, FullTextOperator)] = &[
    ("fts", FullTextOperator::Plain),
    ("plfts", FullTextOperator::PlainTo),
    ("phfts", FullTextOperator::Phrase),
    ("wfts", FullTextOperator::WebSearch),
];

const IS_VALUES: &[(&str, IsValue)] = &[
    ("null", IsValue::Null),
    ("not_null", IsValue::NotNull),
    ("true", IsValue::True),
    ("false", IsValue::False),
    ("unknown", IsValue::Unknown),
];

/// The parser of an operand, which depends on where the filter is.
type Value<'a, E> = fn(&mut Input<'a, E>) -> Parsed<Cow<'a, str>>;

/// `[not.]operator.value`
pub(super) fn condition<'a, E: Expectations>(value: Value<'a, E>) -> impl Rule<'a, E, Condition> {
    let not = optional(attempt((word("not"), delimiter)));
    let operation = label("operator (eq, gt, ...)", operation(value));
    (not, operation).map(|(not, operation)| Condition {
        is_negated: not.is_some(),
        operation,
    })
}

fn operation<'a, E: Expectations>(value: Value<'a, E>) -> impl Rule<'a, E, Operation> {
    let with_own_values = either(in_list, is);
    let comparison = either(attempt(simple(value)), attempt(quantified(value)));
    let comparison = either(attempt(full_text(value)), comparison);
    either(with_own_values, either(is_distinct_from(value), comparison))
}

fn in_list<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Operation> {
    let operator = attempt((word("in"), delimiter));
    preceded(operator, list)
        .map(Operation::In)
        .parse_next(input)
}

fn is<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Operation> {
    let operator = attempt((word("is"), delimiter));
    let value = label("isVal: (null, not_null, true, false, unknown)", is_value);
    preceded(operator, value)
        .map(Operation::Is)
        .parse_next(input)
}

/// One of the five values, ignoring case.
fn is_value<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<IsValue> {
    let text = input.input;
    for &(name, value) in IS_VALUES {
        let fits = |(a, b): &(char, char)| a.eq_ignore_ascii_case(b);
        let matching = text.chars().zip(name.chars()).take_while(fits).count();
        let rest = &text[matching..];
        if matching == name.len() {
            input.input = rest;
            input.state.expectations.clear();
            return Ok(value);
        }
        let next = Found::Next(rest.chars().next());
        input.state.expectations.record(rest.len(), next, &[]);
    }
    Err(EmptyError)
}

fn is_distinct_from<'a, E: Expectations>(value: Value<'a, E>) -> impl Rule<'a, E, Operation> {
    let operator = attempt((word("isdistinct"), delimiter));
    preceded(operator, value).map(|value| Operation::IsDistinctFrom(value.into_owned()))
}

fn full_text<'a, E: Expectations>(value: Value<'a, E>) -> impl Rule<'a, E, Operation> {
    let language = optional(attempt(delimited(symbol('('), identifier, symbol(')'))));
    let parts = (keyword(FULL_TEXT), terminated(language, delimiter), value);
    parts.map(|(operator, language, value)| Operation::FullText {
        operator,
        language: language.map(str::to_owned),
        value: value.into_owned(),
    })
}

fn simple<'a, E: Expectations>(value: Value<'a, E>) -> impl Rule<'a, E, Operation> {
    let operator = label("unknown single value operator", keyword(SIMPLE));
    let parts = (terminated(operator, delimiter), value);
    parts.map(|(operator, value)| Operation::Simple(operator, value.into_owned()))
}

fn quantified<'a, E: Expectations>(value: Value<'a, E>) -> impl Rule<'a, E, Operation> {
    let operator = label("unknown single value operator", keyword(QUANTIFIABLE));
    let any = attempt(word("any")).value(Quantifier::Any);
    let all = word("all").value(Quantifier::All);
    let quantifier = delimited(symbol('('), either(any, all), symbol(')'));
    let quantifier = terminated(optional(attempt(quantifier)), delimiter);
    let parts = (operator, quantifier, value);
    parts.map(|(operator, quantifier, value)| Operation::Quantified {
        operator,
        quantifier,
        value: value.into_owned(),
    })
}

/// A value outside of lists and trees: the whole remaining text.
fn rest_of_text<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    rest.map(Cow::Borrowed).parse_next(input)
}

/// `(a,"b",c)`
fn list<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Vec<String>> {
    let elements = separated(element.map(Cow::into_owned), symbol(','));
    delimited(lexeme(symbol('(')), elements, lexeme(symbol(')'))).parse_next(input)
}

/// An element of a list: quoted, or up to the next comma or parenthesis.
fn element<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    either(whole_quoted, raw).parse_next(input)
}

/// A quoted value. If text follows the closing quote, the quotes are part of a raw value.
pub(super) fn whole_quoted<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    attempt(terminated(quoted, not_followed_by(is_raw, &[]))).parse_next(input)
}

pub(super) fn raw<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<Cow<'a, str>> {
    chars0(is_raw, &[]).map(Cow::Borrowed).parse_next(input)
}

fn is_raw(char: char) -> bool {
    !matches!(char, ',' | ')')
}
