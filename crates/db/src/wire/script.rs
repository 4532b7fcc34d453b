//! A session for SQL that a person wrote: one statement at a time, values as texts, sent on while they
//! arrive.
//!
//! Memory stays bounded whatever the statements return: cells are cut while they are received, and
//! nothing is read ahead of whoever asks for the next event.

use std::{io, sync::Arc};

use postgres_protocol::message::{
    backend::{
        COMMAND_COMPLETE_TAG, COPY_DATA_TAG, COPY_IN_RESPONSE_TAG, COPY_OUT_RESPONSE_TAG,
        DATA_ROW_TAG, EMPTY_QUERY_RESPONSE_TAG, ERROR_RESPONSE_TAG, NOTICE_RESPONSE_TAG,
        PORTAL_SUSPENDED_TAG, READY_FOR_QUERY_TAG, ROW_DESCRIPTION_TAG,
    },
    frontend,
};

use super::{
    channel::Channel,
    connection::{Connection, Status},
    copy_both::lost_connection,
    decode,
    handshake::{CancelHandle, Purpose, open_session},
};
use crate::{DbError, Params, PgError, Row, Target};

const PORTAL: u8 = b'P';
const TEXT: i16 = 0;
/// Beyond this, an error, a notice or a description of columns is cut.
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// One session. Dropping it closes it, which rolls back.
pub struct ScriptSession {
    connection: Connection,
    pid: i32,
}

/// Cancels what a [`ScriptSession`] is doing; from anywhere.
#[derive(Clone)]
pub struct ScriptCanceller(Arc<CancelHandle>);

/// What the server said.
#[derive(Debug)]
pub enum ScriptEvent {
    /// The columns of the rows that follow.
    Columns(Vec<ScriptColumn>),
    /// A row, or a piece of what `COPY … TO STDOUT` sent.
    Row(ScriptRow),
    /// NOTICE, WARNING, INFO and the like.
    Notice(Notice),
    /// The statement is done; the tag is one such as `INSERT 0 3`.
    Complete(String),
    /// As many rows as were asked for have been sent, and there may be more.
    Suspended,
    /// The statement was empty.
    Empty,
    /// The statement failed.
    Failed(Box<PgError>),
    /// Answer to [`ScriptSession::sync`].
    Ready(SessionState),
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptColumn {
    /// Its name, which others may have too.
    pub name: String,
    /// The OID of its type.
    pub type_oid: u32,
    /// Such as a length; -1 for none.
    pub type_modifier: i32,
    /// The OID of the table it comes from, if it is a column of one.
    pub table: Option<u32>,
    /// Its number there.
    pub table_column: Option<i16>,
}

/// A row of texts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ScriptRow {
    /// The values; `None` for NULL.
    pub cells: Vec<Option<String>>,
    /// Cells that were cut: index and length in bytes.
    pub cut: Vec<(usize, usize)>,
}

/// A message that is no error.
#[derive(Debug, Clone)]
pub struct Notice {
    /// Such as `WARNING`.
    pub severity: String,
    /// What it says.
    pub report: Box<PgError>,
}

/// Whether a transaction is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// None is.
    Idle,
    /// One is.
    InTransaction,
    /// One is, and has failed.
    InFailedTransaction,
}

/// What is kept of a row.
#[derive(Debug, Clone, Copy)]
pub struct CellLimits {
    /// Of a cell.
    pub cell_bytes: usize,
    /// Of a row; beyond it, a cell keeps [`CellLimits::REST_BYTES`].
    pub row_bytes: usize,
}

impl CellLimits {
    /// Of each cell after a row has exceeded its limit.
    pub const REST_BYTES: usize = 128;
}

impl ScriptSession {
    /// Opens a session.
    pub async fn open(target: &Target) -> Result<Self, DbError> {
        let mut connection = open_session(target, Purpose::Statements).await?;
        let rows = connection
            .query("select pg_catalog.pg_backend_pid()", &[])
            .await?;
        let pid = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        Ok(Self { connection, pid })
    }

