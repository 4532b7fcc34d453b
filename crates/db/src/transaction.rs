//! Transactions with local settings, in which services act as a caller.
//!
//! BEGIN, the settings, the statements and COMMIT are sent in one network flush, so that a request
//! costs one round trip. If one fails, the server skips the rest, and the transaction is rolled back
//! in a second round trip.
//!
//! A statement is prepared per role and inside the transaction, because PostgreSQL checks some
//! privileges (on schemas) only when it parses. That costs another round trip where the parameter types
//! must be known first; [`Literal`]s need none.

use postgres_types::ToSql;
use tokio_postgres::error::SqlState;

use crate::{
    DbError, Literal, LocalSettings, PgError, Pool, PooledConnection, Row,
    wire::{CacheLookup, Common, Connection, Pipeline, Reply, Status},
};

/// Parameters of a statement.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Access mode of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// PostgreSQL rejects every write.
    ReadOnly,
    /// The default.
    #[default]
    ReadWrite,
}

/// Isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Isolation {
    /// The default.
    #[default]
    ReadCommitted,
    /// One snapshot for all statements.
    RepeatableRead,
    /// `SERIALIZABLE`.
    Serializable,
}

/// Modes of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Begin {
    /// The access mode.
    pub access: Access,
    /// The isolation level.
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
    /// Prepared first, then bound to values of its types.
    Typed(Params<'a>),
    /// Prepared at its second use, or never.
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

    /// A statement whose text comes from a request. Unless `may_prepare`, neither it nor anything else
    /// of its transaction is prepared by name.
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
    /// Keeps its changes.
    Commit,
    /// Undoes its changes, after checking deferred constraints.
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

    /// Runs statements in one transaction; returns the rows of each.
    pub async fn run_steps(
        &self,
        begin: Begin,
        settings: &LocalSettings<'_>,
        steps: &[Step<'_>],
        end: End,
    ) -> Result<Vec<Vec<Row>>, DbError> {
        let mut connection = self.get().await?;
        let whole = TransactionPlan {
            begin,
            settings,
            steps,
            end: Some(end),
        };
        whole.run(connection.connection()).await
    }

    /// Opens a transaction with `settings`; its first statements are sent in the same flush.
    pub async fn begin(
        &self,
        begin: Begin,
        settings: &LocalSettings<'_>,
        steps: &[Step<'_>],
    ) -> Result<(OpenTransaction, Vec<Vec<Row>>), DbError> {
        let mut connection = self.get().await?;
        let whole = TransactionPlan {
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

/// An open transaction. Dropping it rolls it back.
pub struct OpenTransaction {
    connection: PooledConnection,
    /// The current role; empty for the login role itself.
    role: String,
}

impl OpenTransaction {
    /// Runs one more statement.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        Ok(self.run(sql, params).await?.rows)
    }

    /// Runs one more statement; returns the number of affected rows.
    pub async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        Ok(self.run(sql, params).await?.affected)
    }

    /// Runs one more statement, whose text comes from a request, unprepared. The result's values are
    /// texts, whatever their types.
    pub async fn run_for_texts(
        &mut self,
        sql: &str,
        values: &[Literal<'_>],
    ) -> Result<TextReply, DbError> {
        let mut pipeline = self.connection.connection().pipeline();
        pipeline.one_shot_texts(sql, values)?;
        let reply = pipeline.run().await?.pop().unwrap_or_default();
        Ok(TextReply {
            rows: reply.rows,
            affected: reply.affected,
        })
    }

    /// Runs statements without parameters and results.
    pub async fn batch_execute(&mut self, sql: &str) -> Result<(), DbError> {
        self.connection.batch_execute(sql).await
    }

    async fn run(&mut self, sql: &str, params: Params<'_>) -> Result<Reply, DbError> {
        let connection = self.connection.connection();
        connection.run(&self.role, sql, params).await
    }

    /// Commits; deferred constraints may still fail here.
    pub async fn commit(mut self) -> Result<(), DbError> {
        self.connection.batch_execute("commit").await
    }

    /// Rolls back.
    pub async fn rollback(mut self) -> Result<(), DbError> {
        self.connection.batch_execute("rollback").await
    }
}

/// Response to a statement whose values are read as texts.
#[derive(Debug)]
pub struct TextReply {
    /// Its rows, to be read with [`Row::raw`].
    pub rows: Vec<Row>,
    /// How many rows it changed or returned.
    pub affected: u64,
}

/// A transaction with its statements. `end` is `None` if it stays open.
struct TransactionPlan<'a> {
    begin: Begin,
    settings: &'a LocalSettings<'a>,
    steps: &'a [Step<'a>],
    end: Option<End>,
}

impl TransactionPlan<'_> {
    /// Retries once if the server rejected a prepared statement because the schema has changed. Errors
    /// of statements that ran are final: they may have effects that a rollback does not undo.
    async fn run(&self, connection: &mut Connection) -> Result<Vec<Vec<Row>>, DbError> {
        match self.run_or_roll_back(connection).await {
            Err(DbError::Postgres(error))
                if connection.prepared_was_rejected() && is_stale(&error) =>
            {
                connection.discard_statements();
                self.run_or_roll_back(connection).await
            }
            outcome => outcome,
        }
    }

    async fn run_or_roll_back(
        &self,
        connection: &mut Connection,
    ) -> Result<Vec<Vec<Row>>, DbError> {
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
        if self.steps.iter().all(Step::may_prepare) {
            connection.pipeline()
        } else {
            connection.pipeline().without_names()
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

    /// Whether the parameter types must be fetched before values can be sent.
    fn needs_types(&self, pipeline: &mut Pipeline<'_>, role: &str) -> bool {
        let is_typed = matches!(self.params, StepParams::Typed(_));
        is_typed && !matches!(pipeline.lookup(role, self.sql), CacheLookup::Prepared(_))
    }

    fn queue(&self, pipeline: &mut Pipeline<'_>, role: &str) -> Result<(), DbError> {
        let sql = self.sql;
        let (values, may_prepare) = match self.params {
            StepParams::Typed(params) => {
                return match pipeline.lookup(role, sql) {
                    CacheLookup::Prepared(prepared) => pipeline.typed(&prepared, params),
                    CacheLookup::New | CacheLookup::SeenOnce => Err(DbError::Misuse(
                        "the prepared statement was evicted before its use".to_owned(),
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
        match pipeline.lookup(role, sql) {
            CacheLookup::Prepared(prepared) => pipeline.literals(&prepared, values),
            CacheLookup::SeenOnce => pipeline.prepared_literals(role, sql, values),
            CacheLookup::New => {
                pipeline.mark_seen(role, sql);
                pipeline.one_shot(sql, values)
            }
        }
    }
}

/// Whether a prepared statement is outdated: discarded by the session, its result type has changed,
/// or an operator no longer accepts a column's new type.
fn is_stale(error: &PgError) -> bool {
    let is_changed = error.code == SqlState::FEATURE_NOT_SUPPORTED
        && error.routine.as_deref() == Some("RevalidateCachedQuery");
    is_changed
        || error.code == SqlState::INVALID_SQL_STATEMENT_NAME
        || error.code == SqlState::UNDEFINED_FUNCTION
        || error.code == SqlState::DATATYPE_MISMATCH
}
