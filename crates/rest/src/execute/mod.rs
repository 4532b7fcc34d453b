//! One transaction as the caller: settings, pre-request function, statement, commit or rollback
//! (rest contract §4.2, §6.2).

mod page;
mod request_settings;

use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, Method};
use plinth_db::{DbError, End, Isolation as TransactionIsolation, Literal, Row, Step};
use plinth_project::{AsCaller, ProjectDb};

use crate::{
    RestConfig, RestError,
    auth::Identity,
    metrics::RestMetrics,
    plan::{CallPlan, MutatePlan, ReadPlan},
    request::{
        ApiRequest, Mutation,
        preferences::{Count, TransactionEnd},
    },
    schema_cache::Isolation,
    snapshot::Snapshot,
    sql::{Sql, Statements},
};
use page::{page, plan_text, planned_rows};
use request_settings::{cookies_as_json, headers_as_json};

pub(crate) use page::Page;

/// The parts of the HTTP request that SQL can read as `request.*` settings.
pub(crate) struct RequestInfo<'a> {
    pub(crate) method: &'a Method,
    /// Raw, without the mount point.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a HeaderMap,
}

/// The result of the transaction.
#[derive(Debug)]
pub(crate) enum Outcome {
    Rows(Page),
    /// The text of an execution plan.
    Plan(String),
}

/// What the transaction of a request needs.
pub(crate) struct Execution<'a> {
    pub(crate) db: &'a ProjectDb,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) identity: &'a Identity,
    pub(crate) request: &'a ApiRequest,
    pub(crate) http: RequestInfo<'a>,
    pub(crate) metrics: &'a RestMetrics,
    /// Collects the statements for `log-query`.
    pub(crate) executed: &'a Mutex<Vec<String>>,
}

