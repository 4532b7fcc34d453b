//! Whether a row is what a filter asks for, without asking the database wherever that can be known
//! here (realtime contract §9.4, §14.2).
//!
//! A condition is prepared once, when somebody subscribes, and decided for every change. What
//! Postgres would do differently, or might, is left to Postgres: [`Decision::Ask`].

mod comparable;
mod like;

use std::cmp::Ordering;

use plinth_db::replication::pgoutput::Value;

use self::{
    comparable::{Comparable, Kind},
    like::Pattern,
};
use super::{
    Column, Filter, Operator,
    array_literal::{self, Element},
};

pub use comparable::EqualityKey;

/// What is known of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Match,
    /// It is false, or neither true nor false.
    NoMatch,
    /// Only the database can tell.
    Ask,
}

/// A filter, prepared for a column.
#[derive(Debug, Clone)]
pub struct Condition {
    filter: Filter,
    test: Test,
    kind: Option<Kind>,
}

#[derive(Debug, Clone)]
enum Test {
    Compare(Comparable),
    /// `None` stands for NULL.
    In(Vec<Option<Comparable>>),
    Like(Pattern),
    Is(IsWord),
    /// Nothing that could be compared here.
    Ask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsWord {
    Null,
    True,
    False,
    Unknown,
}

impl Condition {
    /// Prepares a filter that the database has found to be good.
    pub fn new(filter: Filter, column: &Column) -> Self {
        let kind = Kind::of(column);
        let test = Test::of(&filter, kind).unwrap_or(Test::Ask);
        Self { filter, test, kind }
    }

    /// What it was made from.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether the value fits; `None` stands for a column that the change does not have.
    pub fn decide(&self, value: Option<&Value>) -> Decision {
        let text = match value {
            None | Some(Value::Unchanged) => return Decision::NoMatch,
            Some(Value::Binary(_)) => return Decision::Ask,
            Some(Value::Null) => None,
            Some(Value::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) => Some(text),
                Err(_) => return Decision::Ask,
            },
        };
        match self.holds(text) {
            Ok(Some(holds)) if holds != self.filter.is_negated => Decision::Match,
            Ok(_) => Decision::NoMatch,
            Err(Unclear) => Decision::Ask,
        }
    }

    /// SQL's three values, before negation.
    fn holds(&self, text: Option<&str>) -> Result<Option<bool>, Unclear> {
        match &self.test {
            Test::Ask => Err(Unclear),
            Test::Is(word) => word.holds(text).map(Some),
            Test::In(operands) if operands.is_empty() => Ok(Some(false)),
            Test::Compare(_) if text.is_none() => {
                Ok((self.filter.operator == Operator::IsDistinct).then_some(true))
            }
            Test::In(_) | Test::Like(_) if text.is_none() => Ok(None),
            Test::Compare(operand) => {
                let ordering = self.read(text)?.compare(operand).ok_or(Unclear)?;
                Ok(Some(is_true(self.filter.operator, ordering)))
            }
            Test::In(operands) => self.is_in(operands, &self.read(text)?),
            Test::Like(pattern) => pattern.matches(text.unwrap_or_default()).map(Some),
        }
    }

    fn read(&self, text: Option<&str>) -> Result<Comparable, Unclear> {
        let value = self.kind.and_then(|kind| kind.read(text?));
        value.ok_or(Unclear)
    }

    fn is_in(
        &self,
        operands: &[Option<Comparable>],
        value: &Comparable,
    ) -> Result<Option<bool>, Unclear> {
        let mut has_null = false;
        for operand in operands {
            match operand {
                None => has_null = true,
                Some(operand) => {
                    if value.compare(operand).ok_or(Unclear)? == Ordering::Equal {
                        return Ok(Some(true));
                    }
                }
            }
        }
        Ok((!has_null).then_some(false))
    }

    /// For an index: the values that alone can fit, or `None` if that cannot be said.
    pub fn only_values(&self) -> Option<Vec<EqualityKey>> {
        if self.filter.is_negated {
            return None;
        }
        match &self.test {
            Test::Compare(operand) if self.filter.operator == Operator::Equal => {
                operand.equality_key().map(|key| vec![key])
            }
            // A NULL in the list fits nothing.
            Test::In(operands) => operands
                .iter()
                .flatten()
                .map(Comparable::equality_key)
                .collect(),
            _ => None,
        }
    }

    /// The same for a changed row's value.
    pub fn key_of(column: &Column, text: &str) -> Option<EqualityKey> {
        Kind::of(column)?.read(text)?.equality_key()
    }
}

/// Only the database can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unclear;

impl Test {
    fn of(filter: &Filter, kind: Option<Kind>) -> Option<Self> {
        use Operator::*;
        match filter.operator {
            Is => IsWord::named(&filter.value).map(Self::Is),
            Equal | NotEqual | IsDistinct => Some(Self::Compare(kind?.read(&filter.value)?)),
            Less | LessOrEqual | Greater | GreaterOrEqual => {
                let kind = kind.filter(|kind| kind.has_known_order())?;
                Some(Self::Compare(kind.read(&filter.value)?))
            }
            In => {
                let elements = array_literal::parse(&filter.value, ',')?;
                let operand = |element: Element| match element {
                    Element::Null => Some(None),
                    Element::Text(text) => kind?.read(&text).map(Some),
                    Element::Array(_) => None,
                };
                elements
                    .into_iter()
                    .map(operand)
                    .collect::<Option<_>>()
                    .map(Self::In)
            }
            Like | ILike => {
                let is_text = kind == Some(Kind::Text);
                let pattern =
                    is_text.then(|| Pattern::new(&filter.value, filter.operator == ILike));
                pattern.map(Self::Like)
            }
            Match | IMatch => None,
        }
    }
}

impl IsWord {
    fn named(word: &str) -> Option<Self> {
        match word {
            "null" => Some(Self::Null),
            "true" => Some(Self::True),
            "false" => Some(Self::False),
            "unknown" => Some(Self::Unknown),
            _ => None,
        }
    }

    fn holds(self, text: Option<&str>) -> Result<bool, Unclear> {
        match (self, text) {
            (Self::Null | Self::Unknown, text) => Ok(text.is_none()),
            (Self::True | Self::False, None) => Ok(false),
            (Self::True, Some("t")) | (Self::False, Some("f")) => Ok(true),
            (Self::True, Some("f")) | (Self::False, Some("t")) => Ok(false),
            (Self::True | Self::False, Some(_)) => Err(Unclear),
        }
    }
}

fn is_true(operator: Operator, ordering: Ordering) -> bool {
    match operator {
        Operator::Equal => ordering.is_eq(),
        Operator::NotEqual | Operator::IsDistinct => ordering.is_ne(),
        Operator::Less => ordering.is_lt(),
        Operator::LessOrEqual => ordering.is_le(),
        Operator::Greater => ordering.is_gt(),
        Operator::GreaterOrEqual => ordering.is_ge(),
        Operator::In
        | Operator::Like
        | Operator::ILike
        | Operator::Is
        | Operator::Match
        | Operator::IMatch => false,
    }
}

/// All conditions together. `value` finds a column's value in the change.
pub fn decide_all<'a>(
    conditions: &[Condition],
    value: impl Fn(&str) -> Option<&'a Value>,
) -> Decision {
    let mut all = Decision::Match;
    for condition in conditions {
        match condition.decide(value(&condition.filter.column)) {
            Decision::Match => {}
            Decision::NoMatch => return Decision::NoMatch,
            Decision::Ask => all = Decision::Ask,
        }
    }
    all
}

#[cfg(test)]
mod tests;
