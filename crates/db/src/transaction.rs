//! Transactions with local settings: the one way in which services work as a caller.
//!
//! BEGIN, the settings, the statements and COMMIT leave in one network flush, so that a request
//! costs one round trip. If any of them fails, those after it fail with 25P02 and the COMMIT acts
//! as a ROLLBACK; only the first error is reported.
//!
//! A statement serves the role that prepared it, because Postgres checks some rights (on schemas)
//! only when it parses. So it is prepared inside the transaction, which costs one round trip more
//! when a connection first sees it; statements of [`Literal`]s go out unprepared that first time.

use futures_util::{TryStreamExt, future::join_all, pin_mut};
use postgres_types::ToSql;
use tokio_postgres::{Row, Statement, error::SqlState};

use crate::{
    DbError, Literal, PgError, Pool,
    lease::{
        Lease,
        State::{Free, InTransaction, Working},
    },
    local_settings::{LocalSettings, statement_for},
    pool::{Familiarity, PreparingClient},
};

/// Parameters of a statement.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Postgres refuses every write.
    ReadOnly,
    /// The everyday kind.
    #[default]
    ReadWrite,
}

/// What a transaction sees of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Isolation {
    /// The everyday level.
    #[default]
    ReadCommitted,
    /// One snapshot for all statements.
    RepeatableRead,
    /// As if transactions ran one after the other.
    Serializable,
}

/// How a transaction begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Begin {
    /// Whether it may write.
    pub access: Access,
    /// What it sees.
    pub isolation: Isolation,
}

impl From<Access> for Begin {
    fn from(access: Access) -> Self {
        Self {
            access,
            isolation: Isolation::default(),
        }
    }
}

impl Begin {
    fn statement(self) -> &'static str {
        use {Access::*, Isolation::*};
        match (self.isolation, self.access) {
            (ReadCommitted, ReadOnly) => "begin isolation level read committed read only",
            (ReadCommitted, ReadWrite) => "begin isolation level read committed read write",
            (RepeatableRead, ReadOnly) => "begin isolation level repeatable read read only",
            (RepeatableRead, ReadWrite) => "begin isolation level repeatable read read write",
            (Serializable, ReadOnly) => "begin isolation level serializable read only",
            (Serializable, ReadWrite) => "begin isolation level serializable read write",
        }
    }
}

/// One statement of a transaction.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    sql: &'a str,
    params: StepParams<'a>,
}

#[derive(Clone, Copy)]
enum StepParams<'a> {
    /// The statement is prepared, then bound to values of its types.
    Typed(Params<'a>),
    /// Prepared from the second time on, or never.
    Literals {
        values: &'a [Literal<'a>],
        may_prepare: bool,
    },
}

impl<'a> Step<'a> {
    /// A statement with values of Rust types.
    pub fn typed(sql: &'a str, params: Params<'a>) -> Self {
        let params = StepParams::Typed(params);
        Self { sql, params }
    }

    /// A statement whose text a request made. Unless `may_prepare`, it never is.
    pub fn literals(sql: &'a str, values: &'a [Literal<'a>], may_prepare: bool) -> Self {
        let params = StepParams::Literals {
            values,
            may_prepare,
        };
        Self { sql, params }
    }
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its changes last.
    Commit,
    /// Its changes are undone, after deferred constraints had their say.
    Rollback,
}

impl Pool {
    /// Runs one statement in its own transaction with `settings`, all in one flush.
    pub async fn run(
        &self,
        access: Access,
        settings: &LocalSettings<'_>,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, DbError> {
        let step = [Step::typed(sql, params)];
        let mut rows = self
            .run_steps(access.into(), settings, &step, End::Commit)
            .await?;
        Ok(rows.pop().unwrap_or_default())
    }

