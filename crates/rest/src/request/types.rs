//! A parsed request. Its names are not resolved yet.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{media_type::MediaType, preferences::Preferences, range::RowRange};

/// A parsed request (rest contract §1–§3).
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    pub(crate) action: Action,
    /// From the profile header, else the first exposed one.
    pub(crate) schema: String,
    /// Whether the response has `Content-Profile`: a profile was sent, or several schemas are
    /// exposed.
    pub(crate) is_profile_negotiated: bool,
    pub(crate) query: QueryParams,
    /// `limit` and `offset` of the root, combined with the Range header.
    pub(crate) root_range: RowRange,
    pub(crate) preferences: Preferences,
    /// In the order of preference; never empty.
    pub(crate) accept: Vec<MediaType>,
    pub(crate) content_type: MediaType,
    /// Present for POST, PATCH and PUT on relations and POST on functions.
    pub(crate) payload: Option<Payload>,
}

/// What the request does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Read {
        relation: String,
        is_head: bool,
    },
    Mutate {
        relation: String,
        mutation: Mutation,
    },
    Call {
        function: String,
        method: CallMethod,
    },
    /// The OpenAPI document.
    OpenApi {
        is_head: bool,
    },
    /// OPTIONS.
    RelationInfo {
        relation: String,
    },
    FunctionInfo {
        function: String,
    },
    SchemaInfo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    Insert,
    Update,
    /// PUT: one row, by its primary key.
    Upsert,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMethod {
    Get,
    Head,
    Post,
}

/// The query string.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct QueryParams {
    /// Never empty; `*` by default.
    pub(crate) select: Vec<SelectItem>,
    pub(crate) columns: Option<BTreeSet<String>>,
    pub(crate) on_conflict: Option<Vec<String>>,
    /// With the path of the embed that each filters; the path of the root is empty.
    pub(crate) filters: Vec<(EmbedPath, Filter)>,
    pub(crate) logic: Vec<(EmbedPath, LogicTree)>,
    /// At most one per level.
    pub(crate) order: Vec<(EmbedPath, Vec<OrderTerm>)>,
    /// `limit` and `offset` of embeds; the root's are in [`ApiRequest::root_range`].
    pub(crate) ranges: Vec<(EmbedPath, RowRange)>,
    /// Arguments of a function called with GET or HEAD, in order, with repeats.
    pub(crate) arguments: Vec<(String, String)>,
    /// Sorted by key and encoded again, for `Content-Location`; empty unless a relation is read.
    pub(crate) canonical: String,
}

/// Names of nested embeds, outermost first.
pub(crate) type EmbedPath = Vec<String>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SelectItem {
    Field(SelectField),
    Embed(SelectEmbed),
}

/// `alias:name->path::cast.aggregate()::cast`; `*` is a name, `count()` is `*` counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SelectField {
    pub(crate) field: Field,
    pub(crate) alias: Option<String>,
    pub(crate) cast: Option<String>,
    pub(crate) aggregate: Option<Aggregate>,
}

impl SelectField {
    /// A column without alias, cast or aggregate.
    pub(crate) fn column(name: &str) -> Self {
        let field = Field {
            name: name.to_owned(),
            path: Vec::new(),
        };
        Self {
            field,
            alias: None,
            cast: None,
            aggregate: None,
        }
    }

    /// `*`
    pub(crate) fn all() -> Self {
        Self::column("*")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) function: AggregateFunction,
    pub(crate) cast: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateFunction {
    Sum,
    Avg,
    Count,
    Max,
    Min,
}

impl AggregateFunction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Count => "count",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// `alias:relation!hint!inner(items)` or `...relation(items)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SelectEmbed {
    pub(crate) relation: String,
    pub(crate) alias: Option<String>,
    pub(crate) hint: Option<String>,
    pub(crate) join: Option<JoinKind>,
    pub(crate) is_spread: bool,
    pub(crate) items: Vec<SelectItem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Inner,
    Left,
}

/// A column, or a path into a json column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) path: Vec<JsonStep>,
}

/// `->x` or, as text, `->>x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonStep {
    pub(crate) is_text: bool,
    pub(crate) operand: JsonOperand,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonOperand {
    Key(String),
    /// Digits with an optional minus, as written.
    Index(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Filter {
    pub(crate) field: Field,
    pub(crate) is_negated: bool,
    pub(crate) operation: Operation,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operation {
    Simple(SimpleOperator, String),
    Quantified {
        operator: QuantOperator,
        quantifier: Option<Quantifier>,
        value: String,
    },
    In(Vec<String>),
    Is(IsValue),
    IsDistinctFrom(String),
    FullText {
        operator: FullTextOperator,
        language: Option<String>,
        value: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SimpleOperator {
    NotEqual,
    Contains,
    ContainedIn,
    Overlaps,
    StrictlyLeft,
    StrictlyRight,
    NotExtendsRight,
    NotExtendsLeft,
    Adjacent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuantOperator {
    Equal,
    GreaterThanEqual,
    GreaterThan,
    LessThanEqual,
    LessThan,
    Like,
    ILike,
    Match,
    IMatch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Any,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsValue {
    Null,
    NotNull,
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FullTextOperator {
    Plain,
    PlainTo,
    Phrase,
    WebSearch,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LogicTree {
    Filter(Filter),
    Group {
        is_negated: bool,
        operator: LogicOperator,
        children: Vec<LogicTree>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogicOperator {
    And,
    Or,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OrderTerm {
    /// `Some` for `relation(field)`.
    pub(crate) relation: Option<String>,
    pub(crate) field: Field,
    pub(crate) direction: Option<Direction>,
    pub(crate) nulls: Option<Nulls>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    First,
    Last,
}

/// The request's body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Payload {
    /// JSON text for `json_to_recordset` and similar. CSV and, for relations, forms have been
    /// converted to it; JSON that is neither object nor array has become `[]`.
    Json {
        text: Bytes,
        /// Keys to use: those of the objects, or the parameter `columns`.
        keys: BTreeSet<String>,
        /// An object, not an array.
        is_object: bool,
    },
    /// A form as arguments of a function.
    Form(Vec<(String, String)>),
    /// `text/plain`, `text/xml` or `application/octet-stream` for a function's single unnamed
    /// parameter.
    Raw(Bytes),
}
