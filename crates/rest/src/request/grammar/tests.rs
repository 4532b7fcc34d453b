//! What the grammar accepts, and its error messages, which are exactly PostgREST's.

use super::*;
use crate::request::{
    Aggregate, AggregateFunction, Direction, EmbedPath, Field, FullTextOperator, IsValue, JoinKind,
    JsonOperand, JsonStep, LogicOperator, LogicTree, Nulls, Operation, OrderTerm, QuantOperator,
    Quantifier, SelectEmbed, SelectField, SelectItem, SimpleOperator,
};

mod failures;
mod filters;
mod limits;
mod names;
mod selects;

fn column(name: &str) -> Field {
    Field {
        name: name.to_owned(),
        path: Vec::new(),
    }
}

fn read_ok<P: Production>(text: &str) -> P::Output {
    match read::<P>(text) {
        Ok(output) => output,
        Err(error) => panic!("{text}: {error:?}"),
    }
}