    /// Runs statements in one transaction; gives the rows of each.
    pub async fn run_steps(
        &self,
        begin: Begin,
        settings: &LocalSettings<'_>,
        steps: &[Step<'_>],
        end: End,
    ) -> Result<Vec<Vec<Row>>, DbError> {
        let mut lease = Lease::take(self).await?;
        lease.transact(begin, settings, steps, Some(end)).await
    }

    /// Opens a transaction with `settings` whose first statements leave in the same flush.
    pub async fn begin(
        &self,
        begin: Begin,
        settings: &LocalSettings<'_>,
        steps: &[Step<'_>],
    ) -> Result<(OpenTransaction, Vec<Vec<Row>>), DbError> {
        let mut lease = Lease::take(self).await?;
        let rows = lease.transact(begin, settings, steps, None).await?;
        Ok((OpenTransaction { lease }, rows))
    }
}

/// A transaction that goes on after its first statements. Dropped, it is rolled back.
pub struct OpenTransaction {
    lease: Lease,
}

impl OpenTransaction {
    /// Runs one more statement.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.lease.state = Working;
        let rows = async {
            let client = self.lease.client();
            let statement = client.prepare_for_role(&self.lease.role, sql).await?;
            Ok(client.query(&statement, params).await?)
        };
        let rows = rows.await;
        self.lease.state = InTransaction;
        rows
    }

    /// Runs one more statement; gives the number of rows that it touched.
    pub async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        self.lease.state = Working;
        let touched = async {
            let client = self.lease.client();
            let statement = client.prepare_for_role(&self.lease.role, sql).await?;
            Ok(client.execute(&statement, params).await?)
        };
        let touched = touched.await;
        self.lease.state = InTransaction;
        touched
    }

    /// Makes the changes last; deferred constraints may still refuse here.
    pub async fn commit(self) -> Result<(), DbError> {
        self.end("commit").await
    }

    /// Undoes the changes.
    pub async fn rollback(self) -> Result<(), DbError> {
        self.end("rollback").await
    }

