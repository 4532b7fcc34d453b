//! The grammar of keys and values in the query string (rest contract §1.1).
//!
//! Productions are winnow parsers that backtrack by the rules of Haskell's Parsec (see
//! [`combinators`]), so that PostgREST and we accept the same texts and report the same errors. As
//! there, trailing text is ignored unless a production requires the end.

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

use self::expectations::{Discard, Expectations, Recorder, Remaining};

pub(super) use self::{
    filter::{FilterOrArgument, FilterValue},
    logic::{LogicPath, LogicTreeValue},
    names::{Columns, OnConflict, TreePath},
    order::Order,
    select::Select,
};

/// The remaining text, and the parser's state.
type Input<'a, E> = Stateful<&'a str, State<E>>;

/// The reason of a failure is recorded in the [`State`].
type Parsed<T> = Result<T, EmptyError>;

#[derive(Debug, Default)]
pub(super) struct State<E> {
    expectations: E,
    /// The number of open parentheses.
    depth: usize,
    /// Where the limit was exceeded.
    too_deep_at: Option<Remaining>,
}

/// A key or value that is parsed on its own.
pub(super) trait Production {
    type Output;
    /// As in `failed to parse <what>`.
    const WHAT: &'static str;

    fn parse<E: Expectations>(input: &mut Input<'_, E>) -> Parsed<Self::Output>;
}

/// Parses `text` as `P`.
pub(super) fn read<P: Production>(text: &str) -> Result<P::Output, RestError> {
    read_as::<P>(text, text)
}

/// Parses `text` as `P`, but shows `shown` in errors.
pub(super) fn read_as<P: Production>(text: &str, shown: &str) -> Result<P::Output, RestError> {
    let (outcome, state) = run::<P, Discard>(text);
    let unparsable = |at, details| failure::unparsable(P::WHAT, shown, text, at, details);
    match (outcome, state.too_deep_at) {
        (Ok(output), None) => Ok(output),
        (_, Some(at)) => Err(unparsable(at, "too many levels of nesting".to_owned())),
        (Err(EmptyError), None) => {
            let (_, state) = run::<P, Recorder>(text);
            let recorder = state.expectations;
            Err(unparsable(
                recorder.position(text.len()),
                recorder.details(),
            ))
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
