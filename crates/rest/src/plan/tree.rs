//! A read as a tree: one node per relation, embeds below their parent.
//!
//! Everything is looked up and decided here; turning it into SQL needs no further knowledge.

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
    /// Carried along for the order of a to-many spread, and shown nowhere.
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
    /// What a mutation or a call gave, under the name of its relation.
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
        /// What the parent is called there, and its row type.
        argument: String,
        argument_type: &'a QualifiedName,
        alias: String,
    },
}

/// What stands before a column's name.
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

    /// Its alias, or else its relation's bare name: how functions over rows refer to it.
    pub(crate) fn row_name(&self) -> &str {
        match self.qualifier() {
            Qualifier::Relation(relation) => &relation.name,
            Qualifier::Alias(alias) => alias,
        }
    }
}

/// A column, a place in a json column, or a computed field.
#[derive(Debug, Clone)]
pub(crate) struct FieldRef<'a> {
    /// `*` for all of them.
    pub(crate) name: &'a str,
    pub(crate) path: &'a [JsonStep],
    /// Whether a path into it needs a conversion first.
    pub(crate) needs_to_jsonb: bool,
}

/// One column of the result.
#[derive(Debug, Clone)]
pub(crate) struct OutputColumn<'a> {
    pub(crate) field: FieldRef<'a>,
    /// A function that renders it, from a domain representation.
    pub(crate) formatter: Option<&'a str>,
    pub(crate) cast: Option<&'a str>,
    pub(crate) aggregate: Option<Aggregated<'a>>,
    pub(crate) alias: Option<Cow<'a, str>>,
    /// The row itself instead of a column: what `count()` inside a spread counts.
    pub(crate) is_whole_row: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aggregated<'a> {
    pub(crate) function: AggregateFunction,
    pub(crate) cast: Option<&'a str>,
}

/// What rows must fulfil; several of them are joined by AND.
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
    /// A function that reads the value, from a domain representation.
    pub(crate) parser: Option<&'a str>,
    /// A column that is no `tsvector` and must become one to be searched.
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

/// What the arrays of a to-many spread are ordered by.
#[derive(Debug)]
pub(crate) struct HiddenColumn<'a> {
    pub(crate) alias: String,
    pub(crate) by: OrderBy<'a>,
}

/// Rows of another relation inside each row.
#[derive(Debug)]
pub(crate) struct Embed<'a> {
    pub(crate) node: ReadNode<'a>,
    pub(crate) relationship: &'a Relationship,
    /// Its key in the result.
    pub(crate) name: &'a str,
    /// `<origin>_<name>_<depth>`, which clients see in error messages.
    pub(crate) join_alias: String,
    /// Parents without such rows go.
    pub(crate) is_inner: bool,
    pub(crate) shape: Shape<'a>,
}

/// What an embed puts into its parent.
#[derive(Debug)]
pub(crate) enum Shape<'a> {
    /// An object or null.
    Object,
    /// An array of objects.
    Array,
    /// Nothing; it is there for its filters.
    Hidden,
    /// Its columns, lifted into the parent.
    SpreadOne(Vec<SpreadColumn<'a>>),
    /// Its columns, each as an array, in the order of its hidden columns.
    SpreadMany(Vec<SpreadColumn<'a>>),
}

/// A column that an embed gives to its parent.
#[derive(Debug, Clone)]
pub(crate) struct SpreadColumn<'a> {
    /// In the embed's rows; `*` for all.
    pub(crate) name: Cow<'a, str>,
    /// Aggregated in the nearest ancestor that is no spread itself.
    pub(crate) aggregate: Option<Aggregated<'a>>,
    /// `true` where the aggregate happens in this parent, and not further up.
    pub(crate) aggregates_here: bool,
}

impl ReadNode<'_> {
    /// Whether rows are grouped: an aggregate stands in this node, or was lifted into it.
    pub(crate) fn has_aggregates(&self) -> bool {
        self.columns.iter().any(|column| column.aggregate.is_some())
            || self.embeds.iter().any(|embed| match &embed.shape {
                Shape::SpreadOne(columns) => columns
                    .iter()
                    .any(|c| c.aggregate.is_some() && c.aggregates_here),
                _ => false,
            })
    }

    /// Whether the result is exactly what `select=*` gives.
    pub(crate) fn selects_everything(&self) -> bool {
        match self.columns.as_slice() {
            [column] => {
                self.embeds.is_empty() && column.field.name == "*" && column.aggregate.is_none()
            }
            _ => false,
        }
    }
}
