//! Transactions with local settings: the one way in which services work as a caller.
//!
//! BEGIN, the settings, the statements and COMMIT leave in one network flush, so that a request
//! costs one round trip. If any of them fails, those after it are skipped, and the transaction is
//! rolled back in a second one.
//!
//! A statement serves the role that prepared it, because Postgres checks some rights (on schemas)
//! only when it parses. So it is prepared inside the transaction. That costs a round trip more
//! where the types of its parameters must be known first; [`Literal`]s need none.

use postgres_types::ToSql;
use tokio_postgres::error::SqlState;

use crate::{
    DbError, Literal, LocalSettings, PgError, Pool, PooledConnection, Row,
    wire::{Common, Connection, Familiarity, Pipeline, Reply, Status},
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

    /// A statement whose text a request made. Unless `may_prepare`, it never is, nor is anything
    /// else of its transaction.
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
        let mut connection = self.get().await?;
        let whole = Whole {
            begin,
            settings,
            steps,
            end: Some(end),
        };
        whole.run(connection.connection()).await
    }

    /// Opens a transaction with `settings` whose first statements leave in the same flush.
    pub async fn begin(
        &self,
        begin: Begin,
        settings: &LocalSettings<'_>,
        steps: &[Step<'_>],
    ) -> Result<(OpenTransaction, Vec<Vec<Row>>), DbError> {
        let mut connection = self.get().await?;
        let whole = Whole {
            begin,
            settings,
            steps,
            end: None,
        };
        let rows = whole.run(connection.connection()).await?;
        let transaction = OpenTransaction {
            connection,
            role: settings.role().to_owned(),
        };
        Ok((transaction, rows))
    }
}

/// A transaction that goes on after its first statements. Dropped, it is rolled back.
pub struct OpenTransaction {
    connection: PooledConnection,
    /// As whom it runs; empty for the login role itself.
    role: String,
}

impl OpenTransaction {
    /// Runs one more statement.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        Ok(self.run(sql, params).await?.rows)
    }

    /// Runs one more statement; gives the number of rows that it touched.
    pub async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        Ok(self.run(sql, params).await?.touched)
    }

    async fn run(&mut self, sql: &str, params: Params<'_>) -> Result<Reply, DbError> {
        let connection = self.connection.connection();
        connection.run(&self.role, sql, params).await
    }

    /// Makes the changes last; deferred constraints may still refuse here.
    pub async fn commit(mut self) -> Result<(), DbError> {
        self.connection.batch_execute("commit").await
    }

    /// Undoes the changes.
    pub async fn rollback(mut self) -> Result<(), DbError> {
        self.connection.batch_execute("rollback").await
    }
}

/// A transaction from its beginning to its end, unless it is to stay open.
struct Whole<'a> {
    begin: Begin,
    settings: &'a LocalSettings<'a>,
    steps: &'a [Step<'a>],
    end: Option<End>,
}

impl Whole<'_> {
    /// Once more where the server refused to run a statement because the schema has changed since
    /// it was prepared. What a statement says that ran is final: it may have done more than a
    /// rollback undoes.
    async fn run(&self, connection: &mut Connection) -> Result<Vec<Vec<Row>>, DbError> {
        match self.run_or_undo(connection).await {
            Err(DbError::Postgres(error)) if connection.refused_prepared() && is_stale(&error) => {
                connection.forget_statements();
                self.run_or_undo(connection).await
            }
            outcome => outcome,
        }
    }

    async fn run_or_undo(&self, connection: &mut Connection) -> Result<Vec<Vec<Row>>, DbError> {
        let outcome = self.attempt(connection).await;
        if outcome.is_err() && connection.status() == Status::InTransaction {
            connection.batch_execute("rollback").await?;
        }
        outcome
    }

    async fn attempt(&self, connection: &mut Connection) -> Result<Vec<Vec<Row>>, DbError> {
        let role = self.settings.role();
        let mut done = Vec::new();
        let mut pipeline = self.pipeline(connection);
        pipeline.common(Common::begin(self.begin))?;
        pipeline.settings(self.settings)?;
        for step in self.steps {
            if step.needs_types(&mut pipeline, role) {
                pipeline.prepare(role, step.sql)?;
                done.extend(pipeline.run().await?);
                pipeline = self.pipeline(connection);
            }
            step.queue(&mut pipeline, role)?;
        }
        match self.end {
            None => {}
            Some(End::Commit) => pipeline.common(Common::COMMIT)?,
            Some(End::Rollback) => {
                pipeline.common(Common::CHECK_CONSTRAINTS)?;
                pipeline.common(Common::ROLLBACK)?;
            }
        }
        done.extend(pipeline.run().await?);
        Ok(done.into_iter().map(|reply| reply.rows).collect())
    }

    fn pipeline<'c>(&self, connection: &'c mut Connection) -> Pipeline<'c> {
        match self.steps.iter().all(Step::may_prepare) {
            true => connection.pipeline(),
            false => connection.pipeline().without_names(),
        }
    }
}

impl Step<'_> {
    fn may_prepare(&self) -> bool {
        match self.params {
            StepParams::Typed(_) => true,
            StepParams::Literals { may_prepare, .. } => may_prepare,
        }
    }

    /// Whether the server must be asked about the parameters before values can be sent.
    fn needs_types(&self, pipeline: &mut Pipeline<'_>, role: &str) -> bool {
        let is_typed = matches!(self.params, StepParams::Typed(_));
        is_typed && !matches!(pipeline.recall(role, self.sql), Familiarity::Prepared(_))
    }

    fn queue(&self, pipeline: &mut Pipeline<'_>, role: &str) -> Result<(), DbError> {
        let sql = self.sql;
        let (values, may_prepare) = match self.params {
            StepParams::Typed(params) => {
                return match pipeline.recall(role, sql) {
                    Familiarity::Prepared(prepared) => pipeline.typed(&prepared, params),
                    Familiarity::New | Familiarity::SeenOnce => Err(DbError::Misuse(
                        "the statement was forgotten at once".to_owned(),
                    )),
                };
            }
            StepParams::Literals {
                values,
                may_prepare,
            } => (values, may_prepare),
        };
        if !may_prepare {
            return pipeline.one_shot(sql, values);
        }
        match pipeline.recall(role, sql) {
            Familiarity::Prepared(prepared) => pipeline.literals(&prepared, values),
            Familiarity::SeenOnce => pipeline.prepared_literals(role, sql, values),
            Familiarity::New => {
                pipeline.remember(role, sql);
                pipeline.one_shot(sql, values)
            }
        }
    }
}

/// What a prepared statement answers when the session has discarded it, when its result would have
/// another type now, or when an operator that it chose does not take the column's new type.
fn is_stale(error: &PgError) -> bool {
    let is_changed = error.code == SqlState::FEATURE_NOT_SUPPORTED
        && error.routine.as_deref() == Some("RevalidateCachedQuery");
    is_changed
        || error.code == SqlState::INVALID_SQL_STATEMENT_NAME
        || error.code == SqlState::UNDEFINED_FUNCTION
        || error.code == SqlState::DATATYPE_MISMATCH
}
