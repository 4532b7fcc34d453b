//! One session, owned exclusively by its user.

use std::sync::Arc;

use postgres_protocol::message::frontend;

use super::{
    channel::{Channel, Stream},
    common::PreparedSet,
    exchange::{Expect, Part},
    handshake::CancelHandle,
    pipeline::{Pipeline, Reply},
    statements::{CacheLookup, Prepared, Statements},
};
use crate::{DbError, Params, Row};

/// State of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Idle and outside of a transaction.
    Idle,
    /// Idle in a transaction.
    InTransaction,
    /// A response is in flight or unread.
    Working,
    /// Unusable.
    Broken,
}

/// One session with the server.
pub(crate) struct Connection {
    pub(super) channel: Channel,
    pub(super) statements: Statements,
    pub(super) common: PreparedSet,
    pub(super) status: Status,
    pub(super) prepared_was_rejected: bool,
    cancel: Arc<CancelHandle>,
    epoch: u64,
}

impl Connection {
    pub(super) fn new(stream: Stream, cancel: impl Into<Arc<CancelHandle>>) -> Self {
        Self {
            channel: Channel::new(stream),
            statements: Statements::new(),
            common: PreparedSet::default(),
            status: Status::Idle,
            prepared_was_rejected: false,
            cancel: cancel.into(),
            epoch: 0,
        }
    }

    pub(super) fn into_parts(self) -> (Channel, Arc<CancelHandle>) {
        (self.channel, self.cancel)
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Whether the last error came before a previously prepared statement ran.
    pub(crate) fn prepared_was_rejected(&self) -> bool {
        self.prepared_was_rejected
    }

    /// Sends a cancel request.
    pub(crate) async fn cancel(&self) -> Result<(), DbError> {
        self.cancel.send().await
    }

    /// To cancel from elsewhere.
    pub(super) fn cancel_handle(&self) -> Arc<CancelHandle> {
        Arc::clone(&self.cancel)
    }

    /// Whether an idle session is still usable.
    pub(crate) fn is_usable(&mut self) -> bool {
        self.status == Status::Idle && !self.channel.has_unexpected_input()
    }

    /// Starts a pipeline of statements.
    pub(crate) fn pipeline(&mut self) -> Pipeline<'_> {
        Pipeline::new(self)
    }

    /// Runs statements without parameters, discarding their rows.
    pub(crate) async fn batch_execute(&mut self, sql: &str) -> Result<(), DbError> {
        self.queue(sql)?;
        self.exchange(Vec::new()).await.map(drop)
    }

    /// Runs one statement or command without parameters in the simple protocol. All values are texts,
    /// whatever the columns' types.
    pub(crate) async fn simple_query(&mut self, sql: &str) -> Result<Vec<Row>, DbError> {
        self.queue(sql)?;
        let replies = self.exchange(vec![Part::new(Expect::Rows)]).await?;
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

    /// Prepares (or reuses) and runs one statement for the session's current role.
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
        if let CacheLookup::Prepared(prepared) = self.statements.lookup(role, sql) {
            return Ok(prepared);
        }
        let mut pipeline = self.pipeline();
        pipeline.prepare(role, sql)?;
        pipeline.run().await?;
        match self.statements.lookup(role, sql) {
            CacheLookup::Prepared(prepared) => Ok(prepared),
            CacheLookup::New | CacheLookup::SeenOnce => Err(DbError::Lost(
                "the server described no statement".to_owned(),
            )),
        }
    }

    /// Discards all prepared statements, as after a schema change.
    pub(crate) fn discard_statements(&mut self) {
        self.statements.discard_all();
        // Closing an unknown name is no error.
        let names = self.common.drain().map(Box::from);
        self.statements.dropped.extend(names);
    }

    /// Discards statements prepared in an earlier epoch.
    pub(crate) fn enter_epoch(&mut self, epoch: u64) {
        if std::mem::replace(&mut self.epoch, epoch) != epoch {
            self.discard_statements();
        }
    }
}
