//! A JSONPath (RFC 9535) and what it finds. Reading one from text is in `parse`.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::{Map, Value};

use super::pattern::Pattern;

/// `$` and what follows.
#[derive(Debug, Clone)]
pub(super) struct JsonPath(pub(super) Vec<Segment>);

/// One step: all selectors, on a value or on everything below it too.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) is_descendant: bool,
    pub(super) selectors: Vec<Selector>,
}

#[derive(Debug, Clone)]
pub(super) enum Selector {
    Name(String),
    /// Negative ones count from the end.
    Index(i64),
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    },
    Wildcard,
    Filter(Condition),
}

/// What a filter asks of a value.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    AnyOf(Vec<Condition>),
    AllOf(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Query),
    Compares(Operand, Comparison, Operand),
    /// `match` and `search`.
    Matches(Operand, Pattern),
}

/// A path inside a filter.
#[derive(Debug, Clone)]
pub(super) struct Query {
    /// From `$`, else from the value that is looked at (`@`).
    pub(super) is_from_root: bool,
    pub(super) segments: Vec<Segment>,
}

impl Query {
    /// Whether it is `$` alone: the claims, which are no value of themselves.
    fn is_everything(&self) -> bool {
        self.is_from_root && self.segments.is_empty()
    }
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Literal(Value),
    /// Finds at most one value.
    Query(Query),
    /// How many characters, elements or members.
    Length(Box<Operand>),
    /// How many values it finds.
    Count(Query),
    /// The value, if it finds exactly one.
    Only(Query),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// The first of all values that the path finds.
    pub(super) fn first<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        // The root itself is an object, not a `Value`; the first segment is taken by hand.
        let (first, rest) = self.0.split_first()?;
        let root = Root(claims);
        let found = first.select_from_root(root);
        root.follow(found, rest).into_iter().next()
    }
}

/// The claims, to which `$` in a filter leads back.
#[derive(Clone, Copy)]
pub(super) struct Root<'a>(&'a Map<String, Value>);

impl<'a> Root<'a> {
    fn follow(self, found: Vec<&'a Value>, segments: &[Segment]) -> Vec<&'a Value> {
        segments.iter().fold(found, |found, segment| {
            found
                .into_iter()
                .flat_map(|value| segment.select(self, value))
                .collect()
        })
    }

    fn query(self, query: &Query, current: &'a Value) -> Vec<&'a Value> {
        if !query.is_from_root {
            return self.follow(vec![current], &query.segments);
        }
        match query.segments.split_first() {
            Some((first, rest)) => self.follow(first.select_from_root(self), rest),
            None => Vec::new(),
        }
    }
}

impl Segment {
    fn select<'a>(&self, root: Root<'a>, value: &'a Value) -> Vec<&'a Value> {
        let mut from = vec![value];
        if self.is_descendant {
            from.clear();
            add_all_below(value, &mut from);
        }
        let selectors = &self.selectors;
        from.into_iter()
            .flat_map(|value| selectors.iter().flat_map(move |s| s.select(root, value)))
            .collect()
    }

    fn select_from_root<'a>(&self, root: Root<'a>) -> Vec<&'a Value> {
        let here = self.selectors.iter().flat_map(|selector| match selector {
            Selector::Name(name) => root.0.get(name).into_iter().collect(),
            Selector::Index(_) | Selector::Slice { .. } => Vec::new(),
            Selector::Wildcard => root.0.values().collect(),
            Selector::Filter(condition) => {
                let holds = |value: &&'a Value| condition.holds(root, value);
                root.0.values().filter(holds).collect()
            }
        });
        let mut found: Vec<&Value> = here.collect();
        if self.is_descendant {
            found.extend(root.0.values().flat_map(|value| self.select(root, value)));
        }
        found
    }
}

/// The value and everything in it that has members of its own, in document order.
fn add_all_below<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let members = members(value);
    if value.is_object() || value.is_array() {
        found.push(value);
    }
    for member in members {
        add_all_below(member, found);
    }
}

fn members(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(object) => object.values().collect(),
        Value::Array(array) => array.iter().collect(),
        _ => Vec::new(),
    }
}

impl Selector {
    fn select<'a>(&self, root: Root<'a>, value: &'a Value) -> Vec<&'a Value> {
        let array = value.as_array().map(Vec::as_slice).unwrap_or_default();
        match self {
            Self::Name(name) => value.get(name.as_str()).into_iter().collect(),
            Self::Index(index) => element(array, *index).into_iter().collect(),
            Self::Slice { start, end, step } => slice(array, *start, *end, *step),
            Self::Wildcard => members(value),
            Self::Filter(condition) => {
                let mut members = members(value);
                members.retain(|member| condition.holds(root, member));
                members
            }
        }
    }
}

