//! From the select tree to a [`ReadNode`] tree: relationships found, stars expanded, aggregates
//! lifted to where they belong (rest contract §1.3–§1.6).

use std::borrow::Cow;

use super::{
    draft::{Draft, output_name},
    field::{self, FieldContext},
    relationship,
    tree::{Aggregated, Condition, Embed, From, HiddenColumn, OrderBy, OutputColumn, ReadNode},
    tree::{Shape, SpreadColumn},
};
use crate::{
    RestError,
    request::{AggregateFunction, JoinKind, LogicTree, OrderTerm, SelectField},
    schema_cache::{Link, Relationship, SchemaCache, Table},
};

/// What looking things up needs.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'a> {
    pub(super) cache: &'a SchemaCache,
    pub(super) schema: &'a str,
    pub(super) allows_aggregates: bool,
    /// The most rows of any level; `None` too for mutations.
    pub(super) max_rows: Option<i64>,
}

/// A draft whose embeds have their relationships.
struct Related<'a> {
    draft: Draft<'a>,
    relationship: Option<&'a Relationship>,
    children: Vec<Related<'a>>,
}

/// How a node stands to its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The root, or an embed of its own.
    Apart,
    SpreadOne,
    SpreadMany,
}

impl<'a> Resolver<'a> {
    /// The tree of a read whose root comes from `from`; `origin` is what its relationships
    /// start from.
    pub(super) fn read(
        &self,
        draft: Draft<'a>,
        from: From<'a>,
        origin: &str,
        table: Option<&'a Table>,
    ) -> Result<ReadNode<'a>, RestError> {
        let related = self.relate(draft, None, origin)?;
        check_orders(&related, origin)?;
        if !self.allows_aggregates && has_aggregates(&related) {
            return Err(RestError::AggregatesDisabled);
        }
        self.node(related, from, table, 0, Place::Apart, false)
    }

    /// All relationships are found before anything else is checked: their absence is the first
    /// error that a client sees.
    fn relate(
        &self,
        mut draft: Draft<'a>,
        relationship: Option<&'a Relationship>,
        origin: &str,
    ) -> Result<Related<'a>, RestError> {
        let children = std::mem::take(&mut draft.children)
            .into_iter()
            .map(|child| {
                let embed = child.embed.expect("only the root is no embed");
                let found = relationship::find(
                    self.cache,
                    self.schema,
                    origin,
                    &embed.relation,
                    embed.hint.as_deref(),
                )?;
                self.relate(child, Some(found), &found.foreign_table.name)
            })
            .collect::<Result<_, _>>()?;
        Ok(Related {
            draft,
            relationship,
            children,
        })
    }

    fn node(
        &self,
        related: Related<'a>,
        from: From<'a>,
        table: Option<&'a Table>,
        depth: usize,
        place: Place,
        is_below_aggregate: bool,
    ) -> Result<ReadNode<'a>, RestError> {
        let Related {
            draft, children, ..
        } = related;
        let context = FieldContext {
            cache: self.cache,
            table,
        };
        let has_aggregate = draft.fields.iter().any(|field| field.aggregate.is_some());
        let expands = is_below_aggregate || has_aggregate || place == Place::SpreadMany;
        let columns = self.columns(&draft.fields, &context, place, expands);
        let embeds = children
            .into_iter()
            .map(|child| self.embed(child, &from, depth + 1, place, expands))
            .collect::<Result<Vec<_>, _>>()?;
        let order = draft
            .order
            .iter()
            .map(|term| order_by(term, &context, &embeds))
            .collect();
        let mut conditions: Vec<_> = draft
            .filters
            .iter()
            .map(|filter| field::condition(filter, &context, &embeds))
            .collect();
        conditions.extend(
            draft
                .logic
                .iter()
                .map(|tree| group(tree, &context, &embeds)),
        );
        Ok(ReadNode {
            from,
            columns,
            hidden: Vec::new(),
            conditions,
            order,
            range: draft.range.at_most(self.max_rows),
            embeds,
        })
    }

    fn columns(
        &self,
        fields: &[&'a SelectField],
        context: &FieldContext<'a>,
        place: Place,
        expands: bool,
    ) -> Vec<OutputColumn<'a>> {
        let expands = expands || context.has_output_representation();
        let mut columns = Vec::with_capacity(fields.len());
        for select in fields {
            let is_star = select.field.name == "*" && select.field.path.is_empty();
            match (&select.aggregate, context.table) {
                (None, Some(table)) if is_star && expands => {
                    let all = table.columns.iter().map(|column| context.column(column));
                    columns.extend(all);
                }
                _ => columns.push(self.column(select, context, place, is_star)),
            }
        }
        columns
    }

    fn column(
        &self,
        select: &'a SelectField,
        context: &FieldContext<'a>,
        place: Place,
        is_star: bool,
    ) -> OutputColumn<'a> {
        let (field, formatter) = context.output(&select.field);
        let aggregate = select.aggregate.as_ref().map(|aggregate| Aggregated {
            function: aggregate.function,
            cast: aggregate.cast.as_deref(),
        });
        let counts_rows = aggregate.is_some_and(|a| a.function == AggregateFunction::Count);
        let alias = match (&select.alias, &aggregate) {
            (Some(alias), _) => Some(alias.as_str()),
            // The parent must know the name of what it takes over.
            (None, Some(aggregate)) if place != Place::Apart => Some(aggregate.function.name()),
            (None, Some(_)) => None,
            (None, None) if !select.field.path.is_empty() => Some(field::name_of(&select.field)),
            (None, None) => formatter.map(|_| select.field.name.as_str()),
        };
        OutputColumn {
            field,
            formatter,
            cast: select.cast.as_deref(),
            aggregate,
            alias: alias.map(Cow::Borrowed),
            is_whole_row: is_star && counts_rows && place != Place::Apart,
        }
    }

    fn embed(
        &self,
        child: Related<'a>,
        parent: &From<'a>,
        depth: usize,
        parent_place: Place,
        is_below_aggregate: bool,
    ) -> Result<Embed<'a>, RestError> {
        let select = child.draft.embed.expect("only the root is no embed");
        let relationship = child.relationship.expect("found for every embed");
        let name = output_name(select);
        let foreign = &relationship.foreign_table;
        let table = self.cache.table(&foreign.schema, &foreign.name);
        let is_empty = is_empty(&child);
        let place = match (select.is_spread, relationship.is_to_one()) {
            (false, _) => Place::Apart,
            (true, true) => Place::SpreadOne,
            (true, false) => Place::SpreadMany,
        };
        let from = from_of(relationship, parent, depth);
        let mut node = self.node(child, from, table, depth, place, is_below_aggregate)?;
        let join_alias = format!("{}_{name}_{depth}", relationship.table.name);
        let shape = match place {
            Place::Apart if is_empty => Shape::Hidden,
            Place::Apart if relationship.is_to_one() => Shape::Object,
            Place::Apart => Shape::Array,
            Place::SpreadOne => {
                Shape::SpreadOne(lift_aggregates(&mut node, parent_place != Place::SpreadOne))
            }
            Place::SpreadMany => {
                if node.has_aggregates() {
                    return Err(RestError::NotImplemented(
                        "Aggregates are not implemented for one-to-many or many-to-many spreads.",
                    ));
                }
                hide_order(&mut node, &join_alias);
                Shape::SpreadMany(spread_columns(&node))
            }
        };
        Ok(Embed {
            node,
            relationship,
            name,
            join_alias,
            is_inner: select.join == Some(JoinKind::Inner),
            shape,
        })
    }
}

