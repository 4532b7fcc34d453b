//! Writes the statement of a plan, and its parameters (rest contract §6).
//!
//! Every statement returns one row: total count, number of rows on the page, body, and the settings
//! `response.headers` and `response.status`; mutations also the location of an inserted row.

mod body;
mod call;
mod change;
mod condition;
mod join;
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

/// The statements of one request.
#[derive(Debug)]
pub(crate) struct Statements<'a> {
    pub(crate) main: Sql<'a>,
    /// EXPLAIN of the count, for `count=planned` and `count=estimated`.
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
            requested: preferences.count,
            max_rows: config.max_rows,
            range,
        };
        let page = Page::new(&self.read, Some(self.table));
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
        let page = Page::new(&self.read, Some(self.table));
        sql.push(") select null::bigint as total, ");
        sql.page_rows(page).push(" as rows, ");
        let has_location = self.mutation == Mutation::Insert
            && preferences.representation == Some(Representation::HeadersOnly)
            && !self.table.primary_key.is_empty();
        if has_location {
            sql.location(page)
        } else {
            sql.push("null::text")
        };
        sql.push(" as location, ");
        sql.body(&self.output.handler, None, page);
        sql.push(" as body").push(RESPONSE_SETTINGS);
        let counts_inserts = match self.mutation {
            Mutation::Upsert => true,
            Mutation::Insert => preferences.resolution == Some(Resolution::MergeDuplicates),
            Mutation::Update | Mutation::Delete => false,
        };
        sql.push(if counts_inserts {
            ", nullif(current_setting('plinth.inserted', true), '')::int as inserted from ("
        } else {
            ", null::int as inserted from ("
        });
        match self.output.handler {
            // Without a body `select` is not evaluated, so unknown columns in it are no error.
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
            // The planner cannot estimate the result of a function.
            requested: preferences.count.map(|count| match count {
                Count::Planned => Count::Planned,
                Count::Exact | Count::Estimated => Count::Exact,
            }),
            max_rows: config.max_rows,
            range,
        };
        let page = if self.routine.returns.is_set {
            Page::new(&self.read, self.table)
        } else {
            Page::new(&self.read, self.table).with_one_row()
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

/// How the total is counted.
struct Counts {
    requested: Option<Count>,
    max_rows: Option<i64>,
    range: RowRange,
}

impl<'a> Sql<'a> {
    /// Adds the CTE of the total. Returns the total's expression, or `None` if the page has all
    /// rows.
    fn count_rows(&mut self, counts: &Counts, read: &ReadNode<'a>) -> Option<&'static str> {
        let limits_count = match counts.requested {
            None | Some(Count::Planned) => return Some("null::bigint"),
            Some(Count::Exact) => false,
            Some(Count::Estimated) => true,
        };
        if counts.max_rows.is_none() && counts.range.is_all() {
            return None;
        }
        self.push(", pgrst_source_count as (");
        self.count(read, None);
        // One more than `db-max-rows` is enough to see that there are more.
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

    /// The call of `db-pre-request`.
    pub(crate) fn pre_request(function: &QualifiedName) -> Self {
        let mut sql = Self::new();
        sql.push("select ").name(function).push("()");
        sql
    }
}
