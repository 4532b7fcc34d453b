//! A session that belongs to whoever holds it.

use std::sync::Arc;

use postgres_protocol::message::frontend;

use super::{
    channel::{Channel, Stream},
    common::Known,
    exchange::{Asks, Part},
    handshake::CancelHandle,
    pipeline::{Pipeline, Reply},
    statements::{Familiarity, Prepared, Statements},
};
use crate::{DbError, Params, Row};

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nothing: anybody may have it.
    Idle,
    /// It waits for the next statement of its transaction.
    InTransaction,
    /// An answer is under way, or nobody has read it.
    Working,
    /// It can be used no more.
    Broken,
}

/// One session with the server.
pub(crate) struct Connection {
    pub(super) channel: Channel,
    pub(super) statements: Statements,
    pub(super) known: Known,
    pub(super) status: Status,
    pub(super) refused_prepared: bool,
    cancel: CancelHandle,
    epoch: u64,
}

impl Connection {
    pub(super) fn new(stream: Stream, cancel: CancelHandle) -> Self {
        Self {
            channel: Channel::new(stream),
            statements: Statements::new(),
            known: Known::default(),
            status: Status::Idle,
            refused_prepared: false,
            cancel,
            epoch: 0,
        }
    }

    pub(super) fn into_parts(self) -> (Channel, CancelHandle) {
        (self.channel, self.cancel)
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Whether the last error came before a statement ran that had been prepared earlier.
    pub(crate) fn refused_prepared(&self) -> bool {
        self.refused_prepared
    }

    /// Asks the server to stop what the session is doing.
    pub(crate) async fn cancel(&self) -> Result<(), DbError> {
        self.cancel.send().await
    }

    /// Whether it can still be used; asked while it is at rest.
    pub(crate) fn is_sound(&mut self) -> bool {
        self.status == Status::Idle && !self.channel.is_disturbed()
    }

    /// Statements that leave together.
    pub(crate) fn pipeline(&mut self) -> Pipeline<'_> {
        Pipeline::new(self)
    }

    /// Runs statements of ours that have neither parameters nor rows worth reading.
    pub(crate) async fn batch_execute(&mut self, sql: &str) -> Result<(), DbError> {
        self.queue(sql)?;
        self.exchange(Vec::new()).await.map(drop)
    }

    /// Runs one statement or command that has no parameters. All values are texts, whatever the
    /// columns' types.
    pub(crate) async fn simple_query(&mut self, sql: &str) -> Result<Vec<Row>, DbError> {
        self.queue(sql)?;
        let replies = self.exchange(vec![Part::new(Asks::Rows)]).await?;
        Ok(replies.into_iter().flat_map(|reply| reply.rows).collect())
    }

    pub(super) fn queue(&mut self, sql: &str) -> Result<(), DbError> {
        let out = &mut self.channel.outgoing;
        let start = out.len();
        frontend::query(sql, out).map_err(|error| {
            out.truncate(start);
            DbError::Misuse(error.to_string())
        })
    }

    /// Runs one statement as the login role.
    pub(crate) async fn query(
        &mut self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, DbError> {
        Ok(self.run("", sql, params).await?.rows)
    }

    /// Runs one statement; it is prepared, for the role that the session has assumed.
    pub(crate) async fn run(
        &mut self,
        role: &str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Reply, DbError> {
        let prepared = self.prepared(role, sql).await?;
        let mut pipeline = self.pipeline();
        pipeline.typed(&prepared, params)?;
        Ok(pipeline.run().await?.pop().unwrap_or_default())
    }

    async fn prepared(&mut self, role: &str, sql: &str) -> Result<Arc<Prepared>, DbError> {
        if let Familiarity::Prepared(prepared) = self.statements.recall(role, sql) {
            return Ok(prepared);
        }
        let mut pipeline = self.pipeline();
        pipeline.prepare(role, sql)?;
        pipeline.run().await?;
        match self.statements.recall(role, sql) {
            Familiarity::Prepared(prepared) => Ok(prepared),
            Familiarity::New | Familiarity::SeenOnce => Err(DbError::Lost(
                "the server described no statement".to_owned(),
            )),
        }
    }

    /// Forgets all prepared statements, as after a schema change.
    pub(crate) fn forget_statements(&mut self) {
        self.statements.forget_all();
        // Closing what the session has discarded itself is no error.
        let names = self.known.drain().map(Box::from);
        self.statements.dropped.extend(names);
    }

    /// Forgets what it prepared in an earlier epoch.
    pub(crate) fn enter_epoch(&mut self, epoch: u64) {
        if std::mem::replace(&mut self.epoch, epoch) != epoch {
            self.forget_statements();
        }
    }
}
