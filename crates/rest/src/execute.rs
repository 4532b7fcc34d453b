//! One transaction as the caller: settings, pre-request function, the statement, its end
//! (rest contract §4.2, §6.2).

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use plinth_db::{ColumnIndex, DbError, End, Isolation as TransactionIsolation, Literal, Row, Step};
use plinth_project::{AsCaller, ProjectDb};
use postgres_types::Type;
use serde_json::{Map, Value};

use crate::{
    RestConfig, RestError,
    auth::Identity,
    numbers::Numbers,
    plan::{CallPlan, MutatePlan, ReadPlan},
    request::{
        ApiRequest, Mutation,
        preferences::{Count, TransactionEnd},
    },
    schema_cache::Isolation,
    snapshot::Snapshot,
    sql::{Sql, Statements},
};

/// What a request told the database about itself.
pub(crate) struct Origin<'a> {
    pub(crate) method: &'a Method,
    /// Behind the mount point, as it was sent.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a HeaderMap,
}

/// What the database answered.
#[derive(Debug)]
pub(crate) enum Outcome {
    Rows(Page),
    /// The text of an execution plan.
    Plan(String),
}

#[derive(Debug)]
pub(crate) struct Page {
    /// All rows there are, where that was asked for.
    pub(crate) total: Option<i64>,
    /// Rows of this page, or rows changed.
    pub(crate) rows: i64,
    /// The inserted row as JSON.
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
    pub(crate) response_headers: Option<String>,
    pub(crate) response_status: Option<String>,
    /// Rows that an upsert made anew.
    pub(crate) inserted: Option<i32>,
}

/// Everything that running needs.
pub(crate) struct Execution<'a> {
    pub(crate) db: &'a ProjectDb,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) identity: &'a Identity,
    pub(crate) request: &'a ApiRequest,
    pub(crate) origin: Origin<'a>,
    pub(crate) numbers: &'a Numbers,
    /// Statements that were sent, where they are to be logged.
    pub(crate) sent: &'a Mutex<Vec<String>>,
}

impl Execution<'_> {
    pub(crate) async fn read(&self, plan: &ReadPlan<'_>) -> Result<Outcome, RestError> {
        let statements = plan.to_sql(
            &self.request.preferences,
            self.config(),
            self.request.root_range,
        );
        let transaction = self.transaction(None).read_only();
        // Nothing was changed, so it does not matter that the end comes before the checks.
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
        match needs_check && !explains && !self.rolls_back() {
            true => self.run_checked(transaction, &statements, check).await,
            false => {
                let outcome = self.run(transaction, &statements, explains).await?;
                if let Outcome::Rows(page) = &outcome {
                    check(page)?;
                }
                Ok(outcome)
            }
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
        match needs_check && !explains && !plan.is_read_only() && !self.rolls_back() {
            true => self.run_checked(transaction, &statements, check).await,
            false => {
                let outcome = self.run(transaction, &statements, explains).await?;
                if let Outcome::Rows(page) = &outcome {
                    check(page)?;
                }
                Ok(outcome)
            }
        }
    }

    /// A statement of our own, such as what the OpenAPI document needs.
    pub(crate) async fn look_up(
        &self,
        sql: &str,
        values: &[Literal<'_>],
    ) -> Result<Vec<Row>, RestError> {
        let transaction = self.transaction(None).read_only();
        self.note_settings(&transaction);
        let pre_request = self.pre_request();
        let pre_request = pre_request.as_ref().map(|sql| (sql.text(), sql.values()));
        let all = pre_request.into_iter().chain([(sql, values)]);
        let steps: Vec<Step<'_>> = all.map(|(sql, values)| self.step(sql, values)).collect();
        let rows = transaction.run(&steps, End::Commit).await;
        let mut rows = rows.map_err(|error| self.refused(error))?;
        Ok(rows.pop().unwrap_or_default())
    }

    async fn run(
        &self,
        transaction: AsCaller<'_>,
        statements: &Statements<'_>,
        explains: bool,
    ) -> Result<Outcome, RestError> {
        self.note_settings(&transaction);
        let pre_request = self.pre_request();
        let end = match self.rolls_back() {
            true => End::Rollback,
            false => End::Commit,
        };
        let mut rows = transaction
            .run(&self.steps(pre_request.as_ref(), statements), end)
            .await
            .map_err(|error| self.refused(error))?
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

    /// A change that may have to be undone once its extent is known.
    async fn run_checked(
        &self,
        transaction: AsCaller<'_>,
        statements: &Statements<'_>,
        check: impl FnOnce(&Page) -> Result<(), RestError>,
    ) -> Result<Outcome, RestError> {
        self.note_settings(&transaction);
        let pre_request = self.pre_request();
        let (transaction, mut rows) = transaction
            .begin(&self.steps(pre_request.as_ref(), statements))
            .await
            .map_err(|error| self.refused(error))?;
        let page = page(rows.pop().unwrap_or_default())?;
        match check(&page) {
            Ok(()) => transaction.commit().await,
            Err(refusal) => {
                // Its answer does not change ours.
                _ = transaction.rollback().await;
                return Err(refusal);
            }
        }
        .map_err(|error| self.refused(error))?;
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

    fn note_settings(&self, transaction: &AsCaller<'_>) {
        if self.config().query_log.is_some() {
            self.note(&transaction.settings().statement());
        }
    }

    /// Placeholders only: values are nobody's business.
    fn note(&self, sql: &str) {
        if self.config().query_log.is_some() {
            let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
            sent.push(sql.to_owned());
        }
    }

    fn step<'s>(&self, sql: &'s str, values: &'s [Literal<'s>]) -> Step<'s> {
        self.note(sql);
        Step::literals(sql, values, self.config().prepared_statements)
    }

    fn pre_request(&self) -> Option<Sql<'static>> {
        self.config().pre_request.as_ref().map(Sql::pre_request)
    }

    /// In the order that the contract gives: what the login role may set, the role, the rest.
    fn transaction<'s>(&'s self, call: Option<&'s CallPlan<'_>>) -> AsCaller<'s> {
        let (config, request) = (self.config(), self.request);
        let caller = &self.identity.caller;
        let role = self.snapshot.roles.of(caller.role());
        let mut transaction = self
            .db
            .as_caller(caller)
            .setting_before_role("search_path", self.snapshot.search_path(&request.schema));
        for (name, value) in role.into_iter().flat_map(|role| &role.settings) {
            transaction = transaction.setting_before_role(name.as_str(), value.as_str());
        }
        transaction = transaction
            .setting("request.method", self.origin.method.as_str())
            .setting("request.path", self.origin.path)
            .setting("request.headers", headers_as_json(self.origin.headers))
            .setting("request.cookies", cookies_as_json(self.origin.headers));
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

    /// An estimate is better than a count that was cut off.
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

    fn refused(&self, error: DbError) -> RestError {
        if matches!(error, DbError::PoolTimeout) {
            self.numbers.pool_timed_out();
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
        Some(most) if page.rows > most => Err(RestError::MaxAffected(page.rows)),
        _ => Ok(()),
    }
}

