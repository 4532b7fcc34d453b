//! Restores a snapshot into another database; rows are streamed from one to the other.
//!
//! The administrating role creates the objects but never runs a user's function: rows are loaded
//! through an unprivileged login (`loader`), since checks, domains and generated columns call arbitrary
//! functions. PostgreSQL computes indexes and materialized views as their owners, and triggers are
//! created after the rows.

use futures_util::{SinkExt, StreamExt, pin_mut};
use plinth_db::{Target, describe};
use tokio_postgres::Client;

use crate::{Dump, DumpError, Section, SequenceValue, Snapshot, Statement, TableData, session};

/// Target of a restore.
pub struct Restoration<'a> {
    /// A superuser on the new database.
    pub admin: &'a Target,
    /// The login that loads rows on the new database; it may read and write every table and nothing
    /// more (`pg_write_all_data`, `pg_read_all_data`).
    pub loader: &'a Target,
    /// Called with the progress.
    pub progress: &'a (dyn Fn(Progress<'_>) + Send + Sync),
}

/// Progress of a restore, counted in tables.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Tables whose rows are copied.
    pub done: usize,
    /// Tables in all.
    pub total: usize,
    /// The current step.
    pub message: &'a str,
}

/// Runs the dump in a database newly created from `template0`.
pub async fn restore(
    snapshot: &Snapshot,
    dump: &Dump,
    restoration: Restoration<'_>,
) -> Result<(), DumpError> {
    let admin = restoration.admin.connect().await?;
    admin.batch_execute(session::COMMON).await?;
    admin.batch_execute(session::WRITING).await?;
    let total = dump.tables.len();
    let report = |done, message: &str| {
        (restoration.progress)(Progress {
            done,
            total,
            message,
        });
    };

    report(0, "making tables");
    run(&admin, &dump.statements, Section::PreData).await?;
    load(snapshot, dump, &admin, restoration.loader, report).await?;
    report(total, "making indexes and constraints");
    run(&admin, &dump.statements, Section::PostData).await?;
    admin.batch_execute("analyze").await?;
    Ok(())
}

async fn run(admin: &Client, statements: &[Statement], section: Section) -> Result<(), DumpError> {
    for statement in statements.iter().filter(|s| s.section == section) {
        admin
            .batch_execute(&statement.sql)
            .await
            .map_err(|error| DumpError::Statement {
                kind: statement.kind,
                name: statement.name.clone(),
                reason: describe(&error),
            })?;
    }
    Ok(())
}

async fn load(
    snapshot: &Snapshot,
    dump: &Dump,
    admin: &Client,
    loader: &Target,
    report: impl Fn(usize, &str),
) -> Result<(), DumpError> {
    let loader = loader.connect().await?;
    loader.batch_execute(session::COMMON).await?;
    // A check may call a function that relies on the database's search path.
    if let Some(path) = search_path(dump) {
        let sql = "select pg_catalog.set_config('search_path', $1, false)";
        loader.execute(sql, &[&path]).await?;
    }
    loader
        .batch_execute("set synchronous_commit = off; set row_security = on")
        .await?;
    for (done, table) in dump.tables.iter().enumerate() {
        report(done, &table.name);
        let into = if table.is_superusers { admin } else { &loader };
        copy_rows(snapshot, table, into).await?;
    }
    drop(loader);
    for sequences in dump.sequences.chunks(100) {
        let sql: String = sequences.iter().map(SequenceValue::sql).collect();
        admin.batch_execute(&sql).await?;
    }
    copy_large_objects(snapshot, dump, admin).await
}

fn search_path(dump: &Dump) -> Option<&str> {
    let is_path =
        |setting: &&crate::Setting| setting.role.is_none() && setting.name == "search_path";
    let found = dump.settings.iter().find(is_path);
    found.map(|setting| setting.value.as_str())
}

/// Streams rows between the two servers; memory is bounded by a few buffers.
async fn copy_rows(snapshot: &Snapshot, table: &TableData, into: &Client) -> Result<(), DumpError> {
    let failed = |error: tokio_postgres::Error| DumpError::rows(&table.name, &error);
    let rows = snapshot.rows(table).await?;
    let sink = into
        .copy_in::<_, bytes::Bytes>(&table.copy_in(snapshot.encoding()))
        .await
        .map_err(failed)?;
    pin_mut!(rows, sink);
    let mut buffer = bytes::BytesMut::with_capacity(2 * CHUNK_BYTES);
    while let Some(row) = rows.next().await {
        buffer.extend_from_slice(&row.map_err(failed)?);
        if buffer.len() >= CHUNK_BYTES {
            sink.feed(buffer.split().freeze()).await.map_err(failed)?;
        }
    }
    if !buffer.is_empty() {
        sink.feed(buffer.freeze()).await.map_err(failed)?;
    }
    sink.finish().await.map_err(failed)?;
    Ok(())
}

/// Rows arrive one by one and are sent in chunks of this size.
const CHUNK_BYTES: usize = 64 << 10;

async fn copy_large_objects(
    snapshot: &Snapshot,
    dump: &Dump,
    admin: &Client,
) -> Result<(), DumpError> {
    let sql = "select pg_catalog.lo_put($1, $2, $3)";
    for &object in &dump.large_objects {
        let mut offset = 0_i64;
        loop {
            let part = snapshot.part(object, offset).await?;
            if part.is_empty() {
                break;
            }
            admin.execute(sql, &[&object.id, &offset, &part]).await?;
            offset += part.len() as i64;
        }
    }
    Ok(())
}