/// Whether neither it nor anything below it has a column to show.
fn is_empty(related: &Related<'_>) -> bool {
    related.draft.fields.is_empty() && related.children.iter().all(is_empty)
}

fn from_of<'a>(relationship: &'a Relationship, parent: &From<'a>, depth: usize) -> From<'a> {
    let relation = &relationship.foreign_table;
    let alias = || format!("{}_{depth}", relation.name);
    match &relationship.link {
        Link::ManyToMany(junction) => From::Junction {
            relation,
            junction: &junction.table,
        },
        Link::Computed { function, .. } => From::Computed {
            function,
            argument: parent.row_name().to_owned(),
            argument_type: &relationship.table,
            alias: alias(),
        },
        Link::ManyToOne(_) | Link::OneToMany(_) | Link::OneToOne { .. } => From::Aliased {
            relation,
            alias: alias(),
        },
    }
}

/// What a to-one spread gives to its parent. Its aggregates happen there, or further up when
/// the parent is spread itself: a sum over the one row of a join would be no sum.
fn lift_aggregates<'a>(node: &mut ReadNode<'a>, aggregates_here: bool) -> Vec<SpreadColumn<'a>> {
    let mut columns = spread_columns(node);
    for (column, lifted) in node.columns.iter_mut().zip(&mut columns) {
        lifted.aggregate = column.aggregate.take();
    }
    for column in &mut columns {
        column.aggregates_here = aggregates_here;
    }
    columns
}

