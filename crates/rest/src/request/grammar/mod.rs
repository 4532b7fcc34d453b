//! The grammar of keys and values in the query string (rest contract §1.1).
//!
//! Productions are winnow parsers that follow Parsec's rules of commitment (see [`combinators`]):
//! which texts are accepted, and what is said about the others, are the same as upstream. They
//! stop at the end of what makes sense and, as upstream, do not ask for the end of the text unless
//! the production says so.

mod combinators;
mod expectations;
mod failure;
mod filter;
mod logic;
mod names;
mod order;
mod select;
mod tokens;

use winnow::{error::EmptyError, stream::Stateful};

use crate::error::RestError;

use self::expectations::{Expectations, Record, Remaining, Silent};

pub(super) use self::{
    filter::{FilterOrArgument, FilterValue},
    logic::{LogicPath, LogicTreeValue},
    names::{Columns, OnConflict, TreePath},
    order::Order,
    select::Select,
};

/// The rest of a text, and what is known about it.
type Input<'a, E> = Stateful<&'a str, State<E>>;

/// The reason of a failure stands in the [`State`].
type Parsed<T> = Result<T, EmptyError>;

#[derive(Debug, Default)]
pub(super) struct State<E> {
    expectations: E,
    /// How many parentheses are open.
    depth: usize,
    /// Where there were too many of them.
    too_deep_at: Option<Remaining>,
}

/// A whole text that is read on its own.
pub(super) trait Production {
    type Output;
    /// As in `failed to parse <what>`.
    const WHAT: &'static str;

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output>;
}

/// Reads `text` as `P`.
pub(super) fn read<P: Production>(text: &str) -> Result<P::Output, RestError> {
    read_as::<P>(text, text)
}

/// Reads `text` as `P`, but speaks of `shown` in errors.
pub(super) fn read_as<P: Production>(text: &str, shown: &str) -> Result<P::Output, RestError> {
    let (outcome, state) = run::<P, Silent>(text);
    let unparsable = |at, details| failure::unparsable(P::WHAT, shown, text, at, details);
    match (outcome, state.too_deep_at) {
        (Ok(output), None) => Ok(output),
        (_, Some(at)) => Err(unparsable(at, "too many levels of nesting".to_owned())),
        (Err(EmptyError), None) => {
            let (_, state) = run::<P, Record>(text);
            let record = state.expectations;
            Err(unparsable(record.at(text.len()), record.details()))
        }
    }
}

fn run<P: Production, E: Expectations>(text: &str) -> (Parsed<P::Output>, State<E>) {
    let state = State {
        expectations: E::default(),
        depth: 0,
        too_deep_at: None,
    };
    let mut input = Input { input: text, state };
    let outcome = P::parse(&mut input);
    (outcome, input.state)
}

#[cfg(test)]
mod tests;
