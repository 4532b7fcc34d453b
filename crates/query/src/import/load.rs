//! From the bytes of a file to rows of a table.

use std::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt as _, Stream, StreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_postgres::{Client, CopyInSink};
use tokio_util::sync::CancellationToken;

use crate::{QueryError, Relation};

use super::{
    detect::detect,
    feed::Feeder,
    keep_good::{self, STAGING},
    options::{ImportMode, ImportRequest},
    plan::Plan,
    preview::{SAMPLE_BYTES, Sample},
    rejects::Rejects,
};

/// Rows are sent to PostgreSQL in pieces of about this size.
pub(super) const CHUNK_BYTES: usize = 128 * 1024;
/// How long a client may send nothing: the transaction holds locks.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportProgress {
    /// What it does.
    pub phase: ImportPhase,
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Records that were read.
    pub rows: u64,
    /// Records that were left out.
    pub rejected: u64,
}

/// What an import does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportPhase {
    /// Reads the file.
    #[default]
    Reading,
    /// Looks for values that their columns do not take.
    Checking,
    /// Writes rows that were read.
    Writing,
    /// Makes sure that all are there, and commits.
    Committing,
}

/// What an import has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportReport {
    /// Records of the file.
    pub rows_read: u64,
    /// Rows that were inserted or updated.
    pub rows_written: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Records that were left out.
    pub rejects: Rejects,
}

/// Imports a file in one transaction of `client`, which is to be dropped afterwards: whatever has not
/// been committed then is rolled back. `relation` is the table, unless it is created.
pub async fn import<S, E>(
    client: &Client,
    relation: Option<&Relation>,
    request: &ImportRequest,
    file: S,
    progress: &watch::Sender<ImportProgress>,
    cancel: &CancellationToken,
) -> Result<ImportReport, QueryError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: fmt::Display,
{
    let work = import_uncancelled(client, relation, request, file, progress);
    tokio::select! {
        done = work => done,
        () = cancel.cancelled() => Err(QueryError::Cancelled),
    }
}

async fn import_uncancelled<S, E>(
    client: &Client,
    relation: Option<&Relation>,
    request: &ImportRequest,
    file: S,
    progress: &watch::Sender<ImportProgress>,
) -> Result<ImportReport, QueryError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: fmt::Display,
{
    let mut file = FileStream { file, bytes: 0 };
    let sample = file.sample().await?;
    let known = detect(&sample, &request.file)?;
    let names = Sample::read(&sample[..sample.len().min(SAMPLE_BYTES)], &known)?;
    let plan = Plan::new(request, &known, &names, relation)?;
    prepare(client, request, relation, &plan).await?;

    let mut feeder = Feeder::new(&plan, &known, request);
    let copied = copy(client, &mut file, sample, &mut feeder, progress).await;
    let copied = copied.map_err(|error| feeder.with_line(error))?;
    let Feeder {
        mut rejects, sent, ..
    } = feeder;
    if copied != sent {
        return Err(QueryError::Invalid(format!(
            "Nothing was imported: the table took {copied} of {sent} rows, a trigger may have \
             refused the others"
        )));
    }
    let rows_read = sent + rejects.count();
    let mut rows_written = copied;
    if plan.is_staged {
        rows_written = keep_good::write(client, request, &plan, &mut rejects, progress).await?;
    }
    progress.send_modify(|now| now.phase = ImportPhase::Committing);
    if request.create || request.mode == ImportMode::Replace {
        verify_count(client, &plan, rows_written).await?;
    }
    client.batch_execute("commit").await?;
    Ok(ImportReport {
        rows_read,
        rows_written,
        bytes: file.bytes,
        rejects,
    })
}

/// Begins the transaction and makes room for the rows.
async fn prepare(
    client: &Client,
    request: &ImportRequest,
    relation: Option<&Relation>,
    plan: &Plan,
) -> Result<(), QueryError> {
    client.batch_execute(crate::WATCH_CLIENT).await?;
    let settings = format!(
        "begin;
         set local statement_timeout = 0;
         set local datestyle = '{}';
         set local intervalstyle = postgres",
        request.date_order.datestyle()
    );
    client.batch_execute(&settings).await?;
    if request.create {
        for column in &plan.columns {
            require_type(client, &column.type_text).await?;
        }
        let sql = plan.create_sql(&request.primary_key);
        client.batch_execute(&sql).await?;
    } else if request.mode == ImportMode::Replace {
        clear(client, relation, plan).await?;
    }
    if plan.is_staged {
        client.batch_execute(&keep_good::staging_sql(plan)).await?;
    }
    Ok(())
}