/// All columns that a spread node has for its parent: its own, then those of its embeds.
fn spread_columns<'a>(node: &ReadNode<'a>) -> Vec<SpreadColumn<'a>> {
    let plain = |name: Cow<'a, str>| SpreadColumn {
        name,
        aggregate: None,
        aggregates_here: false,
    };
    let mut columns: Vec<_> = node
        .columns
        .iter()
        .map(|column| match &column.alias {
            Some(alias) => plain(alias.clone()),
            None => plain(Cow::Borrowed(column.field.name)),
        })
        .collect();
    for embed in &node.embeds {
        match &embed.shape {
            Shape::Hidden => {}
            Shape::Object | Shape::Array => columns.push(plain(Cow::Borrowed(embed.name))),
            Shape::SpreadOne(lifted) | Shape::SpreadMany(lifted) => {
                columns.extend(lifted.iter().cloned());
            }
        }
    }
    columns
}

/// The arrays of a to-many spread are ordered where they are made, by columns that the rows
/// carry along for it.
fn hide_order(node: &mut ReadNode<'_>, join_alias: &str) {
    let order = std::mem::take(&mut node.order);
    node.hidden = order
        .into_iter()
        .enumerate()
        .map(|(index, by)| HiddenColumn {
            alias: format!("{join_alias}_{}_{}", by.field.name, index + 1),
            by,
        })
        .collect();
}

/// A parent can be ordered by an embed of at most one row.
fn check_orders(related: &Related<'_>, origin: &str) -> Result<(), RestError> {
    let ordered_by = related.draft.order.iter();
    for name in ordered_by.filter_map(|term| term.relation.as_ref()) {
        let is_it =
            |child: &&Related<'_>| child.draft.embed.is_some_and(|e| output_name(e) == name);
        let Some(embed) = related.children.iter().find(is_it) else {
            return Err(RestError::NotEmbedded {
                name: name.clone(),
                alias: None,
            });
        };
        if !embed.relationship.is_some_and(Relationship::is_to_one) {
            return Err(RestError::RelatedOrder {
                origin: origin.to_owned(),
                target: name.clone(),
            });
        }
    }
    related.children.iter().try_for_each(|child| {
        let origin = child.relationship.map_or(origin, |r| &r.foreign_table.name);
        check_orders(child, origin)
    })
}

fn has_aggregates(related: &Related<'_>) -> bool {
    let mut fields = related.draft.fields.iter();
    fields.any(|field| field.aggregate.is_some()) || related.children.iter().any(has_aggregates)
}

fn order_by<'a>(
    term: &'a OrderTerm,
    context: &FieldContext<'a>,
    embeds: &[Embed<'a>],
) -> OrderBy<'a> {
    let (embed, field) = match &term.relation {
        None => (None, context.plain(&term.field)),
        Some(relation) => {
            let found = embeds.iter().position(|embed| embed.name == relation);
            (found, field::unknown(&term.field))
        }
    };
    OrderBy {
        embed,
        field,
        direction: term.direction,
        nulls: term.nulls,
    }
}

pub(super) fn group<'a>(
    tree: &'a LogicTree,
    context: &FieldContext<'a>,
    embeds: &[Embed<'a>],
) -> Condition<'a> {
    match tree {
        LogicTree::Filter(filter) => field::condition(filter, context, embeds),
        LogicTree::Group {
            is_negated,
            operator,
            children,
        } => Condition::Group {
            is_negated: *is_negated,
            operator: *operator,
            children: children
                .iter()
                .map(|child| group(child, context, embeds))
                .collect(),
        },
    }
}
