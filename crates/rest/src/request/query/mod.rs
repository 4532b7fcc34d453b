//! The query string: its pairs, what each of them is for, and the values' meanings.

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

/// What the rest of the request says about its query string.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryRules {
    /// Whether values that are no filters are arguments of a function.
    pub(super) has_arguments: bool,
    /// Whether the canonical form is wanted.
    pub(super) has_location: bool,
}

/// The parameters, and the rows of the root that they ask for.
pub(super) fn parse(query: &str, rules: QueryRules) -> Result<(QueryParams, Interval), RestError> {
    let pairs: Vec<_> = pairs::pairs(query.as_bytes()).collect();
    let canonical = match rules.has_location {
        true => canonical::canonical(&pairs),
        false => String::new(),
    };
    let given = Given::sort(pairs)?;

    // The order of these is visible where several are wrong.
    let order = orders(&given.orders)?;
    let logic = given.logic.iter().map(logic).collect::<Result<_, _>>()?;
    let columns = given.columns.as_deref().map(grammar::read::<Columns>);
    let columns = columns.transpose()?;
    let select = select(given.select.as_deref())?;
    let mut filters = Vec::with_capacity(given.filters.len());
    let mut arguments = Vec::new();
    for (key, value) in given.filters {
        match rules.has_arguments {
            true => match filter_or_argument(&key, &value)? {
                Ok(filter) => filters.push(filter),
                Err(name) => arguments.push((name, value.into_owned())),
            },
            false => filters.push(filter(&key, &value)?),
        }
    }
    let on_conflict = given
        .on_conflict
        .as_deref()
        .map(grammar::read::<OnConflict>);
    let on_conflict = on_conflict.transpose()?;
    let (root, ranges) = given.ranges.finish()?;

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

/// The pairs, sorted by what they are for.
#[derive(Debug, Default)]
struct Given<'a> {
    select: Option<Cow<'a, str>>,
    columns: Option<Cow<'a, str>>,
    on_conflict: Option<Cow<'a, str>>,
    orders: Vec<Pair<'a>>,
    logic: Vec<Pair<'a>>,
    filters: Vec<Pair<'a>>,
    ranges: Ranges,
}

impl<'a> Given<'a> {
    fn sort(pairs: Vec<(Decoded<'a>, Option<Decoded<'a>>)>) -> Result<Self, RestError> {
        let mut given = Self::default();
        // The first of each counts, even where it has no value.
        let (mut has_select, mut has_columns, mut has_on_conflict) = (false, false, false);
        for (key, value) in pairs {
            let key = text(key)?;
            let value = value.map(text).transpose()?;
            let single = match &key[..] {
                "select" => Some((&mut given.select, &mut has_select)),
                "columns" => Some((&mut given.columns, &mut has_columns)),
                "on_conflict" => Some((&mut given.on_conflict, &mut has_on_conflict)),
                _ => None,
            };
            match (single, value) {
                (Some((_, true)), _) => {}
                (Some((place, is_given)), value) => {
                    *is_given = true;
                    *place = value;
                }
                (None, Some(value)) => given.add(key, value),
                (None, None) => {}
            }
        }
        Ok(given)
    }

    /// Sorts by the last word of the key, whatever quotes stand around it.
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

/// Nothing given is everything asked for.
fn select(value: Option<&str>) -> Result<Vec<SelectItem>, RestError> {
    let items = value.map_or(Ok(Vec::new()), grammar::read::<Select>)?;
    match items.is_empty() {
        true => Ok(vec![SelectItem::Field(SelectField::all())]),
        false => Ok(items),
    }
}

type Levels<T> = Vec<(Vec<String>, T)>;

/// The first for each level.
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
    // Read as if it stood within another tree; the places in errors count so, too.
    let text = operator + value;
    let tree = grammar::read_as::<LogicTreeValue>(&text, value)?;
    Ok((path, tree))
}

fn filter(key: &str, value: &str) -> Result<(Vec<String>, Filter), RestError> {
    let (path, field) = tree_path(key)?;
    let condition = grammar::read::<FilterValue>(value)?;
    Ok((path, condition.on(field)))
}

/// A filter, or else the name of an argument.
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
