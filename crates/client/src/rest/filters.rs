//! Filters.

use std::fmt::Display;

use super::literal::{self, Contained};
use super::query::{Clause, Query};

/// What [`Query::is`] compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Is {
    Null,
    NotNull,
    True,
    False,
    Unknown,
}

impl Is {
    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::NotNull => "not_null",
            Self::True => "true",
            Self::False => "false",
            Self::Unknown => "unknown",
        }
    }
}

/// Syntax of a text search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextSearch {
    /// With operators: `fat & (rat | cat)`.
    #[default]
    Operators,
    /// Words, all required (`plainto_tsquery`).
    Plain,
    /// A phrase (`phraseto_tsquery`).
    Phrase,
    /// Web search syntax (`websearch_to_tsquery`).
    Web,
}

impl TextSearch {
    fn operator(self) -> &'static str {
        match self {
            Self::Operators => "fts",
            Self::Plain => "plfts",
            Self::Phrase => "phfts",
            Self::Web => "wfts",
        }
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident = $operator:literal,)*) => {
        impl Query {$(
            $(#[$doc])*
            pub fn $name(self, column: &str, value: impl Display) -> Self {
                self.param(column, format!(concat!($operator, ".{}"), value))
            }
        )*}
    };
}

comparisons! {
    /// Equal.
    eq = "eq",
    /// Not equal.
    neq = "neq",
    /// Greater.
    gt = "gt",
    /// Greater or equal.
    gte = "gte",
    /// Less.
    lt = "lt",
    /// Less or equal.
    lte = "lte",
    /// Distinct: not equal, with null as a value.
    is_distinct = "isdistinct",
    /// Like a pattern with `%` and `_`.
    like = "like",
    /// Like a pattern, ignoring case.
    ilike = "ilike",
    /// Matches a regular expression.
    regex = "match",
    /// Matches a regular expression, ignoring case.
    regex_i = "imatch",
    /// The range lies wholly right of this one.
    range_gt = "sr",
    /// The range does not reach left of this one.
    range_gte = "nxl",
    /// The range lies wholly left of this one.
    range_lt = "sl",
    /// The range does not reach right of this one.
    range_lte = "nxr",
    /// The range touches this one.
    range_adjacent = "adj",
}

macro_rules! pattern_lists {
    ($($(#[$doc:meta])* $name:ident = $operator:literal,)*) => {
        impl Query {$(
            $(#[$doc])*
            pub fn $name(
                self,
                column: &str,
                patterns: impl IntoIterator<Item = impl Display>,
            ) -> Self {
                self.param(column, format!(concat!($operator, ".{}"), literal::array(patterns)))
            }
        )*}
    };
}

pattern_lists! {
    /// Like all of the patterns.
    like_all_of = "like(all)",
    /// Like one of the patterns.
    like_any_of = "like(any)",
    /// Like all of the patterns, ignoring case.
    ilike_all_of = "ilike(all)",
    /// Like one of the patterns, ignoring case.
    ilike_any_of = "ilike(any)",
}

impl Query {
    /// Null, true, false, or not.
    pub fn is(self, column: &str, value: Is) -> Self {
        self.param(column, format!("is.{}", value.name()))
    }

    /// One of these.
    pub fn in_(self, column: &str, values: impl IntoIterator<Item = impl Display>) -> Self {
        self.param(column, format!("in.{}", literal::list(values)))
    }

    /// None of these.
    pub fn not_in(self, column: &str, values: impl IntoIterator<Item = impl Display>) -> Self {
        self.param(column, format!("not.in.{}", literal::list(values)))
    }

    /// The array, range or JSON contains all of this.
    pub fn contains(self, column: &str, value: impl Into<Contained>) -> Self {
        self.param(column, format!("cs.{}", value.into().into_text()))
    }

    /// The array, range or JSON is contained in this.
    pub fn contained_by(self, column: &str, value: impl Into<Contained>) -> Self {
        self.param(column, format!("cd.{}", value.into().into_text()))
    }

    /// The array or range overlaps with this.
    pub fn overlaps(self, column: &str, value: impl Into<Contained>) -> Self {
        self.param(column, format!("ov.{}", value.into().into_text()))
    }

    /// The text matches a search; refine it with [`Query::config`] and [`Query::kind`].
    pub fn text_search(mut self, column: &str, query: &str) -> Self {
        self.clauses.push(Clause::TextSearch {
            column: column.to_owned(),
            query: query.to_owned(),
            operator: TextSearch::default().operator(),
            config: None,
        });
        self
    }

    /// The configuration (language) of the preceding text search.
    pub fn config(mut self, name: &str) -> Self {
        match self.clauses.last_mut() {
            Some(Clause::TextSearch { config, .. }) => *config = Some(name.to_owned()),
            _ => self.note("`config` must follow `text_search`"),
        }
        self
    }

    /// The syntax of the preceding text search.
    pub fn kind(mut self, kind: TextSearch) -> Self {
        match self.clauses.last_mut() {
            Some(Clause::TextSearch { operator, .. }) => *operator = kind.operator(),
            _ => self.note("`kind` must follow `text_search`"),
        }
        self
    }

    /// Each column equals its value.
    pub fn match_all<K: AsRef<str>, V: Display>(
        self,
        values: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let mut query = self;
        for (column, value) in values {
            query = query.eq(column.as_ref(), value);
        }
        query
    }

    /// Negates a filter: `.not("name", "like", "A%")`.
    pub fn not(self, column: &str, operator: &str, value: impl Display) -> Self {
        self.param(column, format!("not.{operator}.{value}"))
    }

    /// One of several filters in PostgREST's syntax: `"a.eq.1,b.gt.2"`. For a related table, follow it with
    /// [`Query::on`].
    pub fn or(mut self, filters: &str) -> Self {
        self.clauses.push(Clause::Or {
            filters: filters.to_owned(),
            on: None,
        });
        self
    }

    /// Any filter in PostgREST's syntax: `.filter("id", "in", "(1,2)")`.
    pub fn filter(self, column: &str, operator: &str, value: impl Display) -> Self {
        self.param(column, format!("{operator}.{value}"))
    }
}
