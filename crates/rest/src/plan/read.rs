//! From the select tree to a [`ReadNode`] tree: finds relationships, expands stars, and moves
//! aggregates of spreads into their parent (rest contract §1.3–§1.6).

use std::borrow::Cow;

use super::{
    field::{self, FieldContext},
    relationship,
    select_tree::{SelectNode, output_name},
    spread::{hide_order, lift_aggregates, spread_columns},
    tree::{Aggregated, Condition, Embed, From, OrderBy, OutputColumn, ReadNode, Shape},
};
use crate::{
    RestError,
    request::{AggregateFunction, JoinKind, LogicTree, OrderTerm, SelectField},
    schema_cache::{Link, Relationship, SchemaCache, Table},
};

/// Resolves names of one request.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'a> {
    pub(super) cache: &'a SchemaCache,
    pub(super) schema: &'a str,
    pub(super) allows_aggregates: bool,
    /// `db-max-rows`, which applies to every level; `None` for mutations.
    pub(super) max_rows: Option<i64>,
}

/// A [`SelectNode`] whose embeds have their relationships.
struct Related<'a> {
    select: SelectNode<'a>,
    relationship: Option<&'a Relationship>,
    children: Vec<Related<'a>>,
}

/// How a node's columns get into its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placement {
    /// They do not: it is the root, or embedded under a key of its own.
    Separate,
    SpreadOne,
    SpreadMany,
}

impl<'a> Resolver<'a> {
    /// The tree of a read. `origin` is the relation where relationships of the root start.
    pub(super) fn read(
        &self,
        select: SelectNode<'a>,
        from: From<'a>,
        origin: &str,
        table: Option<&'a Table>,
    ) -> Result<ReadNode<'a>, RestError> {
        let related = self.find_relationships(select, None, origin)?;
        check_orders(&related, origin)?;
        if !self.allows_aggregates && has_aggregates(&related) {
            return Err(RestError::AggregatesDisabled);
        }
        self.node(related, from, table, 0, Placement::Separate, false)
    }

    /// Finds all relationships before anything else is checked: clients see a missing one first.
    fn find_relationships(
        &self,
        mut select: SelectNode<'a>,
        relationship: Option<&'a Relationship>,
        origin: &str,
    ) -> Result<Related<'a>, RestError> {
        let children = std::mem::take(&mut select.children)
            .into_iter()
            .map(|child| {
                let embed = child.embed.expect("every node but the root is an embed");
                let found = relationship::find(
                    self.cache,
                    self.schema,
                    origin,
                    &embed.relation,
                    embed.hint.as_deref(),
                )?;
                self.find_relationships(child, Some(found), &found.foreign_table.name)
            })
            .collect::<Result<_, _>>()?;
        Ok(Related {
            select,
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
        placement: Placement,
        is_below_aggregate: bool,
    ) -> Result<ReadNode<'a>, RestError> {
        let Related {
            select, children, ..
        } = related;
        let context = FieldContext {
            cache: self.cache,
            table,
        };
        let has_aggregate = select.fields.iter().any(|field| field.aggregate.is_some());
        let expands = is_below_aggregate || has_aggregate || placement == Placement::SpreadMany;
        let columns = self.columns(&select.fields, &context, placement, expands);
        let embeds = children
            .into_iter()
            .map(|child| self.embed(child, &from, depth + 1, placement, expands))
            .collect::<Result<Vec<_>, _>>()?;
        let order = select
            .order
            .iter()
            .map(|term| order_by(term, &context, &embeds))
            .collect();
        let mut conditions: Vec<_> = select
            .filters
            .iter()
            .map(|filter| field::condition(filter, &context, &embeds))
            .collect();
        conditions.extend(
            select
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
            range: select.range.at_most(self.max_rows),
            embeds,
        })
    }

    fn columns(
        &self,
        fields: &[&'a SelectField],
        context: &FieldContext<'a>,
        placement: Placement,
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
                _ => columns.push(self.column(select, context, placement, is_star)),
            }
        }
        columns
    }

    fn column(
        &self,
        select: &'a SelectField,
        context: &FieldContext<'a>,
        placement: Placement,
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
            // The parent refers to the column by this name.
            (None, Some(aggregate)) if placement != Placement::Separate => {
                Some(aggregate.function.name())
            }
            (None, Some(_)) => None,
            (None, None) if !select.field.path.is_empty() => {
                Some(field::output_name(&select.field))
            }
            (None, None) => formatter.map(|_| select.field.name.as_str()),
        };
        OutputColumn {
            field,
            formatter,
            cast: select.cast.as_deref(),
            aggregate,
            alias: alias.map(Cow::Borrowed),
            is_whole_row: is_star && counts_rows && placement != Placement::Separate,
        }
    }

    fn embed(
        &self,
        child: Related<'a>,
        parent: &From<'a>,
        depth: usize,
        parent_placement: Placement,
        is_below_aggregate: bool,
    ) -> Result<Embed<'a>, RestError> {
        let select = child
            .select
            .embed
            .expect("every node but the root is an embed");
        let relationship = child.relationship.expect("found for every embed");
        let name = output_name(select);
        let foreign = &relationship.foreign_table;
        let table = self.cache.table(&foreign.schema, &foreign.name);
        let is_empty = is_empty(&child);
        let placement = match (select.is_spread, relationship.is_to_one()) {
            (false, _) => Placement::Separate,
            (true, true) => Placement::SpreadOne,
            (true, false) => Placement::SpreadMany,
        };
        let from = from_relationship(relationship, parent, depth);
        let mut node = self.node(child, from, table, depth, placement, is_below_aggregate)?;
        let join_alias = format!("{}_{name}_{depth}", relationship.table.name);
        let shape = match placement {
            Placement::Separate if is_empty => Shape::Hidden,
            Placement::Separate if relationship.is_to_one() => Shape::Object,
            Placement::Separate => Shape::Array,
            Placement::SpreadOne => Shape::SpreadOne(lift_aggregates(
                &mut node,
                parent_placement != Placement::SpreadOne,
            )),
            Placement::SpreadMany => {
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

/// Whether neither the node nor its descendants have columns.
fn is_empty(related: &Related<'_>) -> bool {
    related.select.fields.is_empty() && related.children.iter().all(is_empty)
}

fn from_relationship<'a>(
    relationship: &'a Relationship,
    parent: &From<'a>,
    depth: usize,
) -> From<'a> {
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

/// Rejects an order by an embed that is not to-one.
fn check_orders(related: &Related<'_>, origin: &str) -> Result<(), RestError> {
    let ordered_by = related.select.order.iter();
    for name in ordered_by.filter_map(|term| term.relation.as_ref()) {
        let is_match =
            |child: &&Related<'_>| child.select.embed.is_some_and(|e| output_name(e) == name);
        let Some(embed) = related.children.iter().find(is_match) else {
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
    let mut fields = related.select.fields.iter();
    fields.any(|field| field.aggregate.is_some()) || related.children.iter().any(has_aggregates)
}

fn order_by<'a>(
    term: &'a OrderTerm,
    context: &FieldContext<'a>,
    embeds: &[Embed<'a>],
) -> OrderBy<'a> {
    let (embed, field) = match &term.relation {
        None => (None, context.field_ref(&term.field)),
        Some(relation) => {
            let found = embeds.iter().position(|embed| embed.name == relation);
            (found, field::untyped(&term.field))
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