/// The text of a type is written into a statement, so it has to be one.
async fn require_type(client: &Client, text: &str) -> Result<(), QueryError> {
    let invalid = || QueryError::Invalid(format!("There is no type {}", text.escape_debug()));
    if text.contains('\0') {
        return Err(invalid());
    }
    let sql = "select pg_catalog.to_regtype($1) is not null";
    let row = client.query_one(sql, &[&text]).await?;
    if row.get(0) { Ok(()) } else { Err(invalid()) }
}

/// Removes all rows: at once where nothing else has to happen.
async fn clear(
    client: &Client,
    relation: Option<&Relation>,
    plan: &Plan,
) -> Result<(), QueryError> {
    let Some(relation) = relation else {
        return Ok(());
    };
    let sql = "
        select c.relkind in ('r', 'p')
           and pg_catalog.has_table_privilege(c.oid, 'truncate')
           and not pg_catalog.row_security_active(c.oid)
           and not exists (select from pg_catalog.pg_constraint f
                           where f.confrelid = c.oid and f.contype = 'f')
           and not exists (select from pg_catalog.pg_trigger t
                           where t.tgrelid = c.oid and not t.tgisinternal
                             and t.tgtype & 8 <> 0)
        from pg_catalog.pg_class c
        where c.oid = $1";
    let row = client.query_opt(sql, &[&relation.oid]).await?;
    let may_truncate = row.is_some_and(|row| row.get(0));
    let verb = if may_truncate {
        "truncate table"
    } else {
        "delete from"
    };
    let sql = format!("{verb} {}", plan.table);
    Ok(client.batch_execute(&sql).await?)
}

async fn verify_count(client: &Client, plan: &Plan, expected: u64) -> Result<(), QueryError> {
    let sql = format!("select pg_catalog.count(*) from {}", plan.table);
    let found: i64 = client.query_one(&sql, &[]).await?.get(0);
    if u64::try_from(found) == Ok(expected) {
        return Ok(());
    }
    Err(QueryError::Invalid(format!(
        "Nothing was imported: the table would have {found} rows, although {expected} were written"
    )))
}

/// The file as it arrives.
struct FileStream<S> {
    file: S,
    bytes: u64,
}

impl<S, E> FileStream<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: fmt::Display,
{
    async fn next(&mut self) -> Result<Option<Bytes>, QueryError> {
        let next = tokio::time::timeout(IDLE_TIMEOUT, self.file.next()).await;
        let next = next.map_err(|_| {
            QueryError::Invalid("Nothing was imported: no data came for a minute".to_owned())
        })?;
        match next.transpose() {
            Ok(piece) => {
                self.bytes += piece.as_ref().map_or(0, |piece| piece.len() as u64);
                Ok(piece)
            }
            // The client is gone, or its body was too long.
            Err(error) => Err(QueryError::Invalid(format!(
                "Nothing was imported: reading the file failed: {error}"
            ))),
        }
    }

    /// The beginning of the file.
    async fn sample(&mut self) -> Result<BytesMut, QueryError> {
        let mut sample = BytesMut::new();
        while sample.len() < SAMPLE_BYTES {
            let Some(piece) = self.next().await? else {
                break;
            };
            sample.extend_from_slice(&piece);
        }
        Ok(sample)
    }
}

async fn copy<S, E>(
    client: &Client,
    file: &mut FileStream<S>,
    sample: BytesMut,
    feeder: &mut Feeder<'_>,
    progress: &watch::Sender<ImportProgress>,
) -> Result<u64, QueryError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: fmt::Display,
{
    let plan = feeder.plan;
    let sql = if plan.is_staged {
        format!("copy {STAGING} from stdin (format text, encoding 'UTF8')")
    } else {
        let columns = plan.column_list();
        let table = &plan.table;
        format!("copy {table} ({columns}) from stdin (format text, encoding 'UTF8')")
    };
    let sink: CopyInSink<Bytes> = client.copy_in(&sql).await?;
    let mut sink = std::pin::pin!(sink);
    let mut next = Some(sample.freeze());
    while let Some(piece) = next {
        // A piece may be the whole file, from a client in the same process.
        for part in piece.chunks(CHUNK_BYTES) {
            feeder.push(part, false)?;
            if feeder.out.len() >= CHUNK_BYTES {
                sink.send(feeder.out.split().freeze()).await?;
            }
        }
        feeder.report(file.bytes, progress);
        next = file.next().await?;
    }
    feeder.finish()?;
    feeder.report(file.bytes, progress);
    if !feeder.out.is_empty() {
        sink.send(feeder.out.split().freeze()).await?;
    }
    Ok(sink.finish().await?)
}