fn element(array: &[Value], index: i64) -> Option<&Value> {
    array.get(usize::try_from(from_start(array, index)).ok()?)
}

fn from_start(array: &[Value], index: i64) -> i64 {
    match index < 0 {
        true => index.saturating_add(length(array)),
        false => index,
    }
}

fn length(array: &[Value]) -> i64 {
    i64::try_from(array.len()).unwrap_or(i64::MAX)
}

/// RFC 9535 §2.3.4.2.2.
fn slice(array: &[Value], start: Option<i64>, end: Option<i64>, step: i64) -> Vec<&Value> {
    let length = length(array);
    let bound = |given: Option<i64>, default: i64, least: i64, most: i64| {
        let index = given.map_or(default, |index| from_start(array, index));
        index.clamp(least, most)
    };
    let (mut at, end) = match step.cmp(&0) {
        Ordering::Equal => return Vec::new(),
        Ordering::Greater => (bound(start, 0, 0, length), bound(end, length, 0, length)),
        Ordering::Less => (
            bound(start, length - 1, -1, length - 1),
            end.map_or(-1, |_| bound(end, -1, -1, length - 1)),
        ),
    };
    let mut found = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        found.extend(element(array, at));
        at = at.saturating_add(step);
    }
    found
}

impl Condition {
    fn holds(&self, root: Root<'_>, value: &Value) -> bool {
        match self {
            Self::AnyOf(conditions) => conditions.iter().any(|one| one.holds(root, value)),
            Self::AllOf(conditions) => conditions.iter().all(|one| one.holds(root, value)),
            Self::Not(condition) => !condition.holds(root, value),
            Self::Exists(query) => query.is_everything() || !root.query(query, value).is_empty(),
            Self::Compares(left, comparison, right) => {
                let [left, right] = [left, right].map(|operand| operand.value(root, value));
                comparison.holds(left.as_deref(), right.as_deref())
            }
            Self::Matches(operand, pattern) => match operand.value(root, value).as_deref() {
                Some(Value::String(text)) => pattern.matches(text, root, value),
                _ => false,
            },
        }
    }
}

impl Operand {
    pub(super) fn value<'a>(
        &'a self,
        root: Root<'a>,
        current: &'a Value,
    ) -> Option<Cow<'a, Value>> {
        match self {
            Self::Literal(value) => Some(Cow::Borrowed(value)),
            Self::Query(query) | Self::Only(query) if query.is_everything() => {
                Some(Cow::Owned(Value::Object(root.0.clone())))
            }
            Self::Count(query) if query.is_everything() => Some(Cow::Owned(Value::from(1))),
            Self::Query(query) => {
                let first = root.query(query, current).into_iter().next();
                first.map(Cow::Borrowed)
            }
            Self::Length(operand) => {
                let length = match operand.value(root, current)?.as_ref() {
                    Value::String(text) => text.chars().count(),
                    Value::Array(array) => array.len(),
                    Value::Object(object) => object.len(),
                    Value::Null | Value::Bool(_) | Value::Number(_) => return None,
                };
                Some(Cow::Owned(Value::from(length)))
            }
            Self::Count(query) => {
                let count = root.query(query, current).len();
                Some(Cow::Owned(Value::from(count)))
            }
            Self::Only(query) => match root.query(query, current).as_slice() {
                [only] => Some(Cow::Borrowed(only)),
                _ => None,
            },
        }
    }
}

impl Comparison {
    fn holds(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        match self {
            Self::Equal => are_equal(left, right),
            Self::NotEqual => !are_equal(left, right),
            Self::Less => is_less(left, right),
            Self::Greater => is_less(right, left),
            Self::LessOrEqual => is_less(left, right) || are_equal(left, right),
            Self::GreaterOrEqual => is_less(right, left) || are_equal(left, right),
        }
    }
}

/// Two values that are not there are equal.
fn are_equal(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::Number(left)), Some(Value::Number(right))) => left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

fn is_less(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::String(left)), Some(Value::String(right))) => left < right,
        (Some(Value::Number(left)), Some(Value::Number(right))) => left.as_f64() < right.as_f64(),
        _ => false,
    }
}
