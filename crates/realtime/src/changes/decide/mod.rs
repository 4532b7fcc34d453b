//! Evaluating filters in process (realtime contract §9.4, §14.2).
//!
//! A condition is prepared once, when a channel subscribes, and evaluated for every change. Wherever
//! PostgreSQL might decide differently, it is left to PostgreSQL: [`Decision::NeedsDatabase`].

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

/// The result of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Match,
    /// False or NULL.
    NoMatch,
    /// Only the database can decide.
    NeedsDatabase,
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
    Is(IsKeyword),
    /// Cannot be evaluated here.
    NeedsDatabase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsKeyword {
    Null,
    True,
    False,
    Unknown,
}

impl Condition {
    /// Prepares a filter that the database has validated.
    pub fn new(filter: Filter, column: &Column) -> Self {
        let kind = Kind::for_column(column);
        let test = Test::new(&filter, kind).unwrap_or(Test::NeedsDatabase);
        Self { filter, test, kind }
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Evaluates it for a value; `None` stands for a column that the change does not have.
    pub fn decide(&self, value: Option<&Value>) -> Decision {
        let text = match value {
            None | Some(Value::Unchanged) => return Decision::NoMatch,
            Some(Value::Binary(_)) => return Decision::NeedsDatabase,
            Some(Value::Null) => None,
            Some(Value::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) => Some(text),
                Err(_) => return Decision::NeedsDatabase,
            },
        };
        match self.holds(text) {
            Ok(Some(holds)) if holds != self.filter.is_negated => Decision::Match,
            Ok(_) => Decision::NoMatch,
            Err(Undecided) => Decision::NeedsDatabase,
        }
    }

    /// The three-valued result before negation; `None` is NULL.
    fn holds(&self, text: Option<&str>) -> Result<Option<bool>, Undecided> {
        match &self.test {
            Test::NeedsDatabase => Err(Undecided),
            Test::Is(word) => word.holds(text).map(Some),
            Test::In(operands) if operands.is_empty() => Ok(Some(false)),
            Test::Compare(_) if text.is_none() => {
                Ok((self.filter.operator == Operator::IsDistinct).then_some(true))
            }
            Test::In(_) | Test::Like(_) if text.is_none() => Ok(None),
            Test::Compare(operand) => {
                let ordering = self.parse(text)?.compare(operand).ok_or(Undecided)?;
                Ok(Some(is_true(self.filter.operator, ordering)))
            }
            Test::In(operands) => self.is_in(operands, &self.parse(text)?),
            Test::Like(pattern) => pattern.matches(text.unwrap_or_default()).map(Some),
        }
    }

    fn parse(&self, text: Option<&str>) -> Result<Comparable, Undecided> {
        let value = self.kind.and_then(|kind| kind.parse(text?));
        value.ok_or(Undecided)
    }

    fn is_in(
        &self,
        operands: &[Option<Comparable>],
        value: &Comparable,
    ) -> Result<Option<bool>, Undecided> {
        let mut has_null = false;
        for operand in operands {
            match operand {
                None => has_null = true,
                Some(operand) => {
                    if value.compare(operand).ok_or(Undecided)? == Ordering::Equal {
                        return Ok(Some(true));
                    }
                }
            }
        }
        Ok((!has_null).then_some(false))
    }

    /// For an index: the only values that can match, or `None` if they cannot be listed.
    pub fn only_values(&self) -> Option<Vec<EqualityKey>> {
        if self.filter.is_negated {
            return None;
        }
        match &self.test {
            Test::Compare(operand) if self.filter.operator == Operator::Equal => {
                operand.equality_key().map(|key| vec![key])
            }
            // A NULL in the list matches nothing.
            Test::In(operands) => operands
                .iter()
                .flatten()
                .map(Comparable::equality_key)
                .collect(),
            _ => None,
        }
    }

    /// The index key of a changed row's value.
    pub fn key_of(column: &Column, text: &str) -> Option<EqualityKey> {
        Kind::for_column(column)?.parse(text)?.equality_key()
    }
}

/// Only the database can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Undecided;

impl Test {
    fn new(filter: &Filter, kind: Option<Kind>) -> Option<Self> {
        use Operator::*;
        match filter.operator {
            Is => IsKeyword::parse(&filter.value).map(Self::Is),
            Equal | NotEqual | IsDistinct => Some(Self::Compare(kind?.parse(&filter.value)?)),
            Less | LessOrEqual | Greater | GreaterOrEqual => {
                let kind = kind.filter(|kind| kind.has_known_order())?;
                Some(Self::Compare(kind.parse(&filter.value)?))
            }
            In => {
                let elements = array_literal::parse(&filter.value, ',')?;
                let operand = |element: Element| match element {
                    Element::Null => Some(None),
                    Element::Text(text) => kind?.parse(&text).map(Some),
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

impl IsKeyword {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "null" => Some(Self::Null),
            "true" => Some(Self::True),
            "false" => Some(Self::False),
            "unknown" => Some(Self::Unknown),
            _ => None,
        }
    }

    fn holds(self, text: Option<&str>) -> Result<bool, Undecided> {
        match (self, text) {
            (Self::Null | Self::Unknown, text) => Ok(text.is_none()),
            (Self::True | Self::False, None) => Ok(false),
            (Self::True, Some("t")) | (Self::False, Some("f")) => Ok(true),
            (Self::True, Some("f")) | (Self::False, Some("t")) => Ok(false),
            (Self::True | Self::False, Some(_)) => Err(Undecided),
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

/// All conditions joined by AND. `value` finds a column's value in the change.
pub fn decide_all<'a>(
    conditions: &[Condition],
    value: impl Fn(&str) -> Option<&'a Value>,
) -> Decision {
    let mut all = Decision::Match;
    for condition in conditions {
        match condition.decide(value(&condition.filter.column)) {
            Decision::Match => {}
            Decision::NoMatch => return Decision::NoMatch,
            Decision::NeedsDatabase => all = Decision::NeedsDatabase,
        }
    }
    all
}

#[cfg(test)]
mod tests;
