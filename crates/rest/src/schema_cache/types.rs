//! The objects of the schema cache.

use std::sync::Arc;

/// A name with its schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct QualifiedName {
    pub(crate) schema: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl QualifiedName {
    pub(crate) fn new(schema: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            schema: schema.into(),
            name: name.into(),
        }
    }
}

/// A table, view, materialized view, foreign table or partitioned table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) oid: u32,
    pub(crate) name: QualifiedName,
    pub(crate) comment: Option<Box<str>>,
    pub(crate) is_view: bool,
    pub(crate) is_insertable: bool,
    pub(crate) is_updatable: bool,
    pub(crate) is_deletable: bool,
    /// For a view: of its base table, if the view has all columns of the key.
    pub(crate) primary_key: Vec<Arc<str>>,
    /// In their order in the table.
    pub(crate) columns: Vec<Column>,
}

impl Table {
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| *column.name == *name)
    }
}

/// One column of a relation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: Arc<str>,
    pub(crate) comment: Option<Box<str>>,
    pub(crate) is_nullable: bool,
    /// Without modifiers; for domains the base type.
    pub(crate) base_type: Arc<str>,
    /// As declared, with modifiers. Payloads are cast to it.
    pub(crate) nominal_type: Arc<str>,
    pub(crate) max_length: Option<i32>,
    /// The default expression (rest contract §2.3).
    pub(crate) default: Option<Box<str>>,
    pub(crate) enum_labels: Vec<Box<str>>,
}

/// A relationship from one relation to another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Relationship {
    pub(crate) table: QualifiedName,
    pub(crate) foreign_table: QualifiedName,
    /// Whether a table references itself.
    pub(crate) is_self: bool,
    pub(crate) table_is_view: bool,
    pub(crate) foreign_table_is_view: bool,
    pub(crate) link: Link,
}

/// The kind of a relationship.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Link {
    ManyToOne(Join),
    OneToMany(Join),
    /// `is_parent`: the foreign key is on the other side.
    OneToOne {
        join: Join,
        is_parent: bool,
    },
    ManyToMany(Junction),
    /// A function from a row to a row or rows.
    Computed {
        function: QualifiedName,
        is_to_one: bool,
    },
}

/// A foreign key, seen from one of its sides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Join {
    pub(crate) constraint: Arc<str>,
    /// Column of `table`, column of `foreign_table`; in the order of the key.
    pub(crate) columns: Vec<(Arc<str>, Arc<str>)>,
}

/// The table of a many-to-many relationship.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Junction {
    pub(crate) table: QualifiedName,
    pub(crate) source_constraint: Arc<str>,
    pub(crate) target_constraint: Arc<str>,
    /// Column of the origin, column of the junction.
    pub(crate) source_columns: Vec<(Arc<str>, Arc<str>)>,
    /// Column of the target, column of the junction.
    pub(crate) target_columns: Vec<(Arc<str>, Arc<str>)>,
}

impl Relationship {
    /// Whether a row has at most one row on the other side.
    pub(crate) fn is_to_one(&self) -> bool {
        match &self.link {
            Link::ManyToOne(_) | Link::OneToOne { .. } => true,
            Link::OneToMany(_) | Link::ManyToMany(_) => false,
            Link::Computed { is_to_one, .. } => *is_to_one,
        }
    }

    /// The schema that a request must use to follow it.
    pub(super) fn target_schema(&self) -> &Arc<str> {
        match &self.link {
            Link::Computed { function, .. } => &function.schema,
            _ => &self.foreign_table.schema,
        }
    }

    /// All relations involved.
    pub(super) fn relations(&self) -> impl Iterator<Item = &QualifiedName> {
        let junction = match &self.link {
            Link::ManyToMany(junction) => Some(&junction.table),
            _ => None,
        };
        [&self.table, &self.foreign_table]
            .into_iter()
            .chain(junction)
    }