fn headers_as_json(headers: &HeaderMap) -> String {
    let mut json = Vec::with_capacity(1024);
    json.push(b'{');
    for name in headers.keys().filter(|name| *name != header::COOKIE) {
        // Of repeated headers the last one counts.
        let Some(value) = headers.get_all(name).iter().next_back() else {
            continue;
        };
        if json.len() > 1 {
            json.push(b',');
        }
        push_json(&mut json, name.as_str().as_bytes());
        json.push(b':');
        push_json(&mut json, value.as_bytes());
    }
    json.push(b'}');
    // All of it is text: what was not has been replaced.
    String::from_utf8(json).unwrap_or_default()
}

/// A text in quotes; hardly any header has something to escape.
fn push_json(json: &mut Vec<u8>, text: &[u8]) {
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) & (byte != b'"') & (byte != b'\\');
    // Looking at all of them takes less time than stopping at the first: it is done many at once.
    if text
        .iter()
        .fold(true, |plain, byte| plain & is_plain(*byte))
    {
        json.push(b'"');
        json.extend_from_slice(text);
        json.push(b'"');
    } else {
        let text = String::from_utf8_lossy(text);
        json.extend_from_slice(Value::from(text).to_string().as_bytes());
    }
}

fn cookies_as_json(headers: &HeaderMap) -> Cow<'static, str> {
    if !headers.contains_key(header::COOKIE) {
        return Cow::Borrowed("{}");
    }
    let mut object = Map::new();
    for header in headers.get_all(header::COOKIE) {
        let text = String::from_utf8_lossy(header.as_bytes());
        for pair in text.split(';') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = name.trim();
            if !name.is_empty() {
                object.insert(name.to_owned(), Value::String(value.trim().to_owned()));
            }
        }
    }
    Value::Object(object).to_string().into()
}

/// The one row that every statement gives. A database whose rules or triggers take it away
/// leaves nothing to show.
fn page(rows: Vec<Row>) -> Result<Page, RestError> {
    let Some(row) = rows.into_iter().next() else {
        return Ok(Page {
            total: None,
            rows: 0,
            location: None,
            body: Bytes::new(),
            response_headers: None,
            response_status: None,
            inserted: None,
        });
    };
    let unexpected = |error: DbError| RestError::UnexpectedResult(error.to_string());
    Ok(Page {
        total: row.try_get("total").map_err(unexpected)?,
        rows: row.try_get("rows").map_err(unexpected)?,
        location: match row
            .columns()
            .iter()
            .any(|column| column.name() == "location")
        {
            true => row.try_get("location").map_err(unexpected)?,
            false => None,
        },
        response_headers: row.try_get("response_headers").map_err(unexpected)?,
        response_status: row.try_get("response_status").map_err(unexpected)?,
        inserted: row.try_get("inserted").map_err(unexpected)?,
        body: body(&row, "body"),
    })
}

/// The bytes as they came from Postgres: not parsed, not copied.
fn body(row: &Row, column: impl ColumnIndex + Copy) -> Bytes {
    let bytes = row.raw(column).unwrap_or_default();
    match column.place(row.columns()) {
        Some(place) => without_version(row.columns()[place].type_(), bytes),
        None => bytes,
    }
}

/// The wire form of `jsonb` is its text behind a version byte.
fn without_version(ty: &Type, bytes: Bytes) -> Bytes {
    match *ty == Type::JSONB && !bytes.is_empty() {
        true => bytes.slice(1..),
        false => bytes,
    }
}

fn plan_text(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&String::from_utf8_lossy(&body(row, 0)));
        text.push('\n');
    }
    text
}

/// `Plan Rows` of an EXPLAIN in JSON.
fn planned_rows(rows: &[Row]) -> Option<i64> {
    let explained: Value = serde_json::from_slice(&body(rows.first()?, 0)).ok()?;
    explained.pointer("/0/Plan/Plan Rows")?.as_i64()
}

#[cfg(test)]
mod tests;
