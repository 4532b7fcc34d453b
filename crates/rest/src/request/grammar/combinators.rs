//! Choice and repetition with Parsec's rules of backtracking, over winnow's parsers.
//!
//! A parser that fails after consuming input is *committed*: no alternative is tried, unless
//! [`attempt`] backtracks. Sequences are winnow's own, but not `alt`, `opt` and `repeat`, which
//! always backtrack.

use winnow::{
    Parser,
    combinator::{delimited, preceded},
    error::EmptyError,
};

use super::{Input, Parsed, expectations::Expectations, tokens::chars0};

/// A parser of this grammar.
pub(super) trait Rule<'a, E, O>: Parser<Input<'a, E>, O, EmptyError>
where
    E: Expectations,
{
}

impl<'a, E: Expectations, O, P: Parser<Input<'a, E>, O, EmptyError>> Rule<'a, E, O> for P {}

/// Looks ahead without consuming input.
pub(super) fn peek<'a, E: Expectations, O>(mut rule: impl Rule<'a, E, O>) -> impl Rule<'a, E, O> {
    move |input: &mut Input<'a, E>| {
        let start = input.input;
        let known = std::mem::take(&mut input.state.expectations);
        let outcome = rule.parse_next(input);
        let has_consumed = has_consumed(input, start);
        if outcome.is_ok() {
            input.input = start;
            input.state.expectations = known;
        } else if !has_consumed {
            input.state.expectations.merge_earlier(known);
        }
        outcome
    }
}

/// Backtracks when the rule fails.
pub(super) fn attempt<'a, E: Expectations, O>(
    mut rule: impl Rule<'a, E, O>,
) -> impl Rule<'a, E, O> {
    move |input: &mut Input<'a, E>| {
        let start = input.input;
        let known = std::mem::take(&mut input.state.expectations);
        let outcome = rule.parse_next(input);
        if outcome.is_err() {
            input.input = start;
        }
        if !has_consumed(input, start) {
            input.state.expectations.merge_earlier(known);
        }
        outcome
    }
}

/// Replaces what the rule expects by a label, unless it has consumed input.
pub(super) fn label<'a, E: Expectations, O>(
    label: &'static str,
    mut rule: impl Rule<'a, E, O>,
) -> impl Rule<'a, E, O> {
    move |input: &mut Input<'a, E>| {
        let start = input.input;
        let known = std::mem::take(&mut input.state.expectations);
        let outcome = rule.parse_next(input);
        if !has_consumed(input, start) {
            if outcome.is_err() || !input.state.expectations.is_empty() {
                input.state.expectations.relabel(label);
            }
            input.state.expectations.merge_earlier(known);
        }
        outcome
    }
}

/// The second rule, if the first fails without consuming input.
pub(super) fn either<'a, E: Expectations, O>(
    mut first: impl Rule<'a, E, O>,
    mut second: impl Rule<'a, E, O>,
) -> impl Rule<'a, E, O> {
    move |input: &mut Input<'a, E>| {
        let start = input.input;
        match first.parse_next(input) {
            Err(EmptyError) if !has_consumed(input, start) => second.parse_next(input),
            outcome => outcome,
        }
    }
}

/// `None` if the rule fails without consuming input.
pub(super) fn optional<'a, E: Expectations, O>(
    mut rule: impl Rule<'a, E, O>,
) -> impl Rule<'a, E, Option<O>> {
    move |input: &mut Input<'a, E>| {
        let start = input.input;
        match rule.parse_next(input) {
            Ok(output) => Ok(Some(output)),
            Err(EmptyError) if !has_consumed(input, start) => Ok(None),
            Err(EmptyError) => Err(EmptyError),
        }
    }
}

/// Zero or more times, passing each output to `take`.
pub(super) fn repeat<'a, E: Expectations, O>(
    mut rule: impl Rule<'a, E, O>,
    mut take: impl FnMut(O),
) -> impl Rule<'a, E, ()> {
    move |input: &mut Input<'a, E>| {
        let mut known = Some(std::mem::take(&mut input.state.expectations));
        loop {
            let start = input.input;
            let outcome = rule.parse_next(input);
            match outcome {
                Ok(output) => take(output),
                Err(EmptyError) if has_consumed(input, start) => return Err(EmptyError),
                Err(EmptyError) => {}
            }
            if !has_consumed(input, start) {
                if let Some(known) = known {
                    input.state.expectations.merge_earlier(known);
                }
                return Ok(());
            }
            known = None;
            input.state.expectations.clear();
        }
    }
}

/// One or more, separated.
pub(super) fn separated<'a, E: Expectations, O, S>(
    mut item: impl Rule<'a, E, O>,
    mut separator: impl Rule<'a, E, S>,
) -> impl Rule<'a, E, Vec<O>> {
    move |input: &mut Input<'a, E>| {
        let mut items = vec![item.parse_next(input)?];
        let more = preceded(separator.by_ref(), item.by_ref());
        repeat(more, |item| items.push(item)).parse_next(input)?;
        Ok(items)
    }
}

/// With optional blanks around it.
pub(super) fn lexeme<'a, E: Expectations, O>(rule: impl Rule<'a, E, O>) -> impl Rule<'a, E, O> {
    delimited(blanks, rule, blanks)
}

fn blanks<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<&'a str> {
    chars0(|char| matches!(char, ' ' | '\t'), &[]).parse_next(input)
}

/// Inside parentheses, of which at most `max_depth` may be open.
pub(super) fn nested<'a, E: Expectations, O>(
    max_depth: usize,
    mut rule: impl Rule<'a, E, O>,
) -> impl Rule<'a, E, O> {
    move |input: &mut Input<'a, E>| {
        if input.state.depth >= max_depth {
            input.state.too_deep_at.get_or_insert(input.input.len());
            return Err(EmptyError);
        }
        input.state.depth += 1;
        let outcome = rule.parse_next(input);
        input.state.depth -= 1;
        outcome
    }
}

fn has_consumed<E: Expectations>(input: &Input<'_, E>, start: &str) -> bool {
    input.input.len() != start.len()
}