    /// The id of its process on the server.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Cancels what this session does.
    pub fn canceller(&self) -> ScriptCanceller {
        ScriptCanceller(self.connection.cancel_handle())
    }

    /// Runs statements of our own, discarding their rows.
    pub async fn batch_execute(&mut self, sql: &str) -> Result<(), DbError> {
        self.connection.batch_execute(sql).await
    }

    /// Runs a statement of our own.
    pub async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        self.connection.query(sql, params).await
    }

    /// Sends one statement, which begins a transaction if there is none: the next [`Self::sync`] ends
    /// it. Of more than `max_rows` rows (0: no limit) the others are not computed.
    pub fn start(&mut self, sql: &str, max_rows: u32) -> Result<(), DbError> {
        let out = &mut self.connection.channel.outgoing;
        let start = out.len();
        let value = |(): (), _: &mut bytes::BytesMut| Ok(postgres_protocol::IsNull::Yes);
        let queued = frontend::parse("", sql, [], out).and_then(|()| {
            let bound = frontend::bind("", "", [TEXT], [], value, [TEXT], out);
            bound.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
            frontend::describe(PORTAL, "", out)?;
            frontend::execute("", i32::try_from(max_rows).unwrap_or(i32::MAX), out)
        });
        if let Err(error) = queued {
            out.truncate(start);
            return Err(DbError::Misuse(error.to_string()));
        }
        frontend::flush(out);
        self.connection.status = Status::Working;
        Ok(())
    }

    /// Ends a transaction that [`Self::start`] began, and has the server listen again after an error.
    /// What follows is to be read up to [`ScriptEvent::Ready`].
    pub fn sync(&mut self) {
        frontend::sync(&mut self.connection.channel.outgoing);
        self.connection.status = Status::Working;
    }

    /// The next event.
    pub async fn next(&mut self, limits: CellLimits) -> Result<ScriptEvent, DbError> {
        let next = self.receive(limits).await;
        if next.is_err() {
            self.connection.status = Status::Broken;
        }
        next.map_err(lost_connection)
    }

    async fn receive(&mut self, limits: CellLimits) -> io::Result<ScriptEvent> {
        loop {
            let channel = &mut self.connection.channel;
            let (kind, length) = channel.header().await?;
            match kind {
                DATA_ROW_TAG => {
                    return Ok(ScriptEvent::Row(read_row(channel, length, limits).await?));
                }
                COPY_DATA_TAG => {
                    let mut row = ScriptRow::default();
                    let cell = read_cell(channel, length, limits.cell_bytes).await?;
                    row.push(cell, length);
                    return Ok(ScriptEvent::Row(row));
                }
                _ => {}
            }
            let body = read_body(channel, length).await?;
            if let Some(event) = self.event(kind, &body)? {
                return Ok(event);
            }
        }
    }

    fn event(&mut self, kind: u8, body: &[u8]) -> io::Result<Option<ScriptEvent>> {
        Ok(Some(match kind {
            ROW_DESCRIPTION_TAG => {
                let columns = decode::script_columns(body).ok_or(io::ErrorKind::InvalidData)?;
                ScriptEvent::Columns(columns)
            }
            COMMAND_COMPLETE_TAG => ScriptEvent::Complete(decode::tag(body)),
            PORTAL_SUSPENDED_TAG => ScriptEvent::Suspended,
            EMPTY_QUERY_RESPONSE_TAG => ScriptEvent::Empty,
            ERROR_RESPONSE_TAG => ScriptEvent::Failed(Box::new(decode::error(body))),
            NOTICE_RESPONSE_TAG => ScriptEvent::Notice(Notice {
                severity: decode::severity_name(body).unwrap_or_else(|| "NOTICE".to_owned()),
                report: Box::new(decode::error(body)),
            }),
            READY_FOR_QUERY_TAG => {
                let (state, status) = match body {
                    b"T" => (SessionState::InTransaction, Status::InTransaction),
                    b"E" => (SessionState::InFailedTransaction, Status::InTransaction),
                    _ => (SessionState::Idle, Status::Idle),
                };
                self.connection.status = status;
                ScriptEvent::Ready(state)
            }
            COPY_OUT_RESPONSE_TAG => ScriptEvent::Columns(vec![ScriptColumn {
                name: "copy".to_owned(),
                type_oid: postgres_types::Type::TEXT.oid(),
                type_modifier: -1,
                table: None,
                table_column: None,
            }]),
            COPY_IN_RESPONSE_TAG => {
                // The server answers with an error.
                let out = &mut self.connection.channel.outgoing;
                frontend::copy_fail("there is no data to copy", out)?;
                return Ok(None);
            }
            _ => return Ok(None),
        }))
    }
}

