//! From a plan to a statement and its parameters (rest contract §6).
//!
//! Every statement has the same columns: rows of the whole, rows of the page, body, and what the
//! database wants to say about the response. An insert may have the row's location, too.

mod body;
mod call;
mod change;
mod condition;
mod read;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use writer::Sql;

use crate::{
    RestConfig,
    plan::{CallPlan, Handler, MutatePlan, ReadPlan, tree::ReadNode},
    request::{
        Mutation,
        media_type::{PlanFormat, PlanOption, PlanType},
        preferences::{Count, Preferences, Representation, Resolution},
        range::RowRange,
    },
    schema_cache::QualifiedName,
};
use body::Page;

const RESPONSE_SETTINGS: &str = ", nullif(current_setting('response.headers', true), '') as \
     response_headers, nullif(current_setting('response.status', true), '') as response_status";

/// What to run for one request.
#[derive(Debug)]
pub(crate) struct Statements<'a> {
    pub(crate) main: Sql<'a>,
    /// EXPLAIN of the count, for counts that are estimated.
    pub(crate) explain: Option<Sql<'a>>,
}

impl<'a> ReadPlan<'a> {
    pub(crate) fn to_sql(
        &self,
        preferences: &Preferences,
        config: &RestConfig,
        range: RowRange,
    ) -> Statements<'a> {
        let mut sql = Sql::new();
        sql.explain_of(self.output.explain());
        sql.push("with pgrst_source as (");
        sql.read(&self.read, None);
        sql.push(")");
        let counts = Counts {
            wanted: preferences.count,
            max_rows: config.max_rows,
            range,
        };
        let page = Page::of(&self.read, Some(self.table));
        let total = sql.count_rows(&counts, &self.read);
        sql.push(" select ");
        sql.total(total, page).push(" as total, ");
        sql.page_rows(page).push(" as rows, ");
        sql.body(&self.output.handler, None, page);
        sql.push(" as body")
            .push(RESPONSE_SETTINGS)
            .push(", null::int as inserted from (");
        sql.push("select * from pgrst_source) ").push(page.name());
        let explain = matches!(preferences.count, Some(Count::Planned | Count::Estimated));
        Statements {
            main: sql,
            explain: explain.then(|| {
                let mut sql = Sql::new();
                sql.push("explain (format json) ");
                sql.count(&self.read, None);
                sql
            }),
        }
    }
}

impl<'a> MutatePlan<'a> {
    pub(crate) fn to_sql(&self, preferences: &Preferences) -> Statements<'a> {
        let mut sql = Sql::new();
        sql.explain_of(self.output.explain());
        sql.push("with pgrst_source as (");
        sql.change(self);
        let page = Page::of(&self.read, Some(self.table));
        sql.push(") select null::bigint as total, ");
        sql.page_rows(page).push(" as rows, ");
        let has_location = self.mutation == Mutation::Insert
            && preferences.representation == Some(Representation::HeadersOnly)
            && !self.table.primary_key.is_empty();
        match has_location {
            true => sql.location(page),
            false => sql.push("null::text"),
        };
        sql.push(" as location, ");
        sql.body(&self.output.handler, None, page);
        sql.push(" as body").push(RESPONSE_SETTINGS);
        let counts_inserts = match self.mutation {
            Mutation::Upsert => true,
            Mutation::Insert => preferences.resolution == Some(Resolution::MergeDuplicates),
            Mutation::Update | Mutation::Delete => false,
        };
        sql.push(match counts_inserts {
            true => {
                ", nullif(current_setting('plinth.inserted', true), '')::int as inserted from ("
            }
            false => ", null::int as inserted from (",
        });
        match self.output.handler {
            // Names in `select` are not even looked at when nobody sees the rows.
            Handler::Nothing => {
                sql.push("select * from pgrst_source");
            }
            _ => sql.read(&self.read, None),
        }
        sql.push(") ").push(page.name());
        Statements {
            main: sql,
            explain: None,
        }
    }
}

impl<'a> CallPlan<'a> {
    pub(crate) fn to_sql(
        &self,
        preferences: &Preferences,
        config: &RestConfig,
        range: RowRange,
    ) -> Statements<'a> {
        let mut sql = Sql::new();
        sql.explain_of(self.output.explain());
        sql.push("with pgrst_source as (");
        sql.call(self);
        sql.push(")");
        let counts = Counts {
            // Of a function nothing is known beforehand.
            wanted: preferences.count.map(|count| match count {
                Count::Planned => Count::Planned,
                Count::Exact | Count::Estimated => Count::Exact,
            }),
            max_rows: config.max_rows,
            range,
        };
        let page = match self.routine.returns.is_set {
            true => Page::of(&self.read, self.table),
            false => Page::of(&self.read, self.table).with_one_row(),
        };
        let total = sql.count_rows(&counts, &self.read);
        sql.push(" select ");
        sql.total(total, page).push(" as total, ");
        sql.page_rows(page).push(" as rows, ");
        sql.body(&self.output.handler, Some(self.routine), page);
        sql.push(" as body")
            .push(RESPONSE_SETTINGS)
            .push(", null::int as inserted from (");
        sql.read(&self.read, None);
        sql.push(") ").push(page.name());
        Statements {
            main: sql,
            explain: None,
        }
    }
}

/// Which total is wanted of which page.
struct Counts {
    wanted: Option<Count>,
    max_rows: Option<i64>,
    range: RowRange,
}

impl<'a> Sql<'a> {
    /// Adds what a total needs; gives its expression, or `None` where the page is all there is.
    fn count_rows(&mut self, counts: &Counts, read: &ReadNode<'a>) -> Option<&'static str> {
        let limits_count = match counts.wanted {
            None | Some(Count::Planned) => return Some("null::bigint"),
            Some(Count::Exact) => false,
            Some(Count::Estimated) => true,
        };
        if counts.max_rows.is_none() && counts.range.is_all() {
            return None;
        }
        self.push(", pgrst_source_count as (");
        self.count(read, None);
        // One more than the page can hold tells that there is more.
        if let Some(max_rows) = counts.max_rows.filter(|_| limits_count) {
            self.push(" limit ")
                .value(max_rows.saturating_add(1).to_string());
        }
        self.push(")");
        Some("(select pg_catalog.count(*) from pgrst_source_count)")
    }

    fn explain_of(&mut self, plan: Option<&PlanType>) {
        let Some(plan) = plan else {
            return;
        };
        self.push(match plan.format {
            PlanFormat::Json => "explain (format json",
            PlanFormat::Text => "explain (format text",
        });
        for option in &plan.options {
            self.push(match option {
                PlanOption::Analyze => ", analyze",
                PlanOption::Verbose => ", verbose",
                PlanOption::Settings => ", settings",
                PlanOption::Buffers => ", buffers",
                PlanOption::Wal => ", wal",
            });
        }
        self.push(") ");
    }

    /// The function that runs before every request.
    pub(crate) fn pre_request(function: &QualifiedName) -> Self {
        let mut sql = Self::new();
        sql.push("select ").name(function).push("()");
        sql
    }
}
