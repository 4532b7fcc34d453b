//! Reading the server's response to a pipeline.

use std::{io, sync::Arc};

use postgres_protocol::message::backend::{
    BIND_COMPLETE_TAG, COMMAND_COMPLETE_TAG, COPY_IN_RESPONSE_TAG, COPY_OUT_RESPONSE_TAG,
    DATA_ROW_TAG, EMPTY_QUERY_RESPONSE_TAG, ERROR_RESPONSE_TAG, NO_DATA_TAG,
    PARAMETER_DESCRIPTION_TAG, PARSE_COMPLETE_TAG, PORTAL_SUSPENDED_TAG, READY_FOR_QUERY_TAG,
    ROW_DESCRIPTION_TAG,
};
use postgres_types::Type;

use super::{
    channel::{Body, Message},
    common::Common,
    connection::{Connection, Status},
    decode,
    pipeline::Reply,
    statements::Prepared,
};
use crate::{
    DbError, PgError,
    row::{Column, Row},
};

/// One statement of a pipeline and its response.
pub(super) struct Part {
    expects: Expect,
    /// The key under which it will be cached once parsed.
    pub(super) names: Option<CacheKey>,
    /// Prepared earlier.
    pub(super) is_prepared: bool,
    is_parsed: bool,
    /// BindComplete was received: it runs or has run.
    is_bound: bool,
    parameters: Box<[Type]>,
    columns: Option<Arc<[Column]>>,
    reply: Reply,
}

/// What is expected from a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// It runs; its rows are discarded.
    Nothing,
    /// It runs; its rows are returned.
    Rows,
    /// It is prepared only.
    Description,
}

/// Where a prepared statement is cached.
pub(super) enum CacheKey {
    Common(Common),
    LookedUp {
        role: Box<str>,
        sql: Box<str>,
        name: Box<str>,
    },
}

impl Part {
    pub(super) fn new(expects: Expect) -> Self {
        Self {
            expects,
            names: None,
            is_prepared: false,
            is_parsed: false,
            is_bound: false,
            parameters: Box::default(),
            columns: None,
            reply: Reply::default(),
        }
    }

    /// For a statement prepared earlier.
    pub(super) fn of(expects: Expect, columns: Arc<[Column]>) -> Self {
        Self {
            columns: Some(columns),
            is_prepared: true,
            ..Self::new(expects)
        }
    }

    pub(super) fn name(&self) -> &str {
        match &self.names {
            Some(CacheKey::LookedUp { name, .. }) => name,
            Some(CacheKey::Common(common)) => common.name(),
            None => "",
        }
    }

    fn describes(&mut self, columns: Option<Arc<[Column]>>) -> bool {
        self.columns = columns;
        self.expects == Expect::Description
    }

    /// Handles a message; returns whether it was the last one for this statement.
    fn receive(&mut self, message: Message<'_>) -> io::Result<bool> {
        let Message { kind, body } = message;
        match kind {
            PARSE_COMPLETE_TAG => self.is_parsed = true,
            BIND_COMPLETE_TAG => self.is_bound = true,
            PARAMETER_DESCRIPTION_TAG => {
                let parameters = decode::parameters(body.as_ref());
                self.parameters = parameters.ok_or(io::ErrorKind::InvalidData)?;
            }
            ROW_DESCRIPTION_TAG => {
                let columns = decode::columns(body.as_ref());
                return Ok(self.describes(Some(columns.ok_or(io::ErrorKind::InvalidData)?)));
            }
            NO_DATA_TAG => return Ok(self.describes(Some(Arc::default()))),
            DATA_ROW_TAG => self.row(body),
            COMMAND_COMPLETE_TAG => {
                self.reply.affected = decode::affected(body.as_ref());
                return Ok(true);
            }
            EMPTY_QUERY_RESPONSE_TAG | PORTAL_SUSPENDED_TAG => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    fn row(&mut self, body: Body<'_>) {
        if let (Expect::Rows, Some(columns)) = (self.expects, &self.columns) {
            let row = Row::new(columns.clone(), body.into_bytes());
            self.reply.rows.push(row);
        }
    }
}

impl Connection {
    /// Sends the queue, reads until ReadyForQuery, and caches the prepared statements.
    pub(super) async fn exchange(&mut self, mut parts: Vec<Part>) -> Result<Vec<Reply>, DbError> {
        let read = self.read(&mut parts).await;
        for part in &mut parts {
            self.keep(part);
        }
        read?;
        let asked = parts
            .into_iter()
            .filter(|part| part.expects == Expect::Rows);
        Ok(asked.map(|part| part.reply).collect())
    }

    async fn read(&mut self, parts: &mut [Part]) -> Result<(), DbError> {
        self.status = Status::Working;
        let mut error: Option<PgError> = None;
        let mut current = 0;
        loop {
            let message = match self.channel.next().await {
                Ok(message) => message,
                Err(cause) => return Err(self.broken(error, &cause)),
            };
            match message.kind {
                READY_FOR_QUERY_TAG => {
                    self.status = match message.body.as_ref() {
                        b"I" => Status::Idle,
                        _ => Status::InTransaction,
                    };
                    return error.map_or(Ok(()), |error| Err(error.into()));
                }
                ERROR_RESPONSE_TAG => {
                    // A later error, which ends the session, takes precedence.
                    error = Some(decode::error(message.body.as_ref()));
                    let failed = parts.get(current);
                    self.prepared_was_rejected =
                        failed.is_some_and(|part| part.is_prepared && !part.is_bound);
                }
                COPY_IN_RESPONSE_TAG | COPY_OUT_RESPONSE_TAG => {
                    self.status = Status::Broken;
                    return Err(DbError::Misuse("COPY is not for this driver".to_owned()));
                }
                _ => {
                    let Some(part) = parts.get_mut(current) else {
                        continue;
                    };
                    match part.receive(message) {
                        Ok(is_last) => current += usize::from(is_last),
                        Err(cause) => return Err(self.broken(error, &cause)),
                    }
                }
            }
        }
    }

    /// Prefers the server's last error over the socket's.
    fn broken(&mut self, error: Option<PgError>, cause: &io::Error) -> DbError {
        self.status = Status::Broken;
        error.map_or_else(|| DbError::Lost(cause.to_string()), DbError::from)
    }

    fn keep(&mut self, part: &mut Part) {
        if !part.is_parsed {
            return;
        }
        match part.names.take() {
            None => {}
            Some(CacheKey::Common(common)) => self.common.insert(&common),
            Some(CacheKey::LookedUp { role, sql, name }) => {
                let prepared = Arc::new(Prepared {
                    name,
                    parameters: std::mem::take(&mut part.parameters),
                    columns: part.columns.clone().unwrap_or_default(),
                });
                match part.columns {
                    Some(_) => self.statements.keep(&role, &sql, Some(prepared)),
                    None => self.statements.dropped.push(prepared.name.clone()),
                }
            }
        }
    }
}