impl ScriptCanceller {
    /// Asks the server to cancel the present statement.
    pub async fn cancel(&self) -> Result<(), DbError> {
        self.0.send().await
    }
}

impl ScriptRow {
    fn push(&mut self, kept: Vec<u8>, length: usize) {
        if kept.len() < length {
            self.cut.push((self.cells.len(), length));
        }
        self.cells.push(Some(into_text(kept, length)));
    }
}

/// What was cut in the middle of a character loses the rest of it.
fn into_text(mut bytes: Vec<u8>, length: usize) -> String {
    if bytes.len() < length
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

async fn read_row(
    channel: &mut Channel,
    length: usize,
    limits: CellLimits,
) -> io::Result<ScriptRow> {
    let mut left = length;
    let count = usize::from(u16::from_be_bytes(read_array(channel, &mut left).await?));
    let mut row = ScriptRow {
        cells: Vec::with_capacity(count),
        cut: Vec::new(),
    };
    let mut kept = 0;
    for _ in 0..count {
        let size = i32::from_be_bytes(read_array(channel, &mut left).await?);
        let Ok(size) = usize::try_from(size) else {
            row.cells.push(None);
            continue;
        };
        left = left.checked_sub(size).ok_or(io::ErrorKind::InvalidData)?;
        let limit = if kept >= limits.row_bytes {
            limits.cell_bytes.min(CellLimits::REST_BYTES)
        } else {
            limits.cell_bytes
        };
        let cell = read_cell(channel, size, limit).await?;
        kept += cell.len();
        row.push(cell, size);
    }
    skip(channel, left).await?;
    Ok(row)
}

async fn read_array<const N: usize>(
    channel: &mut Channel,
    left: &mut usize,
) -> io::Result<[u8; N]> {
    *left = left.checked_sub(N).ok_or(io::ErrorKind::InvalidData)?;
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        let part = channel.part(N - filled).await?;
        bytes[filled..filled + part.len()].copy_from_slice(part);
        filled += part.len();
    }
    Ok(bytes)
}

/// Reads all of it and keeps its beginning.
async fn read_cell(channel: &mut Channel, length: usize, limit: usize) -> io::Result<Vec<u8>> {
    let kept = length.min(limit);
    let mut cell = Vec::with_capacity(kept);
    while cell.len() < kept {
        cell.extend_from_slice(channel.part(kept - cell.len()).await?);
    }
    skip(channel, length - kept).await?;
    Ok(cell)
}

async fn read_body(channel: &mut Channel, length: usize) -> io::Result<Vec<u8>> {
    read_cell(channel, length, MAX_BODY_BYTES).await
}

async fn skip(channel: &mut Channel, mut length: usize) -> io::Result<()> {
    while length > 0 {
        length -= channel.part(length).await?.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_character_is_left_out() {
        assert_eq!(into_text("aé".as_bytes()[..2].to_vec(), 3), "a");
        assert_eq!(into_text("aé".as_bytes().to_vec(), 3), "aé");
        assert_eq!(into_text(vec![b'a', 0xff], 2), "a\u{fffd}");
    }
}