    async fn end(mut self, statement: &str) -> Result<(), DbError> {
        self.lease.state = Working;
        let ended = self.lease.client().batch_execute(statement).await;
        // After an answer, good or bad, Postgres has left the transaction.
        self.lease.state = Free;
        Ok(ended?)
    }
}

impl Lease {
    /// The whole transaction; once more where it failed because the schema has changed since a
    /// statement was prepared. Nothing of the first attempt remains, so that is no harm.
    async fn transact(
        &mut self,
        begin: Begin,
        settings: &LocalSettings<'_>,
        steps: &[Step<'_>],
        end: Option<End>,
    ) -> Result<Vec<Vec<Row>>, DbError> {
        match self.attempt(begin, settings, steps, end).await {
            Err(DbError::Postgres(error)) if is_stale(&error) && self.has_prepared(steps) => {
                self.client().forget_statements();
                if self.state == InTransaction {
                    self.state = Working;
                    self.client().batch_execute("rollback").await?;
                    self.state = Free;
                }
                self.attempt(begin, settings, steps, end).await
            }
            outcome => outcome,
        }
    }

    fn has_prepared(&self, steps: &[Step<'_>]) -> bool {
        steps.iter().any(|step| {
            let known = self.client().recall(&self.role, step.sql);
            matches!(known, Familiarity::Prepared(_))
        })
    }

    /// BEGIN, settings, statements and, unless the transaction is to stay open, its end.
    async fn attempt(
        &mut self,
        begin: Begin,
        settings: &LocalSettings<'_>,
        steps: &[Step<'_>],
        end: Option<End>,
    ) -> Result<Vec<Vec<Row>>, DbError> {
        settings.role().clone_into(&mut self.role);
        let apply = match settings.len() {
            0 => None,
            count => Some(self.client().prepare_cached(&statement_for(count)).await?),
        };
        self.state = Working;
        let client = self.client();
        let role = self.role.as_str();
        let open = open(client, begin, settings, apply.as_ref());
        let ready: Option<Vec<_>> = steps.iter().map(|step| step.ready(client, role)).collect();
        // The driver sends a request when its future is first polled, and joins poll in order;
        // all of them are then waited for, whatever the first ones answer.
        let (outcome, is_ended) = match ready {
            Some(ready) => {
                let run = join_all(ready.iter().map(|ready| ready.run(client)));
                let (opened, rows, ended) = futures_util::join!(open, run, finish(client, end));
                let outcome = opened.and_then(|()| {
                    let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
                    ended.map(|()| rows)
                });
                (outcome, end.is_some())
            }
            None => {
                let outcome = one_by_one(client, role, open, steps, end).await;
                // After an error the end may not have been reached.
                let is_ended = outcome.is_ok() && end.is_some();
                (outcome, is_ended)
            }
        };
        self.state = match is_ended {
            true => Free,
            false => InTransaction,
        };
        outcome
    }
}

/// What every transaction starts with.
async fn open(
    client: &PreparingClient,
    begin: Begin,
    settings: &LocalSettings<'_>,
    apply: Option<&Statement>,
) -> Result<(), DbError> {
    let begin = client.batch_execute(begin.statement());
    let apply = async {
        let Some(statement) = apply else {
            return Ok(());
        };
        let rows = client.query_raw(statement, settings.params()).await?;
        pin_mut!(rows);
        while rows.try_next().await?.is_some() {}
        Ok(())
    };
    let (begun, applied) = futures_util::join!(begin, apply);
    begun?;
    applied
}

/// Statements of which some must be prepared first. The first one is, in the flush that opens
/// the transaction.
async fn one_by_one(
    client: &PreparingClient,
    role: &str,
    open: impl Future<Output = Result<(), DbError>>,
    steps: &[Step<'_>],
    end: Option<End>,
) -> Result<Vec<Vec<Row>>, DbError> {
    let Some((first, rest)) = steps.split_first() else {
        open.await?;
        finish(client, end).await?;
        return Ok(Vec::new());
    };
    let (opened, prepared) = futures_util::join!(open, first.prepare(client, role));
    opened?;
    let prepared = prepared?;
    if rest.is_empty() {
        let (rows, ended) = futures_util::join!(prepared.run(client), finish(client, end));
        let rows = rows?;
        ended?;
        return Ok(vec![rows]);
    }
    let mut all = vec![prepared.run(client).await?];
    for step in rest {
        all.push(step.prepare(client, role).await?.run(client).await?);
    }
    finish(client, end).await?;
    Ok(all)
}

async fn finish(client: &PreparingClient, end: Option<End>) -> Result<(), DbError> {
    match end {
        None => Ok(()),
        Some(End::Commit) => Ok(client.batch_execute("commit").await?),
        Some(End::Rollback) => {
            let check = client.batch_execute("set constraints all immediate");
            let roll_back = client.batch_execute("rollback");
            let (checked, rolled_back) = futures_util::join!(check, roll_back);
            rolled_back?;
            Ok(checked?)
        }
    }
}

/// A statement that can be sent at once.
enum Ready<'a> {
    Prepared(Statement, StepParams<'a>),
    OneShot(&'a str, &'a [Literal<'a>]),
}

impl<'a> Step<'a> {
    /// The statement, if nothing need be prepared first.
    fn ready(&self, client: &PreparingClient, role: &str) -> Option<Ready<'a>> {
        if let StepParams::Literals {
            values,
            may_prepare: false,
        } = self.params
        {
            return Some(Ready::OneShot(self.sql, values));
        }
        match (client.recall(role, self.sql), self.params) {
            (Familiarity::Prepared(statement), params) => Some(Ready::Prepared(statement, params)),
            (Familiarity::New, StepParams::Literals { values, .. }) => {
                client.remember(role, self.sql);
                Some(Ready::OneShot(self.sql, values))
            }
            (Familiarity::New | Familiarity::SeenOnce, _) => None,
        }
    }

    async fn prepare(&self, client: &PreparingClient, role: &str) -> Result<Ready<'a>, DbError> {
        if let Some(ready) = self.ready(client, role) {
            return Ok(ready);
        }
        let statement = client.prepare_for_role(role, self.sql).await?;
        Ok(Ready::Prepared(statement, self.params))
    }
}

impl Ready<'_> {
    async fn run(&self, client: &PreparingClient) -> Result<Vec<Row>, DbError> {
        let rows = match self {
            Self::Prepared(statement, StepParams::Typed(params)) => {
                return Ok(client.query(statement, params).await?);
            }
            Self::Prepared(statement, StepParams::Literals { values, .. }) => {
                client.query_raw(statement, values.iter()).await?
            }
            Self::OneShot(sql, values) => {
                let params = values.iter().map(|value| (value, value.declared_type()));
                client.query_typed_raw(sql, params).await?
            }
        };
        Ok(rows.try_collect().await?)
    }
}

/// What a prepared statement answers when its result would have another type now, when the session
/// has discarded it, or when an operator that it chose does not take the column's new type.
fn is_stale(error: &PgError) -> bool {
    let is_changed = error.code == SqlState::FEATURE_NOT_SUPPORTED
        && error.routine.as_deref() == Some("RevalidateCachedQuery");
    is_changed
        || error.code == SqlState::INVALID_SQL_STATEMENT_NAME
        || error.code == SqlState::UNDEFINED_FUNCTION
        || error.code == SqlState::DATATYPE_MISMATCH
}