impl Execution<'_> {
    pub(crate) async fn read(&self, plan: &ReadPlan<'_>) -> Result<Outcome, RestError> {
        let statements = plan.to_sql(
            &self.request.preferences,
            self.config(),
            self.request.root_range,
        );
        let transaction = self.transaction(None).read_only();
        // Nothing was changed, so the check may come after the commit.
        let outcome = self
            .run(transaction, &statements, plan.output.explain().is_some())
            .await?;
        if let Outcome::Rows(page) = &outcome
            && plan.output.is_singular()
        {
            check_singular(page)?;
        }
        Ok(outcome)
    }

    pub(crate) async fn mutate(&self, plan: &MutatePlan<'_>) -> Result<Outcome, RestError> {
        let preferences = &self.request.preferences;
        let statements = plan.to_sql(preferences);
        let is_singular = plan.output.is_singular();
        let max_affected = preferences.max_affected.filter(|_| preferences.is_strict());
        let check = |page: &Page| match plan.mutation {
            Mutation::Upsert if page.rows != 1 => Err(RestError::PutMismatch),
            Mutation::Upsert => Ok(()),
            Mutation::Insert if is_singular => check_singular(page),
            Mutation::Insert => Ok(()),
            Mutation::Update | Mutation::Delete => {
                if is_singular {
                    check_singular(page)?;
                }
                check_affected(page, max_affected)
            }
        };
        let needs_check =
            is_singular || plan.mutation == Mutation::Upsert || max_affected.is_some();
        let explains = plan.output.explain().is_some();
        let transaction = self.transaction(None);
        if needs_check && !explains && !self.rolls_back() {
            self.run_checked(transaction, &statements, check).await
        } else {
            let outcome = self.run(transaction, &statements, explains).await?;
            if let Outcome::Rows(page) = &outcome {
                check(page)?;
            }
            Ok(outcome)
        }
    }

    pub(crate) async fn call(&self, plan: &CallPlan<'_>) -> Result<Outcome, RestError> {
        let preferences = &self.request.preferences;
        let statements = plan.to_sql(preferences, self.config(), self.request.root_range);
        let is_singular = plan.output.is_singular();
        let max_affected = preferences.max_affected.filter(|_| preferences.is_strict());
        let check = |page: &Page| {
            if is_singular {
                check_singular(page)?;
            }
            check_affected(page, max_affected)
        };
        let needs_check = is_singular || max_affected.is_some();
        let explains = plan.output.explain().is_some();
        let mut transaction = self.transaction(Some(plan));
        if plan.is_read_only() {
            transaction = transaction.read_only();
        }
        if needs_check && !explains && !plan.is_read_only() && !self.rolls_back() {
            self.run_checked(transaction, &statements, check).await
        } else {
            let outcome = self.run(transaction, &statements, explains).await?;
            if let Outcome::Rows(page) = &outcome {
                check(page)?;
            }
            Ok(outcome)
        }
    }

    /// Runs a statement of our own as the caller, such as for the OpenAPI document.
    pub(crate) async fn query(
        &self,
        sql: &str,
        values: &[Literal<'_>],
    ) -> Result<Vec<Row>, RestError> {
        let transaction = self.transaction(None).read_only();
        self.record_settings(&transaction);
        let pre_request = self.pre_request();
        let pre_request = pre_request.as_ref().map(|sql| (sql.text(), sql.values()));
        let all = pre_request.into_iter().chain([(sql, values)]);
        let steps: Vec<Step<'_>> = all.map(|(sql, values)| self.step(sql, values)).collect();
        let rows = transaction.run(&steps, End::Commit).await;
        let mut rows = rows.map_err(|error| self.rest_error(error))?;
        Ok(rows.pop().unwrap_or_default())
    }

    async fn run(
        &self,
        transaction: AsCaller<'_>,
        statements: &Statements<'_>,
        explains: bool,
    ) -> Result<Outcome, RestError> {
        self.record_settings(&transaction);
        let pre_request = self.pre_request();
        let end = if self.rolls_back() {
            End::Rollback
        } else {
            End::Commit
        };
        let mut rows = transaction
            .run(&self.steps(pre_request.as_ref(), statements), end)
            .await
            .map_err(|error| self.rest_error(error))?
            .into_iter()
            .skip(usize::from(pre_request.is_some()));
        let main = rows.next().unwrap_or_default();
        if explains {
            return Ok(Outcome::Plan(plan_text(&main)));
        }
        let mut page = page(main)?;
        if let Some(explained) = rows.next() {
            page.total = self.with_estimate(page.total, planned_rows(&explained));
        }
        Ok(Outcome::Rows(page))
    }

    /// For changes that are rolled back if the check of the result fails.
    async fn run_checked(
        &self,
        transaction: AsCaller<'_>,
        statements: &Statements<'_>,
        check: impl FnOnce(&Page) -> Result<(), RestError>,
    ) -> Result<Outcome, RestError> {
        self.record_settings(&transaction);
        let pre_request = self.pre_request();
        let (transaction, mut rows) = transaction
            .begin(&self.steps(pre_request.as_ref(), statements))
            .await
            .map_err(|error| self.rest_error(error))?;
        let page = page(rows.pop().unwrap_or_default())?;
        match check(&page) {
            Ok(()) => transaction.commit().await,
            Err(error) => {
                // Whether the rollback succeeds does not change the response.
                _ = transaction.rollback().await;
                return Err(error);
            }
        }
        .map_err(|error| self.rest_error(error))?;
        Ok(Outcome::Rows(page))
    }

    fn steps<'s>(
        &self,
        pre_request: Option<&'s Sql<'s>>,
        statements: &'s Statements<'s>,
    ) -> Vec<Step<'s>> {
        let all = pre_request
            .into_iter()
            .chain([&statements.main])
            .chain(&statements.explain);
        all.map(|sql| self.step(sql.text(), sql.values())).collect()
    }

    fn record_settings(&self, transaction: &AsCaller<'_>) {
        if self.config().query_log.is_some() {
            self.record(&transaction.settings().statement());
        }
    }

    /// For `log-query`: the text with placeholders, without values.
    fn record(&self, sql: &str) {
        if self.config().query_log.is_some() {
            let mut executed = self.executed.lock().unwrap_or_else(PoisonError::into_inner);
            executed.push(sql.to_owned());
        }
    }

    fn step<'s>(&self, sql: &'s str, values: &'s [Literal<'s>]) -> Step<'s> {
        self.record(sql);
        Step::literals(sql, values, self.config().prepared_statements)
    }

    fn pre_request(&self) -> Option<Sql<'static>> {
        self.config().pre_request.as_ref().map(Sql::pre_request)
    }

    /// Settings in the order of the contract: those that the login role must make, the role, the
    /// others.
    fn transaction<'s>(&'s self, call: Option<&'s CallPlan<'_>>) -> AsCaller<'s> {
        let (config, request) = (self.config(), self.request);
        let caller = &self.identity.caller;
        let role = self.snapshot.roles.get(caller.role());
        let mut transaction = self
            .db
            .as_caller(caller)
            .setting_before_role("search_path", self.snapshot.search_path(&request.schema));
        for (name, value) in role.into_iter().flat_map(|role| &role.settings) {
            transaction = transaction.setting_before_role(name.as_str(), value.as_str());
        }
        transaction = transaction
            .setting("request.method", self.http.method.as_str())
            .setting("request.path", self.http.path)
            .setting("request.headers", headers_as_json(self.http.headers))
            .setting("request.cookies", cookies_as_json(self.http.headers));
        if let Some(timezone) = &request.preferences.timezone {
            transaction = transaction.setting("timezone", timezone.as_str());
        }
        for (name, value) in call.into_iter().flat_map(|call| &call.routine.settings) {
            transaction = transaction.setting(&**name, &**value);
        }
        for (name, value) in &config.app_settings {
            transaction = transaction.setting(name.as_str(), value.as_str());
        }
        let isolation = call
            .and_then(|call| call.routine.isolation)
            .or_else(|| role.and_then(|role| role.isolation));
        transaction.isolation(match isolation {
            None | Some(Isolation::ReadCommitted) => TransactionIsolation::ReadCommitted,
            Some(Isolation::RepeatableRead) => TransactionIsolation::RepeatableRead,
            Some(Isolation::Serializable) => TransactionIsolation::Serializable,
        })
    }

    fn rolls_back(&self) -> bool {
        match self.request.preferences.transaction {
            Some(TransactionEnd::Commit) => false,
            Some(TransactionEnd::Rollback) => true,
            None => self.config().tx_end.rolls_back,
        }
    }

    /// `count=estimated`: the exact count up to `db-max-rows`, beyond that the planner's estimate.
    fn with_estimate(&self, counted: Option<i64>, planned: Option<i64>) -> Option<i64> {
        match self.request.preferences.count {
            Some(Count::Planned) => planned,
            Some(Count::Estimated) => match (counted, self.config().max_rows) {
                (Some(counted), Some(max_rows)) if counted <= max_rows => Some(counted),
                _ => counted.max(planned),
            },
            Some(Count::Exact) | None => counted,
        }
    }

    /// Also counts pool timeouts.
    fn rest_error(&self, error: DbError) -> RestError {
        if matches!(error, DbError::PoolTimeout) {
            self.metrics.count_pool_timeout();
        }
        RestError::from_database(error, self.identity.is_anonymous)
    }

    fn config(&self) -> &RestConfig {
        &self.snapshot.config
    }
}

fn check_singular(page: &Page) -> Result<(), RestError> {
    match page.rows {
        1 => Ok(()),
        rows => Err(RestError::NotSingular(rows)),
    }
}

fn check_affected(page: &Page, max_affected: Option<i64>) -> Result<(), RestError> {
    match max_affected {
        Some(max) if page.rows > max => Err(RestError::MaxAffected(page.rows)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
