//! Parses the query string: splits it into pairs, sorts them by purpose, and parses their values.

mod canonical;
pub(super) mod pairs;
mod ranges;

use std::borrow::Cow;

use crate::error::RestError;

use self::{pairs::Decoded, ranges::Ranges};
use super::{
    Field, Filter, LogicTree, OrderTerm, QueryParams, SelectField, SelectItem,
    grammar::{
        self, Columns, FilterOrArgument, FilterValue, LogicPath, LogicTreeValue, OnConflict, Order,
        Select, TreePath,
    },
    range::Interval,
};

/// How the query string is parsed, depending on the action.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryRules {
    /// Whether values that are not filters are arguments of a function.
    pub(super) has_arguments: bool,
    /// Whether the canonical form is needed, for `Content-Location`.
    pub(super) has_location: bool,
}

/// The parameters, and `limit` and `offset` of the root.
pub(super) fn parse(query: &str, rules: QueryRules) -> Result<(QueryParams, Interval), RestError> {
    let pairs: Vec<_> = pairs::pairs(query.as_bytes()).collect();
    let canonical = if rules.has_location {
        canonical::canonical(&pairs)
    } else {
        String::new()
    };
    let sorted = SortedPairs::from_pairs(pairs)?;

    // If several are invalid, clients see the first error, so the order matters.
    let order = orders(&sorted.orders)?;
    let logic = sorted.logic.iter().map(logic).collect::<Result<_, _>>()?;
    let columns = sorted.columns.as_deref().map(grammar::read::<Columns>);
    let columns = columns.transpose()?;
    let select = select(sorted.select.as_deref())?;
    let mut filters = Vec::with_capacity(sorted.filters.len());
    let mut arguments = Vec::new();
    for (key, value) in sorted.filters {
        if rules.has_arguments {
            match filter_or_argument(&key, &value)? {
                Ok(filter) => filters.push(filter),
                Err(name) => arguments.push((name, value.into_owned())),
            }
        } else {
            filters.push(filter(&key, &value)?);
        }
    }
    let on_conflict = sorted
        .on_conflict
        .as_deref()
        .map(grammar::read::<OnConflict>);
    let on_conflict = on_conflict.transpose()?;
    let (root, ranges) = sorted.ranges.finish()?;

    let params = QueryParams {
        select,
        columns,
        on_conflict,
        filters,
        logic,
        order,
        ranges,
        arguments,
        canonical,
    };
    Ok((params, root))
}

type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The pairs, sorted by purpose.
#[derive(Debug, Default)]
struct SortedPairs<'a> {
    select: Option<Cow<'a, str>>,
    columns: Option<Cow<'a, str>>,
    on_conflict: Option<Cow<'a, str>>,
    orders: Vec<Pair<'a>>,
    logic: Vec<Pair<'a>>,
    filters: Vec<Pair<'a>>,
    ranges: Ranges,
}

impl<'a> SortedPairs<'a> {
    fn from_pairs(pairs: Vec<(Decoded<'a>, Option<Decoded<'a>>)>) -> Result<Self, RestError> {
        let mut sorted = Self::default();
        // The first of each wins, even without a value.
        let (mut has_select, mut has_columns, mut has_on_conflict) = (false, false, false);
        for (key, value) in pairs {
            let key = text(key)?;
            let value = value.map(text).transpose()?;
            let single = match &key[..] {
                "select" => Some((&mut sorted.select, &mut has_select)),
                "columns" => Some((&mut sorted.columns, &mut has_columns)),
                "on_conflict" => Some((&mut sorted.on_conflict, &mut has_on_conflict)),
                _ => None,
            };
            match (single, value) {
                (Some((_, true)), _) => {}
                (Some((place, is_given)), value) => {
                    *is_given = true;
                    *place = value;
                }
                (None, Some(value)) => sorted.add(key, value),
                (None, None) => {}
            }
        }
        Ok(sorted)
    }

    /// The last part of the key decides, even inside quotes.
    fn add(&mut self, key: Cow<'a, str>, value: Cow<'a, str>) {
        let last_word = key.rsplit('.').next().unwrap_or_default();
        match last_word {
            "order" => self.orders.push((key, value)),
            "and" | "or" => self.logic.push((key, value)),
            "limit" => self.ranges.set_limit(&key, value),
            "offset" => self.ranges.set_offset(&key, value),
            _ => self.filters.push((key, value)),
        }
    }
}

fn text(bytes: Decoded<'_>) -> Result<Cow<'_, str>, RestError> {
    pairs::into_text(bytes).ok_or_else(|| RestError::Unparsable {
        message: "\"failed to parse query string\" (line 1, column 1)".to_owned(),
        details: "invalid UTF-8".to_owned(),
    })
}

/// `*` if there is none.
fn select(value: Option<&str>) -> Result<Vec<SelectItem>, RestError> {
    let items = value.map_or(Ok(Vec::new()), grammar::read::<Select>)?;
    if items.is_empty() {
        Ok(vec![SelectItem::Field(SelectField::all())])
    } else {
        Ok(items)
    }
}

type Levels<T> = Vec<(Vec<String>, T)>;

/// The first of each level wins.
fn orders(pairs: &[Pair<'_>]) -> Result<Levels<Vec<OrderTerm>>, RestError> {
    let mut orders = Levels::with_capacity(pairs.len());
    for (key, value) in pairs {
        let (path, _) = tree_path(key)?;
        let terms = grammar::read::<Order>(value)?;
        if !orders.iter().any(|(known, _)| *known == path) {
            orders.push((path, terms));
        }
    }
    Ok(orders)
}

fn logic((key, value): &Pair<'_>) -> Result<(Vec<String>, LogicTree), RestError> {
    let (path, operator) = grammar::read::<LogicPath>(key)?;
    // Parsed together with its operator; columns in error messages count it too.
    let text = operator + value;
    let tree = grammar::read_as::<LogicTreeValue>(&text, value)?;
    Ok((path, tree))
}

fn filter(key: &str, value: &str) -> Result<(Vec<String>, Filter), RestError> {
    let (path, field) = tree_path(key)?;
    let condition = grammar::read::<FilterValue>(value)?;
    Ok((path, condition.on(field)))
}

/// A filter, or the name of an argument.
fn filter_or_argument(
    key: &str,
    value: &str,
) -> Result<Result<(Vec<String>, Filter), String>, RestError> {
    let (path, field) = tree_path(key)?;
    match grammar::read::<FilterOrArgument>(value)? {
        Some(condition) => Ok(Ok((path, condition.on(field)))),
        None => Ok(Err(field.name)),
    }
}

/// The path of embeds and the field at its end.
fn tree_path(key: &str) -> Result<(Vec<String>, Field), RestError> {
    grammar::read::<TreePath>(key)
}
