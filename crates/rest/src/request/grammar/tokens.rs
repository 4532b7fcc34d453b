//! The smallest parts of the grammar, which read characters and note what would have fitted.

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

/// One certain character.
pub(super) fn symbol<'a, E: Expectations>(symbol: char) -> impl Rule<'a, E, ()> {
    move |input: &mut Input<'a, E>| match input.input.strip_prefix(symbol) {
        Some(rest) => {
            advance(input, rest);
            Ok(())
        }
        None => refuse(input, &[Char(symbol)]),
    }
}

/// A certain word. Having read a part of it is commitment, but the failure counts from its start.
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
        note(input, text.len(), Found::Next(mismatch), &[Word(word)]);
        Err(EmptyError)
    }
}

fn common_prefix(text: &str, word: &str) -> usize {
    let matching = text.chars().zip(word.chars()).take_while(|(a, b)| a == b);
    matching.map(|(char, _)| char.len_utf8()).sum()
}

/// The first word of a table that fits, as its value.
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
            input.state.expectations.forget();
        }
        note_next(input, expected);
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
        None => refuse(input, &[]),
    }
}

/// Nothing follows.
pub(super) fn end<'a, E: Expectations>(input: &mut Input<'a, E>) -> Parsed<()> {
    const END: &[Expected] = &[Label("end of input")];
    let at = input.input.len();
    match input.input.chars().next() {
        Some(next) => {
            note(input, at, Found::Forbidden(next), END);
            Err(EmptyError)
        }
        None => {
            note(input, at, Found::Next(None), END);
            Ok(())
        }
    }
}

/// The next character is none of those; it is not read. The end will do.
pub(super) fn not_followed_by<'a, E: Expectations>(
    forbidden: impl Fn(char) -> bool,
    expected: &'static [Expected],
) -> impl Rule<'a, E, ()> {
    move |input: &mut Input<'a, E>| match input.input.chars().next() {
        Some(next) if forbidden(next) => {
            let behind = input.input.len() - next.len_utf8();
            note(input, behind, Found::Forbidden(next), &[]);
            Err(EmptyError)
        }
        _ => {
            note_next(input, expected);
            Ok(())
        }
    }
}

fn advance<'a, E: Expectations>(input: &mut Input<'a, E>, rest: &'a str) {
    input.input = rest;
    input.state.expectations.forget();
}

/// Fails here and says what would have fitted.
fn refuse<E: Expectations, T>(input: &mut Input<'_, E>, expected: &[Expected]) -> Parsed<T> {
    note_next(input, expected);
    Err(EmptyError)
}

/// Notes that the next character does not fit.
fn note_next<E: Expectations>(input: &mut Input<'_, E>, expected: &[Expected]) {
    if E::RECORDS {
        let next = input.input.chars().next();
        note(input, input.input.len(), Found::Next(next), expected);
    }
}

fn note<E: Expectations>(input: &mut Input<'_, E>, at: usize, found: Found, expected: &[Expected]) {
    input.state.expectations.note(at, found, expected);
}
