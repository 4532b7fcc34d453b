//! Order, limits and result format.

use std::ops::RangeInclusive;

use http::Method;

use super::query::{Clause, Query};

/// How rows are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Exactly.
    Exact,
    /// By the planner's estimate.
    Planned,
    /// Exactly up to a limit, estimated beyond.
    Estimated,
}

impl Count {
    pub(super) fn preference(self) -> &'static str {
        match self {
            Self::Exact => "count=exact",
            Self::Planned => "count=planned",
            Self::Estimated => "count=estimated",
        }
    }
}

/// What [`Query::explain`] shows.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Explain {
    pub analyze: bool,
    pub verbose: bool,
    pub settings: bool,
    pub buffers: bool,
    pub wal: bool,
    /// As JSON rather than text.
    pub json: bool,
}

/// The result format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// The `Accept` header, if not JSON.
    pub(super) accept: Option<String>,
    pub(super) rows: Rows,
    pub(super) is_stripped: bool,
    /// The result is text, not JSON.
    pub(super) is_text: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rows {
    #[default]
    Many,
    One,
    AtMostOne,
}

impl Query {
    /// Ordered by a column; refine it with [`Query::desc`], [`Query::nulls_first`],
    /// [`Query::nulls_last`] and [`Query::on`].
    pub fn order(mut self, column: &str) -> Self {
        self.clauses.push(Clause::Order {
            column: column.to_owned(),
            is_descending: false,
            nulls: None,
            on: None,
        });
        self
    }

    /// Makes the preceding order descending.
    pub fn desc(self) -> Self {
        self.refine_order("desc", |is_descending, _| *is_descending = true)
    }

    /// Puts nulls first in the preceding order.
    pub fn nulls_first(self) -> Self {
        self.refine_order("nulls_first", |_, nulls| *nulls = Some("nullsfirst"))
    }

    /// Puts nulls last in the preceding order.
    pub fn nulls_last(self) -> Self {
        self.refine_order("nulls_last", |_, nulls| *nulls = Some("nullslast"))
    }

    fn refine_order(
        mut self,
        name: &str,
        refine: impl FnOnce(&mut bool, &mut Option<&'static str>),
    ) -> Self {
        match self.clauses.last_mut() {
            Some(Clause::Order {
                is_descending,
                nulls,
                ..
            }) => refine(is_descending, nulls),
            _ => self.note(&format!("`{name}` must follow `order`")),
        }
        self
    }

    /// At most this many rows.
    pub fn limit(mut self, rows: u64) -> Self {
        self.clauses.push(Clause::Limit { rows, on: None });
        self
    }

    /// These rows, counted from 0: `.range(0..=9)` are the first ten.
    pub fn range(mut self, rows: RangeInclusive<u64>) -> Self {
        let (from, to) = (*rows.start(), *rows.end());
        if to < from {
            self.note("the range is empty");
        }
        self.clauses.push(Clause::Range {
            from,
            rows: to.saturating_sub(from).saturating_add(1),
            on: None,
        });
        self
    }

    /// Applies the preceding order, limit, range or alternative to a related table.
    pub fn on(mut self, related: &str) -> Self {
        match self.clauses.last_mut() {
            Some(
                Clause::Order { on, .. }
                | Clause::Limit { on, .. }
                | Clause::Range { on, .. }
                | Clause::Or { on, .. },
            ) => *on = Some(related.to_owned()),
            _ => self.note("`on` must follow `order`, `limit`, `range` or `or`"),
        }
        self
    }

    /// Counts the rows, also those beyond a limit; see
    /// [`Response::count`](super::Response::count).
    pub fn count(self, how: Count) -> Self {
        self.prefer(how.preference())
    }

    /// Requests no rows: with [`Query::count`], only their number.
    pub fn head(mut self) -> Self {
        match self.method {
            Method::GET | Method::HEAD => self.method = Method::HEAD,
            _ => self.note("`head` is for reading"),
        }
        self
    }

    /// Exactly one row, as itself instead of a list. Any other number is an error.
    pub fn single(mut self) -> Self {
        self.form.rows = Rows::One;
        self
    }

    /// One row or none: read it as an `Option`. More are an error.
    pub fn maybe_single(mut self) -> Self {
        self.form.rows = Rows::AtMostOne;
        self
    }

    /// As comma-separated values; read them as a `String`.
    pub fn csv(mut self) -> Self {
        self.form.is_text = true;
        self.accept("text/csv")
    }

    /// As GeoJSON.
    pub fn geojson(self) -> Self {
        self.accept("application/geo+json")
    }

    /// The database's plan instead of the rows, where the server allows it.
    pub fn explain(mut self, options: Explain) -> Self {
        let shown = [
            (options.analyze, "analyze"),
            (options.verbose, "verbose"),
            (options.settings, "settings"),
            (options.buffers, "buffers"),
            (options.wal, "wal"),
        ];
        let shown: Vec<&str> = shown
            .iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, o)| *o)
            .collect();
        let format = if options.json { "json" } else { "text" };
        self.form.is_text = !options.json;
        let of = self.form.media_type().to_owned();
        self.accept(&format!(
            "application/vnd.pgrst.plan+{format}; for=\"{of}\"; options={};",
            shown.join("|")
        ))
    }

    /// Strips null members.
    pub fn strip_nulls(mut self) -> Self {
        self.form.is_stripped = true;
        self
    }

    /// Rejects a change of more rows than this.
    pub fn max_affected(self, rows: u64) -> Self {
        self.prefer("handling=strict")
            .prefer(format!("max-affected={rows}"))
    }

    /// Rolls the transaction back, where the server allows it.
    pub fn rollback(self) -> Self {
        self.prefer("tx=rollback")
    }

    pub(super) fn accept(mut self, media_type: &str) -> Self {
        self.form.accept = Some(media_type.to_owned());
        self
    }
}

impl Form {
    /// The `Accept` header.
    pub(super) fn media_type(&self) -> &str {
        if let Some(accept) = &self.accept {
            return accept;
        }
        match (self.rows, self.is_stripped) {
            (Rows::One, true) => "application/vnd.pgrst.object+json;nulls=stripped",
            (Rows::One, false) => "application/vnd.pgrst.object+json",
            (_, true) => "application/vnd.pgrst.array+json;nulls=stripped",
            (_, false) => "application/json",
        }
    }
}