    /// The order in which clients see the relationships of a table: by the other table, kind and
    /// name, then by whatever distinguishes them; computed ones last.
    pub(super) fn sort_key(&self) -> impl Ord + '_ {
        let (kind, names, columns) = match &self.link {
            Link::OneToMany(join) => (0, [&*join.constraint, "", "", ""], [&*join.columns, &[]]),
            Link::ManyToOne(join) => (1, [&*join.constraint, "", "", ""], [&*join.columns, &[]]),
            Link::OneToOne { join, .. } => {
                (2, [&*join.constraint, "", "", ""], [&*join.columns, &[]])
            }
            Link::ManyToMany(junction) => (
                3,
                [
                    &*junction.table.schema,
                    &*junction.table.name,
                    &*junction.source_constraint,
                    &*junction.target_constraint,
                ],
                [&*junction.source_columns, &*junction.target_columns],
            ),
            Link::Computed { function, .. } => (
                4,
                [&*function.schema, &*function.name, "", ""],
                [&[][..], &[]],
            ),
        };
        let is_computed = kind == 4;
        (
            is_computed,
            &self.foreign_table,
            self.is_self,
            kind,
            names,
            columns,
        )
    }
}

impl Join {
    /// The same key from its other side.
    pub(super) fn reversed(&self) -> Self {
        let columns = self.columns.iter();
        Self {
            constraint: self.constraint.clone(),
            columns: columns
                .map(|(own, other)| (other.clone(), own.clone()))
                .collect(),
        }
    }
}

/// A function of an exposed schema; each overload is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Routine {
    pub(crate) name: QualifiedName,
    pub(crate) comment: Option<Box<str>>,
    pub(crate) params: Vec<Param>,
    pub(crate) returns: Returns,
    pub(crate) volatility: Volatility,
    pub(crate) has_variadic: bool,
    pub(crate) isolation: Option<Isolation>,
    /// Hoisted settings, which apply to the whole transaction (§4.2).
    pub(crate) settings: Vec<(Box<str>, Box<str>)>,
    /// Last, so that it orders overloads only if everything else is equal.
    pub(crate) oid: u32,
}

impl Routine {
    pub(crate) fn returns_scalar(&self) -> bool {
        !self.returns.is_set && matches!(self.returns.of, ReturnType::Scalar(_))
    }

    pub(crate) fn returns_set_of_scalar(&self) -> bool {
        self.returns.is_set && matches!(self.returns.of, ReturnType::Scalar(_))
    }

    pub(crate) fn returns_single_composite(&self) -> bool {
        !self.returns.is_set && matches!(self.returns.of, ReturnType::Composite(_))
    }

    pub(crate) fn returns_void(&self) -> bool {
        match &self.returns.of {
            ReturnType::Scalar(name) => {
                !self.returns.is_set && *name.schema == *"pg_catalog" && *name.name == *"void"
            }
            ReturnType::Composite(_) => false,
        }
    }
}

/// One input parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Param {
    /// Empty if unnamed.
    pub(crate) name: Arc<str>,
    pub(crate) type_name: Arc<str>,
    /// As `type_name`, but `varchar` for `char` and `varbit` for `bit`, which would truncate.
    pub(crate) cast_type: Arc<str>,
    pub(crate) is_required: bool,
    pub(crate) is_variadic: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Returns {
    pub(crate) is_set: bool,
    pub(crate) of: ReturnType,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReturnType {
    Scalar(QualifiedName),
    /// A row type, or output parameters (then `pg_catalog.record`).
    Composite(QualifiedName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volatility {
    Volatile,
    Stable,
    Immutable,
}

/// Isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// A function that turns the rows of `target` into a body of some media type (§3.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MediaHandler {
    /// An aggregate over rows. For a function that returns the media type itself, its domain, as a
    /// cast without effect.
    pub(crate) function: QualifiedName,
    /// The relation or function; `None` for any.
    pub(crate) target: Option<QualifiedName>,
    /// Lower case, possibly `*/*`.
    pub(crate) media_type: Box<str>,
    /// The `Content-Type` of the response: `application/octet-stream` for `*/*`.
    pub(crate) response_type: Box<str>,
}

/// A domain representation: a cast of the user between a domain and `json` or `text` (§5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Representation {
    pub(crate) source_type: Arc<str>,
    pub(crate) target_type: Arc<str>,
    /// Schema-qualified and quoted, ready for SQL.
    pub(crate) function: Arc<str>,
}
