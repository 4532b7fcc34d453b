//! A read as a tree: one node per relation, embeds below their parent.
//!
//! All names are resolved: writing the SQL needs neither request nor schema cache.

use std::borrow::Cow;

use crate::{
    request::{
        AggregateFunction, Direction, JsonStep, LogicOperator, Nulls, Operation, range::RowRange,
    },
    schema_cache::{QualifiedName, Relationship},
};

/// Rows of one relation, and of those embedded in it.
#[derive(Debug)]
pub(crate) struct ReadNode<'a> {
    pub(crate) from: From<'a>,
    /// Empty for all columns, unless there are embeds.
    pub(crate) columns: Vec<OutputColumn<'a>>,
    /// For the order of a to-many spread; not part of the result.
    pub(crate) hidden: Vec<HiddenColumn<'a>>,
    pub(crate) conditions: Vec<Condition<'a>>,
    pub(crate) order: Vec<OrderBy<'a>>,
    pub(crate) range: RowRange,
    pub(crate) embeds: Vec<Embed<'a>>,
}

/// Where rows come from.
#[derive(Debug)]
pub(crate) enum From<'a> {
    Relation(&'a QualifiedName),
    /// The result of a mutation or call, under the name of its relation.
    Source {
        alias: &'a str,
    },
    Aliased {
        relation: &'a QualifiedName,
        alias: String,
    },
    /// Across a many-to-many relationship.
    Junction {
        relation: &'a QualifiedName,
        junction: &'a QualifiedName,
    },
    Computed {
        function: &'a QualifiedName,
        /// The parent's alias, and its row type.
        argument: String,
        argument_type: &'a QualifiedName,
        alias: String,
    },
}

/// The prefix of a column's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Qualifier<'p> {
    Relation(&'p QualifiedName),
    Alias(&'p str),
}

impl<'a> From<'a> {
    pub(crate) fn qualifier(&self) -> Qualifier<'_> {
        match self {
            Self::Relation(relation) | Self::Junction { relation, .. } => {
                Qualifier::Relation(relation)
            }
            Self::Source { alias } => Qualifier::Alias(alias),
            Self::Aliased { alias, .. } | Self::Computed { alias, .. } => Qualifier::Alias(alias),
        }
    }

    /// The name that refers to a whole row: the alias, or the relation's name without schema.
    pub(crate) fn row_name(&self) -> &str {
        match self.qualifier() {
            Qualifier::Relation(relation) => &relation.name,
            Qualifier::Alias(alias) => alias,
        }
    }
}

/// A column, a path into a json column, or a computed field.
#[derive(Debug, Clone)]
pub(crate) struct FieldRef<'a> {
    /// `*` for all of them.
    pub(crate) name: &'a str,
    pub(crate) path: &'a [JsonStep],
    /// Whether a path into it needs `to_jsonb` first.
    pub(crate) needs_to_jsonb: bool,
}

/// One column of the result.
#[derive(Debug, Clone)]
pub(crate) struct OutputColumn<'a> {
    pub(crate) field: FieldRef<'a>,
    /// The function of a domain representation that formats the value.
    pub(crate) formatter: Option<&'a str>,
    pub(crate) cast: Option<&'a str>,
    pub(crate) aggregate: Option<Aggregated<'a>>,
    pub(crate) alias: Option<Cow<'a, str>>,
    /// The whole row instead of a column: `count()` inside a spread.
    pub(crate) is_whole_row: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aggregated<'a> {
    pub(crate) function: AggregateFunction,
    pub(crate) cast: Option<&'a str>,
}

/// A condition on rows.
#[derive(Debug)]
pub(crate) enum Condition<'a> {
    Filter(FieldFilter<'a>),
    /// Whether an embed has a row.
    EmbedIsNull {
        /// Which of the node's embeds.
        embed: usize,
        is_negated: bool,
    },
    Group {
        is_negated: bool,
        operator: LogicOperator,
        children: Vec<Condition<'a>>,
    },
}

#[derive(Debug)]
pub(crate) struct FieldFilter<'a> {
    pub(crate) field: FieldRef<'a>,
    pub(crate) is_negated: bool,
    pub(crate) operation: &'a Operation,
    /// The function of a domain representation that parses the value.
    pub(crate) parser: Option<&'a str>,
    /// Whether full-text search needs `to_tsvector` first.
    pub(crate) needs_to_tsvector: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct OrderBy<'a> {
    /// The embed by whose column the parent is ordered.
    pub(crate) embed: Option<usize>,
    pub(crate) field: FieldRef<'a>,
    pub(crate) direction: Option<Direction>,
    pub(crate) nulls: Option<Nulls>,
}

/// A column by which the arrays of a to-many spread are ordered.
#[derive(Debug)]
pub(crate) struct HiddenColumn<'a> {
    pub(crate) alias: String,
    pub(crate) by: OrderBy<'a>,
}

/// Related rows inside each row of the parent.
#[derive(Debug)]
pub(crate) struct Embed<'a> {
    pub(crate) node: ReadNode<'a>,
    pub(crate) relationship: &'a Relationship,
    /// The key in the result.
    pub(crate) name: &'a str,
    /// `<origin>_<name>_<depth>`, which clients see in error messages.
    pub(crate) join_alias: String,
    /// `!inner`: parents without related rows are left out.
    pub(crate) is_inner: bool,
    pub(crate) shape: Shape<'a>,
}

/// What an embed adds to its parent.
#[derive(Debug)]
pub(crate) enum Shape<'a> {
    /// An object or null.
    Object,
    /// An array of objects.
    Array,
    /// Nothing; it only filters.
    Hidden,
    /// Its columns, as columns of the parent.
    SpreadOne(Vec<SpreadColumn<'a>>),
    /// Its columns, each as an array, in the order of its hidden columns.
    SpreadMany(Vec<SpreadColumn<'a>>),
}

/// A column of a spread embed.
#[derive(Debug, Clone)]
pub(crate) struct SpreadColumn<'a> {
    /// In the embed's rows; `*` for all.
    pub(crate) name: Cow<'a, str>,
    /// Computed in the nearest ancestor that is not a spread.
    pub(crate) aggregate: Option<Aggregated<'a>>,
    /// Whether this parent computes the aggregate, not one further up.
    pub(crate) aggregates_here: bool,
}

impl ReadNode<'_> {
    /// Whether rows are grouped, because the node or one of its spreads has an aggregate.
    pub(crate) fn has_aggregates(&self) -> bool {
        self.columns.iter().any(|column| column.aggregate.is_some())
            || self.embeds.iter().any(|embed| match &embed.shape {
                Shape::SpreadOne(columns) => columns
                    .iter()
                    .any(|c| c.aggregate.is_some() && c.aggregates_here),
                _ => false,
            })
    }

    /// Whether it is exactly `select=*`.
    pub(crate) fn selects_everything(&self) -> bool {
        match self.columns.as_slice() {
            [column] => {
                self.embeds.is_empty() && column.field.name == "*" && column.aggregate.is_none()
            }
            _ => false,
        }
    }
}
