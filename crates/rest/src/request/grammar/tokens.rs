//! The smallest rules of the grammar, which consume characters and record what they expect.

use winnow::{Parser, error::EmptyError, token::take_while};

use super::{
    Input, Parsed,
    combinators::{Rule, attempt},
    expectations::{
        Expectations,
        Expected::{self, Char, Label, Word},
        Found,
    },
};

/// A given character.
pub(super) fn symbol<'a, E: Expectations>(symbol: char) -> impl Rule<'a, E, ()> {
    move |input: &mut Input<'a, E>| match input.input.strip_prefix(symbol) {
        Some(rest) => {
            advance(input, rest);
            Ok(())
        }
        None => fail_expecting(input, &[Char(symbol)]),
    }
}

/// A given word. Consuming a part of it commits, but the error is reported at its start.
pub(super) fn word<'a, E: Expectations>(word: &'static str) -> impl Rule<'a, E, ()> {
    move |input: &mut Input<'a, E>| {
        let text = input.input;
        if let Some(rest) = text.strip_prefix(word) {
            advance(input, rest);
            return Ok(());
        }
        let matching = common_prefix(text, word);
        let mismatch = text[matching..].chars().next();
        if matching > 0 {
            advance(input, &text[matching..]);
        }
        record(input, text.len(), Found::Next(mismatch), &[Word(word)]);
        Err(EmptyError)
    }
}

fn common_prefix(text: &str, word: &str) -> usize {
    let matching = text.chars().zip(word.chars()).take_while(|(a, b)| a == b);
    matching.map(|(char, _)| char.len_utf8()).sum()
}

/// The value of the first word of a table that matches.
pub(super) fn keyword<'a, E: Expectations, T: Copy>(
    table: &'static [(&'static str, T)],
) -> impl Rule<'a, E, T> {
    move |input: &mut Input<'a, E>| {
        for &(text, value) in table {
            if attempt(word(text)).parse_next(input).is_ok() {
                return Ok(value);
            }
        }
        Err(EmptyError)
    }
}

/// Any number of characters.
pub(super) fn chars0<'a, E: Expectations>(
    accepts: impl Fn(char) -> bool,
    expected: &'static [Expected],
) -> impl Rule<'a, E, &'a str> {
    move |input: &mut Input<'a, E>| {
        let text: &str = take_while(0.., &accepts).parse_next(input)?;
        if !text.is_empty() {
            input.state.expectations.clear();
        }
        record_next(input, expected);
        Ok(text)
    }
}

/// At least one character.
pub(super) fn chars1<'a, E: Expectations>(
    accepts: impl Fn(char) -> bool,
    expected: &'static [Expected],
) -> impl Rule<'a, E, &'a str> {
    let mut chars = chars0(accepts, expected);
    move |input: &mut Input<'a, E>| match chars.parse_next(input)? {
        "" => Err(EmptyError),
        text => Ok(text),
    }
}

pub(super) fn any_char<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<char> {
    let mut chars = input.input.chars();
    match chars.next() {
        Some(char) => {
            advance(input, chars.as_str());
            Ok(char)
        }
        None => fail_expecting(input, &[]),
    }
}

/// The end of the text.
pub(super) fn end<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<()> {
    const END: &[Expected] = &[Label("end of input")];
    let at = input.input.len();
    match input.input.chars().next() {
        Some(next) => {
            record(input, at, Found::Forbidden(next), END);
            Err(EmptyError)
        }
        None => {
            record(input, at, Found::Next(None), END);
            Ok(())
        }
    }
}

/// Fails if the next character is forbidden. Consumes nothing; succeeds at the end.
pub(super) fn not_followed_by<'a, E: Expectations>(
    forbidden: impl Fn(char) -> bool,
    expected: &'static [Expected],
) -> impl Rule<'a, E, ()> {
    move |input: &mut Input<'a, E>| match input.input.chars().next() {
        Some(next) if forbidden(next) => {
            let behind = input.input.len() - next.len_utf8();
            record(input, behind, Found::Forbidden(next), &[]);
            Err(EmptyError)
        }
        _ => {
            record_next(input, expected);
            Ok(())
        }
    }
}

fn advance<'a, E: Expectations>(input: &mut Input<'a, E>, rest: &'a str) {
    input.input = rest;
    input.state.expectations.clear();
}

/// Fails, and records what was expected.
fn fail_expecting<E: Expectations, T>(
    input: &mut Input<'_, E>,
    expected: &[Expected],
) -> Parsed<T> {
    record_next(input, expected);
    Err(EmptyError)
}

/// Records that the next character is unexpected.
fn record_next<E: Expectations>(input: &mut Input<'_, E>, expected: &[Expected]) {
    if E::RECORDS {
        let next = input.input.chars().next();
        record(input, input.input.len(), Found::Next(next), expected);
    }
}

fn record<E: Expectations>(
    input: &mut Input<'_, E>,
    at: usize,
    found: Found,
    expected: &[Expected],
) {
    input.state.expectations.record(at, found, expected);
}
